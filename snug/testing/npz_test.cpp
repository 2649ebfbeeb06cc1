#include "snug/testing/npz.h"

#include <gtest/gtest.h>

namespace snug::testing {
namespace {

std::string npy(const std::string& dictionary, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size());
  file += '\0';
  return file + dictionary + data;
}

std::string failure(const std::string& bytes) {
  try {
    parse_npy(bytes, "here");
  } catch (const CorruptFile& error) {
    return error.what();
  }
  return "no error";
}

TEST(Npz, ReadsTheGoldenValues) {
  const Npz file(golden_path("optimizers/input.npz"));
  EXPECT_EQ(file["w0"].type, (Type{DType::float32, {5, 4}}));
  EXPECT_EQ(file["g1"].type, (Type{DType::float32, {20, 7}}));
  EXPECT_EQ(file["g1"].as<float>().size(), 140u);
  const Npz state(golden_path("optimizers/sgd.npz"));
  EXPECT_EQ(state["var0"].type, (Type{DType::int64, {}}));
  EXPECT_EQ(state["var0"].doubles(), std::vector<double>{20});
  EXPECT_FALSE(state.contains("var9"));
  EXPECT_THROW(state["var9"], Error);
}

TEST(Npz, ReadsTypesAndShapes) {
  const Array bytes =
      parse_npy(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", "abcdef"), "x");
  EXPECT_EQ(bytes.type, (Type{DType::uint8, {2, 3}}));
  EXPECT_EQ(bytes.doubles()[5], 'f');
  const Array scalar =
      parse_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\x01"), "x");
  EXPECT_EQ(scalar.type, (Type{DType::boolean, {}}));
  EXPECT_EQ(scalar.doubles(), std::vector<double>{1});
}

TEST(Npz, NamesWhatIsWrong) {
  EXPECT_EQ(failure("text"), "here: it is no .npy array");
  EXPECT_EQ(failure(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", "abc")),
            "here: 3 bytes for uint8[4]");
  EXPECT_EQ(failure(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (4,), }", "abc")),
            "here: an element type '<c8', ' that is not known");
  EXPECT_EQ(failure(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (3,), }", "abc")),
            "here: its order is column-major; save it with order='C'");
  EXPECT_EQ(failure(npy("{'descr': '|u1'}", "")), "here: its header has no shape");
  EXPECT_THROW(Npz(golden_path("schedules.json")), CorruptFile);
  EXPECT_THROW(Npz(golden_path("no such file")), FileError);
}

}  // namespace
}  // namespace snug::testing
