#include "snug/kernels/gemm.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/gemm_block.h"

namespace snug {
namespace {

constexpr int64_t kPartialFloats = 1 << 18;  // of the partial sums of a split over k
constexpr double kWorthwhileMicroseconds = 10;

int64_t blocks_of(int64_t size, int64_t step) { return (size + step - 1) / step; }

size_t line_bytes(int64_t floats) { return blocks_of(floats, 16) * 64; }

// Cut [0, size) into `parts` at multiples of `step`.
int64_t cut(int64_t size, int64_t step, int64_t parts, int64_t part) {
  return std::min(size, blocks_of(size, step) * part / parts * step);
}

// A rough time on one thread: arithmetic at 100 GFLOP/s and memory at 30 GB/s.
double microseconds(const GemmShape& s) {
  const double m = s.m, n = s.n, k = s.k;
  return 2 * m * n * k / 1e5 + 4 * (m * k + k * n + 2 * m * n) / 3e4;
}

}  // namespace

GemmShape dense_gemm(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b) {
  return {m, n, k, transpose_a, transpose_b, transpose_a ? m : k, transpose_b ? k : n, n};
}

Gemm::Gemm(const GemmShape& shape, int threads, Operand b) : shape_(shape) {
  SNUG_CHECK(shape.m >= 0 && shape.n >= 0 && shape.k >= 0 && threads >= 1);
  SNUG_CHECK(shape.lda >= (shape.transpose_a ? shape.m : shape.k), "lda {}", shape.lda);
  SNUG_CHECK(shape.ldb >= (shape.transpose_b ? shape.k : shape.n), "ldb {}", shape.ldb);
  SNUG_CHECK(shape.ldc >= shape.n, "ldc {}", shape.ldc);
  const double worthwhile = microseconds(shape) / kWorthwhileMicroseconds;
  choose_split(worthwhile >= threads ? threads : std::max(1, static_cast<int>(worthwhile)), b);
}

// The grid whose largest rectangle is smallest; among equals the squarest, which packs least twice.
// The gradient of weights (A transposed) is cut by rows alone where there are enough of them: so it
// stands in the caches as the pass that updates the weights will cut it.
// Where C has too few tiles for the threads, blocks of k run side by side instead: their sums are
// kept apart and added in order, as one thread would, so the split does not show in the bits.
void Gemm::choose_split(int threads, Operand b) {
  const GemmTile tile = gemm_tile();
  const int64_t rows = blocks_of(shape_.m, tile.rows), columns = blocks_of(shape_.n, tile.columns);
  const bool by_rows = shape_.transpose_a && rows >= 4 * threads;
  row_step_ = by_rows ? 1 : tile.rows;
  int64_t best = INT64_MAX;
  for (int parts = by_rows ? threads : 1; parts <= threads; ++parts) {
    if (threads % parts != 0) continue;
    const int64_t r = blocks_of(rows, parts), c = blocks_of(columns, threads / parts);
    const int64_t cost = r * c * 1000 + std::min<int64_t>(999, r + c);
    if (cost < best) best = cost, row_parts_ = parts, column_parts_ = threads / parts;
  }
  const int64_t blocks = gemm_depth_blocks(shape_.k), elements = shape_.m * shape_.n;
  const bool few_tiles = rows * columns < 2 * threads && !gemm_takes_dots(shape_);
  if (threads > 1 && few_tiles && blocks >= 2 * threads && elements * threads <= kPartialFloats) {
    split_ = Split::depth;
    row_parts_ = threads, column_parts_ = 1;
    wave_ = std::min(blocks, kPartialFloats / std::max<int64_t>(1, elements));
  }
  const bool depth = split_ == Split::depth;
  part_bytes_ = line_bytes(gemm_block_scratch_floats(
      shape_, b, depth ? shape_.m : std::min(shape_.m, blocks_of(rows, row_parts_) * tile.rows),
      depth ? shape_.n : std::min(shape_.n, blocks_of(columns, column_parts_) * tile.columns)));
  part_bytes_ = thread_stride(part_bytes_, row_parts_ * column_parts_);
  scratch_bytes_ = part_bytes_ * row_parts_ * column_parts_ + line_bytes(wave_ * elements);
}

size_t Gemm::packed_bytes() const {
  if (gemm_takes_dots(shape_)) return line_bytes(shape_.k);
  const int64_t width = gemm_tile().columns;
  return line_bytes(shape_.k * blocks_of(shape_.n, width) * width);
}

void Gemm::pack(const float* b, void* packed) const noexcept {
  pack_rows(b, shape_.ldb, 0, shape_.k, packed);
}

void Gemm::pack_rows(const float* b, int64_t ldb, int64_t first, int64_t rows,
                     void* packed) const noexcept {
  GemmShape shape = shape_;
  shape.ldb = ldb;
  gemm_pack(shape, b, first, rows, static_cast<float*>(packed));
}

void Gemm::run_rectangle(const Arguments& arguments, int part, void* scratch) const {
  const GemmTile tile = gemm_tile();
  const int row = part / column_parts_, column = part % column_parts_;
  const GemmBlock block{.row_begin = cut(shape_.m, row_step_, row_parts_, row),
                        .row_end = cut(shape_.m, row_step_, row_parts_, row + 1),
                        .column_begin = cut(shape_.n, tile.columns, column_parts_, column),
                        .column_end = cut(shape_.n, tile.columns, column_parts_, column + 1),
                        .block_begin = 0,
                        .block_end = gemm_depth_blocks(shape_.k)};
  Arguments own = arguments;
  if (own.notes != nullptr) *(own.notes += part) = {};
  if (block.row_begin == block.row_end || block.column_begin == block.column_end) return;
  std::byte* own_scratch = static_cast<std::byte*>(scratch) + part_bytes_ * part;
  gemm_block(shape_, own, block, reinterpret_cast<float*>(own_scratch));
}

void Gemm::run_depth(const Arguments& arguments, void* scratch) const {
  std::byte* bytes = static_cast<std::byte*>(scratch);
  float* partial = reinterpret_cast<float*>(bytes + part_bytes_ * row_parts_);
  const int64_t blocks = gemm_depth_blocks(shape_.k), elements = shape_.m * shape_.n;
  GemmShape apart = shape_;
  apart.ldc = shape_.n;
  for (int64_t first = 0; first < blocks; first += wave_) {
    const int64_t count = std::min(wave_, blocks - first);
    parallel_parts(row_parts_, [&](int part) {
      for (int64_t b = count * part / row_parts_; b < count * (part + 1) / row_parts_; ++b) {
        Arguments alone = arguments;
        alone.c = partial + b * elements, alone.bias = nullptr, alone.accumulate = false;
        gemm_block(apart, alone, {0, shape_.m, 0, shape_.n, first + b, first + b + 1},
                   reinterpret_cast<float*>(bytes + part_bytes_ * part));
      }
    });
    for (int64_t b = 0; b < count; ++b) {
      const bool add = arguments.accumulate || first + b > 0;
      const float* bias = first + b + 1 == blocks ? arguments.bias : nullptr;
      for (int64_t i = 0; i < shape_.m; ++i) {
        const float* from = partial + b * elements + i * shape_.n;
        float* c = arguments.c + i * shape_.ldc;
        for (int64_t j = 0; j < shape_.n; ++j) {
          const float sum = add ? c[j] + from[j] : from[j];
          c[j] = bias ? sum + bias[j] : sum;
        }
      }
    }
  }
}

int Gemm::notes() const {
  const bool in_tiles =
      split_ == Split::rectangles && !gemm_takes_dots(shape_) && shape_.m > 0 && shape_.n > 0;
  return in_tiles ? row_parts_ * column_parts_ : 0;
}

void Gemm::run(const Arguments& arguments, void* scratch) const noexcept {
  if (shape_.m == 0 || shape_.n == 0) return;
  if (split_ == Split::depth) return run_depth(arguments, scratch);
  parallel_parts(row_parts_ * column_parts_,
                 [&](int part) { run_rectangle(arguments, part, scratch); });
}

}  // namespace snug
