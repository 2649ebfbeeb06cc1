#include "snug/kernels/random.h"

#include <algorithm>
#include <cmath>

#include "snug/base/random.h"
#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/random.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// A row is cut into groups of kBlocks blocks of the generator, which are drawn side by side. Word j
// of block l of group g is element 4 kBlocks g + kBlocks j + l: the words of neighbouring lanes are
// neighbours, on every instruction set. Dropout takes 16 bits an element, so that half h of the
// words of 8 blocks is element 64 g + 8 h + l.
constexpr int64_t kBlocks = 16;
constexpr int64_t kDropBlocks = 8;

// Draws the blocks of one row, as many at once as the tag W of unsigned words has lanes.
template <class W>
class Generator {
 public:
  using Word = hn::Vec<W>;
  using Words = Word[4];  // The four words of the blocks, lane by lane.
  static constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(W()));

  explicit Generator(const RandomKey& key)
      : key_(philox_key(key.seed, key.stream)), epoch_(key.epoch), call_(key.call) {
    for (int i = 0; i < kPhiloxRounds; ++i) {
      for (int k = 0; k < 2; ++k) {
        const uint32_t word = key_[k] + static_cast<uint32_t>(i) * kPhiloxKeySteps[k];
        std::fill_n(keys_[i][k], kWidth, word);
      }
    }
  }

  void begin_row(uint64_t position) {
    low_ = static_cast<uint32_t>(position);
    last_ = call_ | static_cast<uint32_t>(position >> 32) << 16;
  }

#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE void draw(uint32_t block, Words& words) const {
    const PhiloxCounter drawn = philox({block, low_, epoch_, last_}, key_);
    for (int j = 0; j < 4; ++j) words[j] = hn::Set(W(), drawn[j]);
  }
#else
  // Products of 32 bits come from the even lanes, so the blocks of even and of odd lanes are drawn
  // apart, each in the even lanes (what is in the odd ones does not matter), and merged at the end.
  HWY_INLINE void draw(uint32_t block, Words& words) const {
    const W w;
    const Word low = hn::Set(w, low_), epoch = hn::Set(w, epoch_), last = hn::Set(w, last_);
    // Of a constant, for the numbers of the lanes are made one by one otherwise.
    const Word first = hn::Add(hn::Iota(w, 0), hn::Set(w, block));
    Words even = {first, low, epoch, last};
    Words odd = {hn::Add(first, hn::Set(w, 1)), low, epoch, last};
    for (int i = 0; i < kPhiloxRounds; ++i) {
      const Word key0 = hn::Load(w, keys_[i][0]), key1 = hn::Load(w, keys_[i][1]);
      round(key0, key1, even);
      round(key0, key1, odd);
    }
    for (int j = 0; j < 4; ++j) {
      const Word moved = hn::BitCast(w, hn::ShiftLeft<32>(hn::BitCast(Wide(), odd[j])));
      words[j] = hn::OddEven(moved, even[j]);
    }
  }

 private:
  using Wide = hn::Repartition<uint64_t, W>;

  static HWY_INLINE void round(Word key0, Word key1, Words& c) {
    const W w;
    const auto first = hn::MulEven(c[0], hn::Set(w, kPhiloxMultipliers[0]));
    const auto second = hn::MulEven(c[2], hn::Set(w, kPhiloxMultipliers[1]));
    // Not shifts: they wait for the unit that multiplies.
    const Word first_high = hn::DupOdd(hn::BitCast(w, first));
    const Word second_high = hn::DupOdd(hn::BitCast(w, second));
    c[0] = hn::Xor3(second_high, c[1], key0);
    c[2] = hn::Xor3(first_high, c[3], key1);
    c[1] = hn::BitCast(w, second);
    c[3] = hn::BitCast(w, first);
  }
#endif

 private:
  PhiloxKey key_;
  uint32_t epoch_, call_;
  uint32_t low_ = 0, last_ = 0;
  HWY_ALIGN uint32_t keys_[kPhiloxRounds][2][kWidth];
};

using Words = Generator<DU>::Words;

// Calls make(words, values), where values takes the four vectors of elements kBlocks * k + lane,
// for all blocks of every row; then put(offset, value, count) for each vector.
template <class Make, class Put>
HWY_INLINE void for_draws(const RandomRows& where, const Make& make, const Put& put) {
  constexpr int64_t kGroup = 4 * kBlocks;
  Generator<DU> generator(where.key);
  for (int64_t r = 0; r < where.rows; ++r) {
    generator.begin_row(where.position + static_cast<uint64_t>(r));
    const int64_t row = r * where.columns;
    for (int64_t g = 0; g < where.columns; g += kGroup) {
      for (int64_t lane = 0; lane < std::min(kBlocks, where.columns - g); lane += kLanes) {
        Words words;
        generator.draw(static_cast<uint32_t>(g / 4 + lane), words);
        VU values[4];
        make(words, values);
        for (int k = 0; k < 4; ++k) {
          const int64_t at = g + k * kBlocks + lane, count = where.columns - at;
          if (count <= 0) break;
          put(row + at, values[k], std::min(count, kLanes));
        }
      }
    }
  }
}

HWY_INLINE void put_floats(V v, float* y, int64_t count) {
  if (HWY_LIKELY(count == kLanes)) return store(v, y);
  store_part(v, y, count);
}

// The upper 24 bits as a float, 0 .. 2^24 - 1.
HWY_INLINE V upper_bits(VU word) {
  return hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(word)));
}

struct Identity {
  HWY_INLINE void operator()(const Words& words, VU (&values)[4]) const {
    for (int j = 0; j < 4; ++j) values[j] = words[j];
  }
};

void uniform(const RandomRows& where, float low, float high, float* y) {
  const V start = set(low), step = set((high - low) * 0x1p-24f);
  for_draws(where, Identity(), [=](int64_t at, VU word, int64_t count) HWY_ATTR {
    put_floats(hn::MulAdd(upper_bits(word), step, start), y + at, count);
  });
}

// Words 0 and 1, and 2 and 3, are the radius and the angle of two values.
struct BoxMuller {
  static HWY_INLINE void pair(VU first, VU second, VU& a, VU& b) {
    const V u = hn::Mul(hn::Add(upper_bits(first), set(1.0f)), set(0x1p-24f));
    const V radius = hn::Sqrt(hn::Mul(set(-2.0f), log_inner(u)));
    const SinCos turn = sin_cos_inner(hn::Mul(upper_bits(second), set(6.28318531f * 0x1p-24f)));
    a = hn::BitCast(du, hn::Mul(radius, turn.cos));
    b = hn::BitCast(du, hn::Mul(radius, turn.sin));
  }
  HWY_INLINE void operator()(const Words& words, VU (&values)[4]) const {
    pair(words[0], words[1], values[0], values[1]);
    pair(words[2], words[3], values[2], values[3]);
  }
};

void normal(const RandomRows& where, float mean, float deviation, float* y) {
  const V centre = set(mean), scale = set(deviation);
  for_draws(where, BoxMuller(), [=](int64_t at, VU value, int64_t count) HWY_ATTR {
    put_floats(hn::MulAdd(hn::BitCast(d, value), scale, centre), y + at, count);
  });
}

// The inverse of the distribution between -2 and 2: sqrt(2) * erfinv(z) for z uniform within
// erf(sqrt(2)); erfinv(z) / z is a polynomial of -log(1 - z^2), fitted on that range.
HWY_INLINE V truncated(VU word) {
  constexpr float kP[] = {0.886226921f,     0.232013887f,    0.0115474423f,    -0.00232890311f,
                          -0.000137867549f, 5.48769508e-05f, -1.61188896e-06f, -3.51971026e-07f};
  const V unit = hn::MulAdd(upper_bits(word), set(0x1p-23f), set(0x1p-24f - 1.0f));
  const V z = hn::Mul(unit, set(0.954499736f));
  const V w = hn::Neg(log_inner(hn::NegMulAdd(z, z, set(1.0f))));
  const V x = hn::Mul(hn::Mul(z, polynomial(w, kP)), set(1.41421356f));
  return least(greatest(x, set(-2.0f)), set(2.0f));
}

void truncated_normal(const RandomRows& where, float mean, float deviation, float* y) {
  const V centre = set(mean), scale = set(deviation);
  for_draws(where, Identity(), [=](int64_t at, VU word, int64_t count) HWY_ATTR {
    put_floats(hn::MulAdd(truncated(word), scale, centre), y + at, count);
  });
}

// Which elements go, and what the others are multiplied with.
struct Drop : DropRate {
  using DropRate::DropRate;

  // An element whose 16 bits are below the threshold is dropped.
  template <class F, class Bits>
  HWY_INLINE hn::Vec<F> kept(F f, Bits bits, hn::Vec<F> x) const {
    const hn::RebindToSigned<F> i;
    const auto drops = hn::Lt(hn::BitCast(i, bits), hn::Set(i, threshold));
    return hn::IfThenZeroElse(hn::RebindMask(f, drops), hn::Mul(x, hn::Set(f, scale)));
  }
};

// Of each word one half: 0 is the lower one.
template <class W>
HWY_INLINE hn::Vec<W> half_words(W w, hn::Vec<W> words, int half) {
  return half ? hn::ShiftRight<16>(words) : hn::And(words, hn::Set(w, 0xffffu));
}

// Draws for the elements [g, g + 64) of a row, or for the `left` that it still has.
template <class W, class Put>
HWY_INLINE void draw_group(W w, const Generator<W>& generator, int64_t g, int64_t left,
                           const Put& put) {
  constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(W()));
  for (int64_t lane = 0; lane < std::min(kDropBlocks, left); lane += kWidth) {
    typename Generator<W>::Words words;
    generator.draw(static_cast<uint32_t>(g / 8 + lane), words);
    for (int h = 0; h < 8; ++h) {
      const int64_t at = h * kDropBlocks + lane;
      if (at >= left) break;
      put(hn::RebindToFloat<W>(), g + at, half_words(w, words[h / 2], h % 2),
          std::min(kWidth, left - at));
    }
  }
}

#if HWY_MAX_BYTES == 64
// Draws for the elements [g, g + 128): the blocks of two groups stand side by side.
template <class Put>
HWY_INLINE void draw_two_groups(const Generator<DU>& generator, int64_t g, const Put& put) {
  static_assert(kLanes == 2 * kDropBlocks);
  Words words;
  generator.draw(static_cast<uint32_t>(g / 8), words);
  for (int j = 0; j < 4; ++j) {
    const VU low = half_words(du, words[j], 0), high = half_words(du, words[j], 1);
    const int64_t at = g + j * kLanes;
    put(d, at, hn::ConcatLowerLower(du, high, low), kLanes);
    put(d, at + 8 * kDropBlocks, hn::ConcatUpperUpper(du, high, low), kLanes);
  }
}
#endif

// Calls put(tag, offset, bits, count) for all elements, with a vector of 16 bits each, of which the
// first `count` matter.
template <class Put>
HWY_INLINE void for_halves(const RandomRows& where, const Put& put) {
  using W = hn::CappedTag<uint32_t, kDropBlocks>;
  constexpr int64_t kGroup = 8 * kDropBlocks;
  Generator<W> generator(where.key);
#if HWY_MAX_BYTES == 64
  Generator<DU> wide(where.key);
#endif
  for (int64_t r = 0; r < where.rows; ++r) {
    const uint64_t position = where.position + static_cast<uint64_t>(r);
    const auto put_in_row =
        [&, row = r * where.columns](auto f, int64_t at, auto bits, int64_t count)
            HWY_ATTR { put(f, row + at, bits, count); };
    int64_t g = 0;
#if HWY_MAX_BYTES == 64
    wide.begin_row(position);
    for (; where.columns - g >= 2 * kGroup; g += 2 * kGroup) draw_two_groups(wide, g, put_in_row);
#endif
    generator.begin_row(position);
    for (; g < where.columns; g += kGroup)
      draw_group(W(), generator, g, where.columns - g, put_in_row);
  }
}

// The first `count` floats of a vector that has room for all.
template <class F>
HWY_INLINE hn::Vec<F> load_first(F f, const float* x, int64_t count) {
  constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(F()));
  if (HWY_LIKELY(count == kWidth)) return hn::LoadU(f, x);
  HWY_ALIGN float part[kWidth] = {};
  std::copy_n(x, count, part);
  return hn::Load(f, part);
}
template <class F>
HWY_INLINE void store_first(F f, hn::Vec<F> v, int64_t count, float* y) {
  constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(F()));
  if (HWY_LIKELY(count == kWidth)) return hn::StoreU(v, f, y);
  HWY_ALIGN float part[kWidth];
  hn::Store(v, f, part);
  std::copy_n(part, count, y);
}

void drop(const RandomRows& where, float rate, const float* x, float* y) {
  const Drop drop(rate);
  for_halves(where, [=](auto f, int64_t at, auto bits, int64_t count) HWY_ATTR {
    store_first(f, drop.kept(f, bits, load_first(f, x + at, count)), count, y + at);
  });
}

void drop_factors(const RandomRows& where, float rate, float* y) {
  const Drop drop(rate);
  for_halves(where, [=](auto f, int64_t at, auto bits, int64_t count) HWY_ATTR {
    store_first(f, drop.kept(f, bits, hn::Set(f, 1.0f)), count, y + at);
  });
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(uniform);
HWY_EXPORT(normal);
HWY_EXPORT(truncated_normal);
HWY_EXPORT(drop);
HWY_EXPORT(drop_factors);

void random_uniform(const RandomRows& where, float low, float high, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(uniform)(where, low, high, y);
}

void random_normal(const RandomRows& where, float mean, float deviation, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(normal)(where, mean, deviation, y);
}

void random_truncated_normal(const RandomRows& where, float mean, float deviation,
                             float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(truncated_normal)(where, mean, deviation, y);
}

void dropout(const RandomRows& where, float rate, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(drop)(where, rate, x, y);
}

void dropout_mask(const RandomRows& where, float rate, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(drop_factors)(where, rate, y);
}

}  // namespace snug::kernels
#endif
