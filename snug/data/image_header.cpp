#include "snug/data/image_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "snug/base/bytes.h"
#include "snug/base/error.h"

namespace snug {
namespace {

constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";

// Reads ahead a little, so that neighbouring markers cost one call.
class HeaderBytes {
 public:
  HeaderBytes(File& file, const std::string& where) : file_(file), where_(where) {}

  // Bytes [at, at + count), which stand until the next call; throws where the file ends before.
  const uint8_t* at(int64_t offset, size_t count) {
    if (offset < first_ || offset + static_cast<int64_t>(count) > first_ + had_) {
      had_ = static_cast<int64_t>(file_.read_at(std::as_writable_bytes(std::span(bytes_)), offset));
      first_ = offset;
    }
    if (static_cast<int64_t>(count) > had_) {
      throw DataError("{}: it is cut off in its header, after {} bytes; copy or save it again",
                      where_, file_.size());
    }
    return bytes_.data() + (offset - first_);
  }
  uint32_t big16(int64_t offset) {
    const uint8_t* b = at(offset, 2);
    return static_cast<uint32_t>(b[0]) << 8 | b[1];
  }
  uint32_t big32(int64_t offset) { return big16(offset) << 16 | big16(offset + 2); }

 private:
  File& file_;
  const std::string& where_;
  std::array<uint8_t, 512> bytes_{};
  int64_t first_ = 0, had_ = 0;
};

[[noreturn]] void refuse(const std::string& where, std::string_view what) {
  throw DataError("{}: {}; copy or save it again", where, what);
}

// A frame header: its size, and the samples of all components in whole blocks.
struct Frame {
  int64_t height = 0, width = 0, components = 0, samples = 0;
  bool progressive = false;
};

Frame read_frame(HeaderBytes& bytes, int64_t offset, uint8_t marker, const std::string& where) {
  const uint8_t precision = *bytes.at(offset + 2, 1);
  if (precision != 8) {
    throw DataError("{}: it has {} bits a sample, but JPEG files of 8 are read; save it again",
                    where, precision);
  }
  Frame frame{.height = bytes.big16(offset + 3),
              .width = bytes.big16(offset + 5),
              .components = *bytes.at(offset + 7, 1),
              .progressive = marker == 0xc2};
  if (frame.components < 1 || frame.components > 4) refuse(where, "it is damaged: its components");
  int64_t most_across = 1, most_down = 1;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < frame.components; ++i) {
      const uint8_t factors = *bytes.at(offset + 8 + 3 * i + 1, 1);
      const int64_t across = factors >> 4, down = factors & 15;
      if (across < 1 || across > 4 || down < 1 || down > 4) {
        refuse(where, "it is damaged: its sampling factors");
      }
      if (pass == 0) {
        most_across = std::max(most_across, across);
        most_down = std::max(most_down, down);
      } else {
        const int64_t units_across = (frame.width + 8 * most_across - 1) / (8 * most_across);
        const int64_t units_down = (frame.height + 8 * most_down - 1) / (8 * most_down);
        frame.samples += units_across * across * units_down * down * 64;
      }
    }
  }
  return frame;
}

bool is_frame(uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Marker by marker up to the first scan, which says whether there are more.
ImageHeader read_jpeg(HeaderBytes& bytes, const std::string& where) {
  Frame frame;
  int64_t at = 2;
  for (int markers = 0; markers < 10'000; ++markers) {
    if (*bytes.at(at, 1) != 0xff) {
      throw DataError("{}: it is damaged: no marker stands at byte {}; copy or save it again",
                      where, at);
    }
    const uint8_t marker = *bytes.at(at + 1, 1);
    if (marker == 0xff) {
      ++at;
      continue;
    }
    if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      at += 2;
      continue;
    }
    if (marker == 0xd9) refuse(where, "it ends before its picture begins");
    const int64_t length = bytes.big16(at + 2);
    if (length < 2) refuse(where, fmt::format("it is damaged at byte {}", at));
    if (is_frame(marker)) {
      if (marker > 0xc2) {  // Lossless, hierarchical, arithmetic coding.
        throw DataError("{}: it is a JPEG file of a kind (SOF{}) that is not read; save it again",
                        where, marker - 0xc0);
      }
      frame = read_frame(bytes, at + 2, marker, where);
    } else if (marker == 0xda) {
      if (frame.components == 0) refuse(where, "it is damaged: its picture has no size");
      const bool whole = frame.progressive || *bytes.at(at + 4, 1) < frame.components;
      // Coefficients are two bytes; a decoder's rows were counted in libjpeg-turbo: 24 to 60 bytes
      // a column and component.
      const int64_t rows = (64 * frame.width + 4096) * frame.components + (int64_t{64} << 10);
      return {ImageFormat::jpeg, frame.height, frame.width, rows + (whole ? 2 * frame.samples : 0)};
    }
    at += 2 + length;
  }
  refuse(where, "it is damaged: it has no picture");
}

ImageHeader read_png(HeaderBytes& bytes, const std::string& where) {
  if (std::memcmp(bytes.at(12, 4), "IHDR", 4) != 0) refuse(where, "it is damaged: no IHDR chunk");
  ImageHeader header{
      .format = ImageFormat::png, .height = bytes.big32(20), .width = bytes.big32(16)};
  const bool interlaced = *bytes.at(28, 1) != 0;
  constexpr int64_t kFixed = int64_t{192} << 10;  // The inflater, and libpng's own.
  header.decoder_bytes = kFixed + 40 * header.width;
  if (interlaced && header.height < (int64_t{1} << 24)) {
    header.decoder_bytes += 4 * header.width * header.height;
  }
  return header;
}

void refuse_format(HeaderBytes& bytes, int64_t size, const std::string& where) {
  const auto starts = [&](std::string_view magic) {
    return size >= std::ssize(magic) &&
           std::memcmp(bytes.at(0, magic.size()), magic.data(), magic.size()) == 0;
  };
  std::string_view name;
  if (starts("GIF8")) name = "a GIF file";
  if (starts("BM")) name = "a BMP file";
  if (starts("RIFF")) name = "a WebP file";
  if (starts("II*") || starts("MM")) name = "a TIFF file";
  if (!name.empty()) {
    throw DataError("{}: it is {}, but JPEG and PNG are read; convert it, or take it away", where,
                    name);
  }
  const uint8_t first = *bytes.at(0, 1), second = size > 1 ? *bytes.at(1, 1) : 0;
  throw DataError(
      "{}: it is no picture: it begins with the bytes {:02x} {:02x}, but JPEG (ff d8) or PNG (89 "
      "50) was expected; mend it, or take it away",
      where, first, second);
}

void check_limits(const ImageHeader& header, const std::string& where, const ImageLimits& limits) {
  if (header.height < 1 || header.width < 1) {
    throw DataError("{}: it is damaged: it claims {} x {} pixels; copy or save it again", where,
                    header.width, header.height);
  }
  if (header.width > limits.most_pixels / header.height) {
    throw DataError(
        "{}: it claims {} x {} pixels, more than the {} that are allowed; scale it down, or raise "
        "most_pixels",
        where, header.width, header.height, limits.most_pixels);
  }
  if (header.decoder_bytes > limits.most_decoder_bytes) {
    throw DataError(
        "{}: to decode its {} x {} pixels takes {}, more than the {} that are allowed; save it "
        "without interlacing or progression, or raise most_decoder_bytes",
        where, header.width, header.height, bytes_text(header.decoder_bytes),
        bytes_text(limits.most_decoder_bytes));
  }
}

}  // namespace

ImageHeader read_image_header(File& file, const std::string& where, const ImageLimits& limits) {
  HeaderBytes bytes(file, where);
  const int64_t size = file.size();
  if (size == 0) throw DataError("{}: it is empty; save it again, or take it away", where);
  ImageHeader header;
  if (size >= 2 && bytes.big16(0) == 0xffd8) {
    header = read_jpeg(bytes, where);
  } else if (size >= 8 && std::memcmp(bytes.at(0, 8), kPngMagic.data(), 8) == 0) {
    header = read_png(bytes, where);
  } else {
    refuse_format(bytes, size, where);
  }
  check_limits(header, where, limits);
  return header;
}

}  // namespace snug
