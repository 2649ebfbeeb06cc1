// libpng, with the same way out as jpeg_rows.cpp and an allocator that keeps to the header's bound.

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/pixel_rows.h"

namespace snug {
namespace {

class PngRows final : public PixelRows {
 public:
  PngRows(File& file, const ImageHeader& header, int channels, std::string where)
      : file_(file),
        header_(header),
        channels_(channels),
        where_(std::move(where)),
        left_(header.decoder_bytes),
        input_(static_cast<size_t>(kImageInputBytes)),
        row_(static_cast<size_t>(header.width) * (channels == 1 ? 1 : 4)) {
    if (!guarded(open)) clear_and_fail();
    if (png_get_image_width(png_, info_) != header.width ||
        png_get_image_height(png_, info_) != header.height) {
      std::snprintf(message_, sizeof(message_), "its size has changed");
      clear_and_fail();
    }
    if (!is_interlaced_) return;
    // libpng fills a picture of several passes in place.
    whole_.resize(static_cast<size_t>(header.height) * row_.size());
    rows_.resize(static_cast<size_t>(header.height));
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i] = whole_.data() + i * row_.size();
    if (!guarded(read_whole)) clear_and_fail();
  }
  ~PngRows() override { clear(); }

  void read(uint8_t* to) override {
    const uint8_t* from = row_.data();
    if (is_interlaced_) {
      from = rows_[static_cast<size_t>(at_)];
    } else if (!guarded(read_row)) {
      fail();
    }
    ++at_;
    convert(from, to);
  }

  void skip_rest(int64_t rows) override {
    for (int64_t i = 0; i < rows && !is_interlaced_; ++i, ++at_) {
      if (!guarded(read_row)) fail();
    }
  }

 private:
  using Call = void (*)(PngRows&);

  bool guarded(Call call) {
    if (setjmp(jump_) != 0) return false;
    call(*this);
    return true;
  }
  static void leave(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngRows*>(png_get_error_ptr(png));
    std::snprintf(self.message_, sizeof(self.message_), "%s", message);
    std::longjmp(self.jump_, 1);
  }
  void clear() { png_destroy_read_struct(&png_, &info_, nullptr); }
  [[noreturn]] void clear_and_fail() {
    clear();
    fail();
  }
  [[noreturn]] void fail() {
    if (thrown_) std::rethrow_exception(thrown_);
    if (is_cut_) {
      throw DataError("{}: it is cut off in row {} of {}; copy or save it again", where_, at_,
                      header_.height);
    }
    throw DataError("{}: it is damaged in row {} of {}: {}; copy or save it again", where_, at_,
                    header_.height, message_);
  }

  static void open(PngRows& self) {
    self.png_ = png_create_read_struct_2(
        PNG_LIBPNG_VER_STRING, &self, leave, [](png_structp, png_const_charp) {}, &self, allocate,
        give_back);
    if (self.png_ == nullptr) std::longjmp(self.jump_, 1);
    self.info_ = png_create_info_struct(self.png_);
    if (self.info_ == nullptr) std::longjmp(self.jump_, 1);
    png_set_user_limits(self.png_, 0x7fffffff, 0x7fffffff);  // The header was checked.
    png_set_keep_unknown_chunks(self.png_, PNG_HANDLE_CHUNK_NEVER, nullptr,
                                -1);  // Texts, profiles.
    png_set_read_fn(self.png_, &self, read_bytes);
    png_read_info(self.png_, self.info_);
    self.is_interlaced_ = png_get_interlace_type(self.png_, self.info_) != PNG_INTERLACE_NONE;
    png_set_expand(self.png_);  // Palettes, fewer than 8 bits, transparent colours.
    png_set_strip_16(self.png_);
    if (self.channels_ == 1) {
      // In hundred thousandths, as TensorFlow has them; the rest is blue.
      constexpr png_fixed_point kRed = 29'900, kGreen = 58'700;
      png_set_rgb_to_gray_fixed(self.png_, PNG_ERROR_ACTION_NONE, kRed, kGreen);
      png_set_strip_alpha(self.png_);
    } else {
      png_set_gray_to_rgb(self.png_);
      png_set_add_alpha(self.png_, 255, PNG_FILLER_AFTER);
    }
    png_set_interlace_handling(self.png_);
    png_read_update_info(self.png_, self.info_);
    if (png_get_rowbytes(self.png_, self.info_) != self.row_.size()) {
      png_error(self.png_, "its rows have another size");
    }
  }
  static void read_row(PngRows& self) { png_read_row(self.png_, self.row_.data(), nullptr); }
  static void read_whole(PngRows& self) { png_read_image(self.png_, self.rows_.data()); }

  // Blocks remember their size, so that the bound is on what is held.
  static constexpr size_t kSizeBytes = 16;
  static png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
    auto& self = *static_cast<PngRows*>(png_get_mem_ptr(png));
    if (static_cast<int64_t>(bytes) > self.left_) return nullptr;
    auto* block = static_cast<std::byte*>(std::malloc(bytes + kSizeBytes));
    if (block == nullptr) return nullptr;
    self.left_ -= static_cast<int64_t>(bytes);
    std::memcpy(block, &bytes, sizeof(bytes));
    return block + kSizeBytes;
  }
  static void give_back(png_structp png, png_voidp memory) {
    std::byte* block = static_cast<std::byte*>(memory) - kSizeBytes;
    png_alloc_size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof(bytes));
    static_cast<PngRows*>(png_get_mem_ptr(png))->left_ += static_cast<int64_t>(bytes);
    std::free(block);
  }

  static void read_bytes(png_structp png, png_bytep to, size_t count) {
    auto& self = *static_cast<PngRows*>(png_get_io_ptr(png));
    while (count > 0) {
      if (self.input_at_ == self.input_end_ && !self.refill()) leave(png, "it is cut off");
      const size_t some = std::min(count, self.input_end_ - self.input_at_);
      std::memcpy(to, self.input_.data() + self.input_at_, some);
      self.input_at_ += some;
      to += some;
      count -= some;
    }
  }
  bool refill() noexcept {
    input_at_ = input_end_ = 0;
    try {
      input_end_ = file_.read_at(std::as_writable_bytes(std::span(input_)), offset_);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    offset_ += static_cast<int64_t>(input_end_);
    is_cut_ = input_end_ == 0;
    return !is_cut_;
  }

  void convert(const uint8_t* from, uint8_t* to) const {
    const ptrdiff_t bytes = channels_ == 1 ? 1 : 4;
    for (int64_t i = 0; i < header_.width; ++i, from += bytes, to += channels_) {
      for (int c = 0; c < channels_; ++c) to[c] = from[c];
    }
  }

  File& file_;
  ImageHeader header_;
  int channels_;
  std::string where_;
  int64_t left_;
  std::vector<uint8_t> input_, row_, whole_;
  size_t input_at_ = 0, input_end_ = 0;
  std::vector<png_bytep> rows_;
  bool is_interlaced_ = false, is_cut_ = false;
  int64_t offset_ = 0, at_ = 0;
  std::exception_ptr thrown_;
  char message_[256] = {};
  std::jmp_buf jump_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

std::unique_ptr<PixelRows> decode_png(File& file, const ImageHeader& header, int channels,
                                      const std::string& where) {
  return std::make_unique<PngRows>(file, header, channels, where);
}

}  // namespace snug
