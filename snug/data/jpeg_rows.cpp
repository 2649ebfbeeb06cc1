// libjpeg-turbo, which leaves by longjmp when something is wrong: so every call into it goes
// through guarded(), whose frame holds nothing to destroy.

#include <csetjmp>
#include <cstdio>
#include <exception>
#include <vector>
// clang-format off
#include <jpeglib.h>  // Needs <cstdio> before it.
#include <jerror.h>
// clang-format on

#include "snug/base/error.h"
#include "snug/data/pixel_rows.h"

namespace snug {
namespace {

class JpegRows final : public PixelRows {
 public:
  JpegRows(File& file, const ImageHeader& header, int channels, std::string where)
      : file_(file),
        header_(header),
        channels_(channels),
        where_(std::move(where)),
        input_(static_cast<size_t>(kImageInputBytes)),
        own_row_(static_cast<size_t>(header.width) * 4) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave;
    errors_.emit_message = note;
    errors_.output_message = [](j_common_ptr) {};
    jpeg_.client_data = this;
    if (!guarded(start)) {
      jpeg_destroy_decompress(&jpeg_);
      fail();
    }
    if (jpeg_.output_width == header.width && jpeg_.output_height == header.height) return;
    jpeg_destroy_decompress(&jpeg_);
    throw DataError("{}: it was changed during the run; leave the file alone and start again",
                    where_);
  }
  ~JpegRows() override { jpeg_destroy_decompress(&jpeg_); }

  void read(uint8_t* to) override {
    row_ = has_own_row() ? own_row_.data() : to;
    if (!guarded(read_row)) fail();
    if (is_cmyk_) {
      from_cmyk(to);
    } else if (channels_ == 4) {
      add_alpha(to);
    }
  }

  void skip_rest(int64_t rows) override {
    // Up to the last row it goes over the codes without making pixels; a skip to the very end would
    // look at nothing.
    skip_ = static_cast<JDIMENSION>(rows - 1);
    row_ = own_row_.data();
    if (rows > 0 && (!guarded(skip_rows) || !guarded(read_row))) fail();
  }

 private:
  using Call = void (*)(JpegRows&);

  static JpegRows& of(j_common_ptr jpeg) { return *static_cast<JpegRows*>(jpeg->client_data); }
  static JpegRows& of(j_decompress_ptr jpeg) { return *static_cast<JpegRows*>(jpeg->client_data); }

  bool guarded(Call call) {
    if (setjmp(jump_) != 0) return false;
    call(*this);
    return true;
  }
  static void leave(j_common_ptr jpeg) {
    JpegRows& self = of(jpeg);
    jpeg->err->format_message(jpeg, self.message_);
    std::longjmp(self.jump_, 1);
  }
  // Levels below 0 are warnings. These mean that pixels are lost; others are about conventions.
  static void note(j_common_ptr jpeg, int level) {
    const int code = jpeg->err->msg_code;
    if (level >= 0) return;
    if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
        code == JWRN_MUST_RESYNC) {
      leave(jpeg);
    }
  }
  [[noreturn]] void fail() {
    if (thrown_) std::rethrow_exception(thrown_);
    const auto row = static_cast<int64_t>(jpeg_.output_scanline);
    if (errors_.msg_code == JWRN_JPEG_EOF || errors_.msg_code == JERR_INPUT_EOF) {
      throw DataError("{}: it is cut off in row {} of {}; copy or save it again", where_, row,
                      header_.height);
    }
    throw DataError("{}: it is damaged in row {} of {}: {}; copy or save it again", where_, row,
                    header_.height, message_);
  }

  static void start(JpegRows& self) {
    jpeg_create_decompress(&self.jpeg_);
    // For whole pictures; what does not fit is refused and not put on the disk.
    self.jpeg_.mem->max_memory_to_use = static_cast<long>(self.header_.decoder_bytes);
    self.source_.init_source = [](j_decompress_ptr) {};
    self.source_.term_source = [](j_decompress_ptr) {};
    self.source_.fill_input_buffer = fill;
    self.source_.skip_input_data = skip;
    self.source_.resync_to_restart = jpeg_resync_to_restart;
    self.jpeg_.src = &self.source_;
    jpeg_read_header(&self.jpeg_, TRUE);
    self.choose_colours();
    self.jpeg_.dct_method = JDCT_IFAST;  // As TensorFlow: the same pixels, and faster.
    jpeg_start_decompress(&self.jpeg_);
  }
  void choose_colours() {
    is_cmyk_ = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    const bool may_be_grey = jpeg_.jpeg_color_space == JCS_YCbCr ||
                             jpeg_.jpeg_color_space == JCS_GRAYSCALE ||
                             jpeg_.jpeg_color_space == JCS_RGB;
    jpeg_.out_color_space = is_cmyk_                        ? JCS_CMYK
                            : channels_ == 1 && may_be_grey ? JCS_GRAYSCALE
                                                            : JCS_RGB;
  }
  static void read_row(JpegRows& self) { jpeg_read_scanlines(&self.jpeg_, &self.row_, 1); }
  static void skip_rows(JpegRows& self) {
    if (self.skip_ > 0) jpeg_skip_scanlines(&self.jpeg_, self.skip_);
  }

  bool has_own_row() const { return is_cmyk_ || channels_ == 4; }

  static boolean fill(j_decompress_ptr jpeg) {
    JpegRows& self = of(jpeg);
    size_t count = 0;
    try {
      count = self.file_.read_at(std::as_writable_bytes(std::span(self.input_)), self.offset_);
    } catch (...) {
      self.thrown_ = std::current_exception();
    }
    if (self.thrown_) leave(reinterpret_cast<j_common_ptr>(jpeg));
    if (count == 0) {
      jpeg->err->msg_code = JERR_INPUT_EOF;
      leave(reinterpret_cast<j_common_ptr>(jpeg));
    }
    self.offset_ += static_cast<int64_t>(count);
    self.source_.next_input_byte = self.input_.data();
    self.source_.bytes_in_buffer = count;
    return TRUE;
  }
  static void skip(j_decompress_ptr jpeg, long count) {
    JpegRows& self = of(jpeg);
    if (count <= 0) return;
    const auto had = static_cast<long>(self.source_.bytes_in_buffer);
    if (count <= had) {
      self.source_.next_input_byte += count;
      self.source_.bytes_in_buffer -= static_cast<size_t>(count);
      return;
    }
    self.offset_ += count - had;
    self.source_.bytes_in_buffer = 0;
  }

  // Photoshop writes the inverse of the inks, and says so with its marker.
  void from_cmyk(uint8_t* to) const {
    const bool inverse = jpeg_.saw_Adobe_marker != 0;
    for (int64_t i = 0; i < header_.width; ++i, to += channels_) {
      const uint8_t* inks = own_row_.data() + 4 * i;
      int rgb[3];
      for (int c = 0; c < 3; ++c) {
        rgb[c] = inverse ? inks[c] * inks[3] / 255 : (255 - inks[c]) * (255 - inks[3]) / 255;
      }
      if (channels_ == 1) {
        to[0] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
        continue;
      }
      for (int c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(rgb[c]);
      if (channels_ == 4) to[3] = 255;
    }
  }
  void add_alpha(uint8_t* to) const {
    for (int64_t i = 0; i < header_.width; ++i) {
      for (int c = 0; c < 3; ++c) to[4 * i + c] = own_row_[static_cast<size_t>(3 * i + c)];
      to[4 * i + 3] = 255;
    }
  }

  File& file_;
  ImageHeader header_;
  int channels_;
  std::string where_;
  std::vector<uint8_t> input_, own_row_;
  JSAMPROW row_ = nullptr;
  JDIMENSION skip_ = 0;
  bool is_cmyk_ = false;
  int64_t offset_ = 0;
  std::exception_ptr thrown_;
  char message_[JMSG_LENGTH_MAX] = {};
  std::jmp_buf jump_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_source_mgr source_{};
};

}  // namespace

std::unique_ptr<PixelRows> decode_jpeg(File& file, const ImageHeader& header, int channels,
                                       const std::string& where) {
  return std::make_unique<JpegRows>(file, header, channels, where);
}

}  // namespace snug
