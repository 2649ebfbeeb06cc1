// Sums down the columns of arrays of rows, kept in registers.
#if defined(SNUG_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_COLUMNS_INL_H_
#undef SNUG_KERNELS_COLUMNS_INL_H_
#else
#define SNUG_KERNELS_COLUMNS_INL_H_
#endif

#include <algorithm>

#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Rows that are summed in float32 before the sum goes to its second level.
constexpr int64_t kBlockRows = 128;

// Reads whole vectors or, with kPart, the first `count` lanes.
template <bool kPart>
struct Reader {
  int64_t count;
  HWY_INLINE V operator()(const float* p) const {
    if constexpr (kPart) return load_part(p, count);
    return load(p);
  }
};

// Adds the terms of rows [begin, end) for kVectors vectors of columns from `column` on, and hands
// each sum to flush(k, column, sum, count).
//
// Body: kSums, and Column state = body.column(reader, column) made once for a vector of columns,
// then state.add(reader, row, V (&sums)[kSums]) for each row.
template <int kVectors, bool kPart, class Body, class Flush>
HWY_INLINE void sum_tile(const Body& body, int64_t begin, int64_t end, int64_t column,
                         int64_t count, const Flush& flush) {
  const Reader<kPart> reader{count};
  V sums[kVectors][Body::kSums];
  typename Body::Column states[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    states[v] = body.column(reader, column + v * kLanes);
    for (V& sum : sums[v]) sum = hn::Zero(d);
  }
  for (int64_t row = begin; row < end; ++row) {
    for (int v = 0; v < kVectors; ++v) states[v].add(reader, row, sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int k = 0; k < Body::kSums; ++k) flush(k, column + v * kLanes, sums[v][k], count);
  }
}

// The tiles of columns [first, last).
template <int kVectors, class Body, class Flush>
HWY_INLINE void sum_tiles(const Body& body, int64_t begin, int64_t end, int64_t first, int64_t last,
                          const Flush& flush) {
  int64_t c = first;
  for (; c + kVectors * kLanes <= last; c += kVectors * kLanes) {
    sum_tile<kVectors, false>(body, begin, end, c, kLanes, flush);
  }
  for (; c + kLanes <= last; c += kLanes) sum_tile<1, false>(body, begin, end, c, kLanes, flush);
  if (c < last) sum_tile<1, true>(body, begin, end, c, last - c, flush);
}

// The sums of a block of rows, for some columns, in L1.
template <int kSums>
struct BlockSums {
  static constexpr int64_t kWidth = 4096 / kSums;
  HWY_ALIGN float sums[kSums][kWidth];
  int64_t first = 0, last = 0;

  HWY_INLINE void begin() {
    for (float(&row)[kWidth] : sums) {
      for (int64_t i = 0; i < last - first; i += kLanes) hn::Store(hn::Zero(d), d, row + i);
    }
  }
  HWY_INLINE void add(int k, int64_t column, V sum) {
    float* to = sums[k] + column - first;
    hn::Store(hn::Add(hn::Load(d, to), sum), d, to);
  }
  template <class Flush>
  HWY_INLINE void end(const Flush& flush) const {
    for (int k = 0; k < kSums; ++k) {
      for (int64_t c = first; c < last; c += kLanes)
        flush(k, c, hn::Load(d, sums[k] + c - first), std::min(kLanes, last - c));
    }
  }
};

// Rows that are wider than a tile: the tiles of a few of them are added to the sums of their block.
template <int kVectors, class Body, class Flush>
HWY_INLINE void sum_wide_columns(const Body& body, int64_t rows, int64_t first, int64_t last,
                                 int64_t together, const Flush& flush) {
  BlockSums<Body::kSums> block;
  block.first = first;
  block.last = last;
  for (int64_t begin = 0; begin < rows; begin += kBlockRows) {
    const int64_t end = std::min(rows, begin + kBlockRows);
    block.begin();
    for (int64_t row = begin; row < end; row += together) {
      sum_tiles<kVectors>(body, row, std::min(end, row + together), first, last,
                          [&](int k, int64_t column, V sum, int64_t)
                              HWY_ATTR { block.add(k, column, sum); });
    }
    block.end(flush);
  }
}

// How many rows of so many elements go together. One, read from end to end as memory wants it,
// where they come from there: that takes 0.35 of the time of eight; from the caches it takes 1.4 to
// 1.8 times as long (Zen 4).
HWY_INLINE int64_t rows_together(int64_t elements) { return elements > int64_t{1} << 20 ? 1 : 8; }

// Sums all columns, block of rows by block of rows; flush(k, column, sum, count) is called once for
// each block and must add to what the blocks before it left. kVectors vectors run side by side.
template <int kVectors, class Body, class Flush>
HWY_INLINE void sum_columns(const Body& body, int64_t rows, int64_t columns, const Flush& flush) {
  if (columns <= kVectors * kLanes) {
    for (int64_t begin = 0; begin < rows; begin += kBlockRows)
      sum_tiles<kVectors>(body, begin, std::min(rows, begin + kBlockRows), 0, columns, flush);
    return;
  }
  constexpr int64_t kWidth = BlockSums<Body::kSums>::kWidth;
  const int64_t together = rows_together(rows * columns);
  for (int64_t first = 0; first < columns; first += kWidth) {
    const int64_t last = std::min(columns, first + kWidth);
    sum_wide_columns<kVectors>(body, rows, first, last, together, flush);
  }
}

// Adds to float32 arrays, one for each sum; a null array is left out.
template <int kSums>
struct FloatFlush {
  float* outputs[kSums];
  HWY_INLINE void operator()(int k, int64_t column, V sum, int64_t count) const {
    float* out = outputs[k];
    if (!out) return;
    out += column;
    if (count == kLanes) return store(hn::Add(load(out), sum), out);
    store_part(hn::Add(load_part(out, count), sum), out, count);
  }
};

// Adds to double arrays, one for each sum.
template <int kSums>
struct DoubleFlush {
  double* outputs[kSums];
  HWY_INLINE void operator()(int k, int64_t column, V sum, int64_t count) const {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(sum, d, lanes);
    double* out = outputs[k] + column;
    for (int64_t i = 0; i < count; ++i) out[i] += lanes[i];
  }
};

// The plain sum of x[rows, columns].
struct SumBody {
  static constexpr int kSums = 1;
  const float* x;
  int64_t columns;

  struct Column {
    const float* x;
    int64_t stride;
    template <class R>
    HWY_INLINE void add(const R& reader, int64_t row, V (&sums)[1]) const {
      sums[0] = hn::Add(sums[0], reader(x + row * stride));
    }
  };
  template <class R>
  HWY_INLINE Column column(const R&, int64_t c) const {
    return {x + c, columns};
  }
};

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
