// Pictures and affine maps as Keras on TensorFlow has them (tests/data/make_pictures.py).

#include <gtest/gtest.h>

#include "snug/data/image_scaler.h"
#include "snug/kernels/warp.h"
#include "snug/testing/npz.h"

namespace snug::testing {
namespace {

const Npz& keras() {
  static const Npz arrays(std::string(PICTURES_FOLDER) + "/keras.npz");
  return arrays;
}

std::vector<float> scaled(const std::string& name, const ScaledSize& size) {
  const Path path = Path(PICTURES_FOLDER) / name;
  const std::unique_ptr<File> file = real_files().open(path, OpenMode::read);
  const ImageHeader header = read_image_header(*file, name, {});
  const auto rows = decode_image(*file, header, static_cast<int>(size.channels), name);
  std::vector<float> all(static_cast<size_t>(size.height * size.width * size.channels), -1.0f);
  ImageScaler(size).scale(*rows, header, all.data());
  return all;
}

double furthest(const std::vector<float>& got, std::span<const float> wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double most = 0;
  for (size_t i = 0; i < std::min(got.size(), wanted.size()); ++i)
    most = std::max<double>(most, std::abs(got[i] - wanted[i]));
  return most;
}

TEST(Pictures, AreDecodedAndScaledAsInKeras) {
  for (const char* name : {"smooth.jpg", "progressive.jpg", "grey.jpg", "noise.png", "alpha.png",
                           "grey.png", "deep.png"}) {
    for (const bool colours : {true, false}) {
      for (const bool bilinear : {true, false}) {
        for (const bool crop : {true, false}) {
          const std::string key =
              fmt::format("{}_{}_{}_{}", name, colours ? "rgb" : "grey",
                          bilinear ? "bilinear" : "nearest", crop ? "crop" : "whole");
          const std::vector<float> got = scaled(name, {9, 12, colours ? 3 : 1, bilinear, crop});
          EXPECT_LE(furthest(got, keras()[key].as<float>()), 1e-4) << key;
        }
      }
    }
  }
}

TEST(Pictures, AffineMapsAreTensorFlows) {
  const std::span<const float> x = keras()["warp_x"].as<float>();
  for (int i = 0; i < 4; ++i) {
    kernels::Affine map{};
    std::ranges::copy(keras()[fmt::format("warp_map_{}", i)].as<float>(), map.begin());
    const std::vector<std::string> fills = {"reflect", "wrap", "constant", "nearest"};
    for (size_t fill = 0; fill < fills.size(); ++fill) {
      for (const bool bilinear : {true, false}) {
        const kernels::Warp warp{6,    7,       2, 6, 7, static_cast<kernels::WarpFill>(fill),
                                 0.5f, bilinear};
        std::vector<float> y(84);
        kernels::warp_image(warp, map, x.data(), y.data());
        const std::string key =
            fmt::format("warp_{}_{}_{}", i, fills[fill], bilinear ? "bilinear" : "nearest");
        EXPECT_LE(furthest(y, keras()[key].as<float>()), 1e-5) << key;
      }
    }
  }
}

}  // namespace
}  // namespace snug::testing
