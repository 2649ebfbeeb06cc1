#include "snug/kernels/im2col_product.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "snug/base/threads.h"

namespace snug {
namespace {

constexpr int64_t kTileFloats = 64 * 1024;  // of columns, a part of L2
constexpr int64_t kLeastTile = 48;          // positions, for the product to be worth its packing

size_t lines(int64_t floats) { return (floats + 15) / 16 * 64; }

int64_t tile_of(int64_t depth, int64_t positions) {
  const int64_t most =
      std::clamp(kTileFloats / std::max<int64_t>(1, depth), kLeastTile, kTileFloats / 128);
  return std::min(most / 12 * 12, std::max<int64_t>(1, positions));
}

}  // namespace

bool Gather::identity() const {
  return taps.size() == 1 && taps[0].row == 0 && taps[0].column == 0 && row_step == 1 &&
         column_step == 1 && rows == height && columns == width;
}

namespace {

// The taps from `tap` on that lie side by side in memory, as seen from a pixel inside the image.
int64_t run_of_taps(const Gather& from, int64_t tap, int64_t last_tap, int64_t column) {
  int64_t run = 1;
  while (tap + run <= last_tap && column + run < from.width &&
         from.taps[tap + run].row == from.taps[tap].row &&
         from.taps[tap + run].column == from.taps[tap].column + run) {
    ++run;
  }
  return run;
}

// A call of memmove costs more than the few floats of an image with 1 to 4 channels.
void copy(const float* from, int64_t count, float* to) {
  if (count > 4) {
    std::copy_n(from, count, to);
    return;
  }
  to[0] = from[0];
  if (count > 1) to[1] = from[1];
  if (count > 2) to[2] = from[2];
  if (count > 3) to[3] = from[3];
}

// The columns of one position; returns the end of what it wrote.
float* gather_position(const Gather& from, const GatherPart& part, const float* image, int64_t i,
                       int64_t j, float* to) {
  const bool whole = part.channels == from.channels;
  const int64_t last_tap = (part.last - 1) / part.channels;
  for (int64_t t = part.first / part.channels; t <= last_tap;) {
    const int64_t row = i * from.row_step + from.taps[t].row;
    const int64_t column = j * from.column_step + from.taps[t].column;
    const bool inside = row >= 0 && row < from.height && column >= 0 && column < from.width;
    const int64_t run = whole && inside ? run_of_taps(from, t, last_tap, column) : 1;
    const int64_t begin = std::max(part.first - t * part.channels, int64_t{0});
    const int64_t end = std::min(part.last - t * part.channels, run * part.channels);
    if (inside) {
      const float* pixel = image + (row * from.width + column) * from.channels;
      copy(pixel + part.first_channel + begin, end - begin, to);
    } else {
      std::fill_n(to, end - begin, 0.0f);
    }
    to += end - begin;
    t += run;
  }
  return to;
}

}  // namespace

void gather(const Gather& from, const GatherPart& part, const float* image, float* to) noexcept {
  const int64_t image_size = from.height * from.width * from.channels;
  int64_t j = part.position % from.columns, i = part.position / from.columns % from.rows;
  image += part.position / from.columns / from.rows * image_size;
  for (int64_t p = 0; p < part.positions; ++p) {
    to = gather_position(from, part, image, i, j, to);
    if (++j == from.columns) {
      j = 0;
      if (++i == from.rows) i = 0, image += image_size;
    }
  }
}

ColumnProduct::ColumnProduct(Gather gather, const Output& output, bool transpose_weights)
    : gather_(std::move(gather)),
      output_(output),
      channels_(gather_.channels / output.groups),
      depth_(channels_ * static_cast<int64_t>(gather_.taps.size())),
      tile_(tile_of(depth_, gather_.positions())),
      full_(gemm(tile_, transpose_weights)),
      rest_(gemm(gather_.positions() % tile_, transpose_weights)),
      packed_bytes_(full_.packed_bytes()),
      columns_bytes_(gather_.identity() ? 0 : lines(tile_ * depth_)),
      part_bytes_(columns_bytes_ + (contiguous() ? 0 : lines(tile_ * output.filters)) +
                  std::max(full_.scratch_bytes(), rest_.scratch_bytes())) {}

Gemm ColumnProduct::gemm(int64_t positions, bool transpose_weights) const {
  GemmShape shape = dense_gemm(positions, output_.filters, depth_, false, transpose_weights);
  if (gather_.identity()) shape.lda = gather_.channels;
  if (contiguous()) shape.ldc = output_.groups * output_.filters;
  return Gemm(shape, /*threads=*/1, Gemm::Operand::packed);
}

void ColumnProduct::pack_tap(int64_t tap, int64_t group, const float* weights, int64_t stride,
                             void* packed) const noexcept {
  full_.pack_rows(weights, stride, tap * channels_, channels_,
                  static_cast<std::byte*>(packed) + packed_bytes_ * group);
}

void ColumnProduct::store(int64_t position, int64_t count, const float* results, float* y) const {
  const int64_t channels = output_.groups * output_.filters;
  for (int64_t p = position; p < position + count; ++p, results += output_.filters) {
    const int64_t row = output_.row + p / gather_.columns % gather_.rows * output_.row_step;
    const int64_t column = output_.column + p % gather_.columns * output_.column_step;
    const int64_t b = p / gather_.columns / gather_.rows;
    std::memcpy(y + ((b * output_.height + row) * output_.width + column) * channels, results,
                sizeof(float) * output_.filters);
  }
}

void ColumnProduct::run_tile(int64_t position, const float* image, const void* packed,
                             const float* bias, float* y, std::byte* scratch) const {
  const int64_t count = std::min(tile_, gather_.positions() - position);
  const Gemm& product = count == tile_ ? full_ : rest_;
  float* columns = reinterpret_cast<float*>(scratch);
  float* results = reinterpret_cast<float*>(scratch + columns_bytes_);
  std::byte* gemm_scratch =
      scratch + columns_bytes_ + (contiguous() ? 0 : lines(tile_ * output_.filters));
  for (int64_t group = 0; group < output_.groups; ++group) {
    const GatherPart part{position, count, group * channels_, channels_, 0, depth_};
    const float* a = image + position * gather_.channels + part.first_channel;
    if (!gather_.identity()) {
      if (depth_ > 0) gather(gather_, part, image, columns);
      a = columns;
    }
    float* to = y + group * output_.filters;
    product.run({.a = a,
                 .packed_b = static_cast<const std::byte*>(packed) + packed_bytes_ * group,
                 .c = contiguous() ? to + position * output_.groups * output_.filters : results,
                 .bias = bias ? bias + group * output_.filters : nullptr},
                gemm_scratch);
    if (!contiguous()) store(position, count, results, to);
  }
}

void ColumnProduct::run(int threads, const float* image, const void* packed, const float* bias,
                        float* y, void* scratch) const noexcept {
  const int64_t tiles = (gather_.positions() + tile_ - 1) / tile_;
  parallel_parts(threads, [&](int part) {
    for (int64_t t = tiles * part / threads; t < tiles * (part + 1) / threads; ++t) {
      run_tile(t * tile_, image, packed, bias, y,
               static_cast<std::byte*>(scratch) + part_bytes_ * part);
    }
  });
}

}  // namespace snug
