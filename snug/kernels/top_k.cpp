#include "snug/kernels/top_k.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/top_k.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A number that is k-th from the top at most: the k-th of the largest in each lane.
float lower_bound(const float* x, int64_t n, int k) {
  if (n < 4 * kLanes || k > kLanes) return -kInfinity;
  V a = set(-kInfinity), b = a;
  for (int64_t i = 0; i + 2 * kLanes <= n; i += 2 * kLanes) {
    a = greatest(a, load(x + i));
    b = greatest(b, load(x + i + kLanes));
  }
  const V most = greatest(a, b);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(most, d, lanes);
  VI larger = hn::Zero(di);
  for (const float lane : lanes) {
    const auto less = hn::RebindMask(di, hn::Lt(most, set(lane)));
    larger = hn::Add(larger, hn::IfThenElseZero(less, hn::Set(di, 1)));
  }
  const M above = hn::RebindMask(d, hn::Lt(larger, hn::Set(di, k)));
  return hn::GetLane(hn::MinOfLanes(d, hn::IfThenElse(above, most, set(kInfinity))));
}

// The places of a row that may be among its k largest.
class Candidates {
 public:
  Candidates(const float* x, int k) : x_(x), k_(k) {}

  HWY_INLINE void add(M mask, int64_t first) {
    const VI places = hn::Add(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(first)));
    count_ += hn::CompressStore(places, hn::RebindMask(di, mask), di, places_ + count_);
  }
  bool is_full() const { return count_ > kRoom; }

  // Keeps the k largest, in order; answers the least of them.
  float keep_largest() {
    int64_t keys[kRoom + kLanes];
    for (size_t i = 0; i < count_; ++i) keys[i] = key(places_[i]);
    const auto k = static_cast<size_t>(k_);
    std::partial_sort(keys, keys + k, keys + count_, std::greater<>());
    for (size_t i = 0; i < k; ++i) places_[i] = static_cast<int32_t>(~keys[i]);
    count_ = k;
    return x_[places_[k - 1]];
  }

  int32_t place(int i) const { return places_[i]; }

 private:
  static constexpr size_t kRoom = 64;

  // Orders as the elements do: by their bits, with NaN above all and one zero, then by place.
  int64_t key(int32_t place) const {
    const float value = x_[place] + 0.0f;
    const auto bits = std::bit_cast<int32_t>(value);
    const int32_t order =
        value != value ? std::numeric_limits<int32_t>::max() : bits ^ (bits >> 31 & 0x7fffffff);
    return int64_t{order} << 32 | static_cast<uint32_t>(~place);
  }

  const float* x_;
  int k_;
  size_t count_ = 0;
  HWY_ALIGN int32_t places_[kRoom + 2 * kLanes];
};

void largest_of_row(const float* x, int64_t n, int k, float* values, int32_t* places) {
  Candidates candidates(x, k);
  V bound = set(lower_bound(x, n, k));
  // NaN is not less than anything, and so enters.
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = std::min(kLanes, n - i);
    const V v = count == kLanes ? load(x + i) : load_part(x + i, count);
    const M inside = hn::FirstN(d, static_cast<size_t>(count));
    candidates.add(hn::AndNot(hn::Lt(v, bound), inside), i);
    if (candidates.is_full()) bound = set(candidates.keep_largest());
  }
  candidates.keep_largest();
  for (int i = 0; i < k; ++i) {
    places[i] = candidates.place(i);
    values[i] = x[places[i]];
  }
}

void largest_of_rows(const float* x, float* values, int32_t* places, int64_t rows, int64_t columns,
                     int k) {
  for (int64_t r = 0; r < rows; ++r, x += columns, values += k, places += k)
    largest_of_row(x, columns, k, values, places);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(largest_of_rows);

void top_k(const float* x, float* values, int32_t* places, int64_t rows, int64_t columns,
           int k) noexcept {
  HWY_DYNAMIC_DISPATCH(largest_of_rows)(x, values, places, rows, columns, k);
}

}  // namespace snug::kernels
#endif
