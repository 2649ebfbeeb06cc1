#include "snug/kernels/decimal.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/decimal.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kWindow = 64;  // Bytes whose marks fill a 64-bit word.
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// A bit for each of the 64 bytes at `text` that is `byte`.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
HWY_INLINE uint64_t marks(const char* text, char byte) {
  uint64_t bits = 0;
  for (size_t i = 0; i < kWindow; ++i) bits |= uint64_t{text[i] == byte} << i;
  return bits;
}
#else
HWY_INLINE uint64_t marks(const char* text, char byte) {
  const hn::CappedTag<uint8_t, kWindow> du8;
  constexpr size_t kLanes = hn::MaxLanes(du8);
  const auto wanted = hn::Set(du8, static_cast<uint8_t>(byte));
  uint64_t bits = 0;
  for (size_t at = 0; at < kWindow; at += kLanes) {
    const auto bytes = hn::LoadU(du8, reinterpret_cast<const uint8_t*>(text) + at);
    std::conditional_t<kLanes == 64, uint64_t, uint32_t> part = 0;
    hn::StoreMaskBits(du8, hn::Eq(bytes, wanted), reinterpret_cast<uint8_t*>(&part));
    bits |= uint64_t{part} << at;
  }
  return bits;
}
#endif

// The positions of the bits; more are written than there are.
#if HWY_TARGET == HWY_AVX3
HWY_INLINE void write_positions(uint64_t bits, uint32_t base, uint32_t* to) {
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (uint32_t part = 0; part < kWindow; part += 16) {
    const auto some = static_cast<uint16_t>(bits >> part);
    const __m512i places =
        _mm512_add_epi32(first, _mm512_set1_epi32(static_cast<int>(base + part)));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(some, places));
    to += std::popcount(some);
  }
}
#else
HWY_INLINE void write_positions(uint64_t bits, uint32_t base, uint32_t* to) {
  for (size_t left = static_cast<size_t>(std::popcount(bits)), done = 0; done < left; done += 8) {
    for (size_t i = 0; i < 8; ++i) {
      to[done + i] = base + static_cast<uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
    }
  }
}
#endif

CellCount find(const char* text, size_t size, char delimiter, char newline, uint32_t* ends,
               uint32_t* cells_to) {
  CellCount count;
  for (size_t at = 0; at < size; at += kWindow) {
    const uint64_t inside = size - at >= kWindow ? ~uint64_t{0} : (uint64_t{1} << (size - at)) - 1;
    uint64_t lines = marks(text + at, newline) & inside;
    const uint64_t cells = (marks(text + at, delimiter) & inside) | lines;
    write_positions(cells, static_cast<uint32_t>(at), ends + count.cells);
    // Most windows of long lines have one or none, by chance: the first is written without asking.
    do {
      const uint64_t up_to = lines ^ (lines - 1);
      cells_to[count.lines] =
          static_cast<uint32_t>(count.cells) + static_cast<uint32_t>(std::popcount(cells & up_to));
      count.lines += lines != 0 ? 1 : 0;
      lines &= lines - 1;
    } while (HWY_UNLIKELY(lines != 0));
    count.cells += static_cast<size_t>(std::popcount(cells));
  }
  return count;
}

constexpr size_t kDigits = 16;  // That a vector holds.

// Not for the targets without instructions of their own.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// How bytes move over the place of a point: with n - 1 digits behind it, the lanes up to its own
// take the one before. 0: there is no point.
struct PointShuffle {
  alignas(16) uint8_t lanes[kDigits + 1][kDigits];
};
constexpr PointShuffle point_shuffle() {
  PointShuffle table{};
  for (size_t n = 0; n <= kDigits; ++n) {
    for (size_t lane = 0; lane < kDigits; ++lane) {
      const bool moves = n > 0 && lane + n <= kDigits;
      table.lanes[n][lane] = static_cast<uint8_t>(!moves ? lane : lane == 0 ? 0x80 : lane - 1);
    }
  }
  return table;
}
constexpr PointShuffle kOverPoint = point_shuffle();
// By the same n.
constexpr std::array<double, kDigits + 1> kPowers = {
    1e0, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// The digits of a vector as one number: pairs, then fours, then eights. Highway has no such
// products.
HWY_INLINE uint64_t number_of_digits(__m128i digits) {
  const __m128i tens = _mm_set1_epi16(0x010a);
  const __m128i hundreds = _mm_set1_epi32(0x00010064);
  const __m128i myriads = _mm_set1_epi32(0x00012710);
  const __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(digits, tens), hundreds);
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), myriads);
  const auto both = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
  return (both & 0xffffffff) * 100000000 + (both >> 32);
}

// Read from its middle back: as many set bytes at the end as the cell has characters.
constexpr std::array<uint8_t, 2 * kDigits> kInside = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// The number in [from, to), or NaN. Without branches: which cells are short is a matter of chance.
HWY_INLINE double decimal(const char* from, const char* to) {
  const hn::FixedTag<uint8_t, kDigits> du8;
  const uint64_t negative = *from == '-' ? 1 : 0;
  const uint64_t size = static_cast<uint64_t>(to - from) - negative;
  if (HWY_UNLIKELY(size - 1 >= kDigits)) return kNoNumber;
  const auto bytes = hn::LoadU(du8, reinterpret_cast<const uint8_t*>(to) - kDigits);
  const auto digits = hn::Sub(bytes, hn::Set(du8, uint8_t{'0'}));
  const auto is_digit = hn::Eq(hn::Min(digits, hn::Set(du8, uint8_t{9})), digits);
  const auto inside = hn::LoadU(du8, kInside.data() + size);
  const auto kept = hn::IfThenElseZero(is_digit, hn::And(digits, inside));
  uint16_t digits_found = 0, points_found = 0;
  hn::StoreMaskBits(du8, is_digit, reinterpret_cast<uint8_t*>(&digits_found));
  hn::StoreMaskBits(du8, hn::Eq(bytes, hn::Set(du8, uint8_t{'.'})),
                    reinterpret_cast<uint8_t*>(&points_found));
  // A bit for each character.
  const uint32_t others = static_cast<uint16_t>(~digits_found) >> (kDigits - size);
  const uint32_t points = points_found >> (kDigits - size);
  const auto point = static_cast<uint32_t>(std::countr_zero(points | (1u << size)));
  const uint32_t behind = static_cast<uint32_t>(size) - point;  // With the point itself.
  const auto closed = hn::TableLookupBytesOr0(kept, hn::Load(du8, kOverPoint.lanes[behind]));
  const uint64_t mantissa = number_of_digits(closed.raw);
  const double magnitude = static_cast<double>(static_cast<int64_t>(mantissa)) / kPowers[behind];
  // At most one point and nothing else, but not the point alone.
  const bool plain = (others == points) & ((others & (others - 1)) == 0) &
                     (size > (others != 0 ? 1u : 0u)) & (mantissa >> 53 == 0);
  const double value = std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) | (negative << 63));
  return plain ? value : kNoNumber;
}
#else
double decimal(const char* from, const char* to) {
  const bool negative = from < to && *from == '-';
  if (negative) ++from;
  if (to - from > static_cast<int64_t>(kDigits)) return kNoNumber;
  uint64_t mantissa = 0;
  size_t digits = 0, places = 0, points = 0;
  for (; from < to; ++from) {
    const bool point = *from == '.';
    const auto digit = static_cast<unsigned>(static_cast<unsigned char>(*from) - '0');
    if (!point && digit > 9) return kNoNumber;
    points += point ? 1 : 0;
    if (point) continue;
    mantissa = mantissa * 10 + digit;
    places += points;
    ++digits;
  }
  if (digits == 0 || points > 1 || mantissa >= (uint64_t{1} << 53)) return kNoNumber;
  double power = 1;
  for (; places > 0; --places) power *= 10;
  const double magnitude = static_cast<double>(mantissa) / power;
  return negative ? -magnitude : magnitude;
}
#endif

// Four cells at a time, where there are vectors of four times 16 bytes.
#if HWY_TARGET == HWY_AVX3
// In each of the four 16-bit groups of a word: its first bit, its last one, the others.
constexpr uint64_t kFirstBits = 0x0001000100010001, kLastBits = kFirstBits << 15;
// The last bit of each group that has one.
HWY_INLINE uint64_t groups_with_bits(uint64_t bits) {
  return (((bits & ~kLastBits) + ~kLastBits) | bits) & kLastBits;
}

struct FourCells {
  alignas(64) uint32_t lanes[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  alignas(16) uint8_t first_byte[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  alignas(16) uint8_t places[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  alignas(64) uint64_t halves[8] = {0, 2, 4, 6, 0, 2, 4, 6};
  // By the place of the point less one; the last one for none.
  alignas(64) double powers[16] = {1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7,
                                   1e6,  1e5,  1e4,  1e3,  1e2,  1e1, 1e0, 1e0};
};
constexpr FourCells kFour;

HWY_INLINE __m256i two_tails(const char* text, const uint32_t* ends) {
  const auto* first = reinterpret_cast<const __m128i*>(text + ends[0] - kDigits);
  const auto* second = reinterpret_cast<const __m128i*>(text + ends[1] - kDigits);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(first)),
                                 _mm_loadu_si128(second), 1);
}

// Their last 16 bytes, side by side.
HWY_INLINE __m512i four_tails(const char* text, const uint32_t* ends) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(two_tails(text, ends)),
                            two_tails(text, ends + 2), 1);
}

// The groups of a word as four.
HWY_INLINE __m256i four_groups(uint64_t bits) {
  return _mm256_cvtepu16_epi64(_mm_cvtsi64_si128(static_cast<int64_t>(bits)));
}

// As number_of_digits().
HWY_INLINE __m256i four_numbers(__m512i digits) {
  const __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010a)),
                                          _mm512_set1_epi32(0x00010064));
  const __m512i eights =
      _mm512_madd_epi16(_mm512_packus_epi32(fours, fours), _mm512_set1_epi32(0x00012710));
  const __m256i both =
      _mm512_castsi512_si256(_mm512_permutexvar_epi64(_mm512_load_si512(kFour.halves), eights));
  return _mm256_add_epi64(_mm256_mul_epu32(both, _mm256_set1_epi64x(100000000)),
                          _mm256_srli_epi64(both, 32));
}

// What numbers with these points are to be divided by: the exponent of a point's bit, taken for a
// number, is 1023 and its place.
HWY_INLINE __m256d four_powers(uint64_t points) {
  const __m256i places =
      _mm256_srli_epi64(_mm256_castpd_si256(_mm256_cvtepi64_pd(four_groups(points))), 52);
  return _mm512_castpd512_pd256(_mm512_permutex2var_pd(_mm512_load_pd(kFour.powers),
                                                       _mm512_castsi256_si512(places),
                                                       _mm512_load_pd(kFour.powers + 8)));
}

// What decimal() gives for the cells that end at ends[0 .. 4) and begin behind ends[-1 .. 3), where
// each is a number of at most 15 characters; else false. The bits of masks are those of characters.
HWY_INLINE bool four_decimals(const char* text, const uint32_t* ends, double* values) {
  const __m128i to = _mm_loadu_si128(reinterpret_cast<const __m128i*>(ends));
  const __m128i before = _mm_loadu_si128(reinterpret_cast<const __m128i*>(ends - 1));
  // 16 less the characters: where the first of them stands.
  const __m128i start = _mm_add_epi32(_mm_sub_epi32(before, to), _mm_set1_epi32(kDigits + 1));
  if (_mm_cmplt_epi32_mask(start, _mm_set1_epi32(1)) != 0) return false;
  const __m128i spread =
      _mm_shuffle_epi8(start, _mm_load_si128(reinterpret_cast<const __m128i*>(kFour.first_byte)));
  const __m512i starts =
      _mm512_permutexvar_epi32(_mm512_load_si512(kFour.lanes), _mm512_castsi128_si512(spread));
  const __m512i places =
      _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kFour.places)));
  const __m512i bytes = four_tails(text, ends);
  const __m512i digits = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
  const uint64_t minus = _mm512_mask_cmpeq_epi8_mask(_mm512_cmpeq_epi8_mask(places, starts), bytes,
                                                     _mm512_set1_epi8('-'));
  const uint64_t inside = _mm512_cmpge_epu8_mask(places, starts) & ~minus;
  const uint64_t found = _mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9)) & inside;
  const uint64_t points = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('.')) & inside;
  // A group without a point gets one before its first character, which moves nothing.
  const uint64_t point = points | ((groups_with_bits(points) ^ kLastBits) >> 15);
  const uint64_t below = point - kFirstBits;
  const uint64_t odd = (inside & ~found & ~points) | (point & below);
  if ((odd | (groups_with_bits(found) ^ kLastBits)) != 0) return false;
  const __m512i kept = _mm512_maskz_mov_epi8(found, digits);
  const __m512i closed = _mm512_mask_mov_epi8(kept, point ^ below, _mm512_bslli_epi128(kept, 1));
  const __m256d magnitude =
      _mm256_div_pd(_mm256_cvtepi64_pd(four_numbers(closed)), four_powers(point));
  const __m256i negative = four_groups(minus);
  _mm256_storeu_pd(values, _mm256_mask_xor_pd(magnitude, _mm256_test_epi64_mask(negative, negative),
                                              magnitude, _mm256_set1_pd(-0.0)));
  return true;
}

// The same with groups of eight bits.
constexpr uint64_t kFirstOfEight = 0x0101010101010101, kLastOfEight = kFirstOfEight << 7;
HWY_INLINE uint64_t eights_with_bits(uint64_t bits) {
  return (((bits & ~kLastOfEight) + ~kLastOfEight) | bits) & kLastOfEight;
}

struct EightCells {
  alignas(16) uint8_t first_byte[16] = {0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8};
  alignas(16) uint8_t places[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
  alignas(64) double powers[8] = {1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1e0, 1e0};  // As kFour has them.
};
constexpr EightCells kEight;

HWY_INLINE __m512i in_each_part(const uint8_t* bytes) {
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// Their last 8 bytes, side by side.
HWY_INLINE __m512i eight_tails(const char* text, const uint32_t* ends) {
  const auto tail = [&](size_t cell) {
    int64_t bytes = 0;
    std::memcpy(&bytes, text + ends[cell] - 8, 8);
    return bytes;
  };
  const auto two = [&](size_t cell) { return _mm_set_epi64x(tail(cell + 1), tail(cell)); };
  const auto four = [&](size_t cell) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(two(cell)), two(cell + 2), 1);
  };
  return _mm512_inserti64x4(_mm512_castsi256_si512(four(0)), four(4), 1);
}

// The groups of a word as eight.
HWY_INLINE __m512i eight_groups(uint64_t bits) {
  return _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<int64_t>(bits)));
}

// As four_decimals() for eight cells of at most 8 characters, the first of which is no point and,
// without a point, no digit.
HWY_INLINE bool eight_decimals(const char* text, const uint32_t* ends, double* values) {
  const __m256i to = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ends));
  const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ends - 1));
  const __m256i start = _mm256_add_epi32(_mm256_sub_epi32(before, to), _mm256_set1_epi32(8 + 1));
  if (_mm256_movepi32_mask(start) != 0) return false;
  const __m512i starts =
      _mm512_shuffle_epi8(_mm512_cvtepu32_epi64(start), in_each_part(kEight.first_byte));
  const __m512i places = in_each_part(kEight.places);
  const __m512i bytes = eight_tails(text, ends);
  const __m512i digits = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
  const uint64_t minus = _mm512_mask_cmpeq_epi8_mask(_mm512_cmpeq_epi8_mask(places, starts), bytes,
                                                     _mm512_set1_epi8('-'));
  const uint64_t inside = _mm512_cmpge_epu8_mask(places, starts) & ~minus;
  const uint64_t found = _mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9)) & inside;
  const uint64_t points = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('.')) & inside;
  const uint64_t none = (eights_with_bits(points) ^ kLastOfEight) >> 7;
  const uint64_t point = points | none, below = point - kFirstOfEight;
  const uint64_t odd =
      (inside & ~found & ~points) | (point & below) | (points & kFirstOfEight) | (none & found);
  if ((odd | (eights_with_bits(found) ^ kLastOfEight)) != 0) return false;
  const __m512i kept = _mm512_maskz_mov_epi8(found, digits);
  const __m512i closed = _mm512_mask_mov_epi8(kept, point ^ below, _mm512_slli_epi64(kept, 8));
  const __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(closed, _mm512_set1_epi16(0x010a)),
                                          _mm512_set1_epi32(0x00010064));
  const __m512i numbers = _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10000)),
                                           _mm512_srli_epi64(fours, 32));
  const __m512i exponents =
      _mm512_srli_epi64(_mm512_castpd_si512(_mm512_cvtepi64_pd(eight_groups(point))), 52);
  const __m512d powers = _mm512_permutexvar_pd(exponents, _mm512_load_pd(kEight.powers));
  const __m512d magnitude = _mm512_div_pd(_mm512_cvtepi64_pd(numbers), powers);
  const __m512i negative = eight_groups(minus);
  _mm512_storeu_pd(values, _mm512_mask_xor_pd(magnitude, _mm512_test_epi64_mask(negative, negative),
                                              magnitude, _mm512_set1_pd(-0.0)));
  return true;
}
#endif

// The cell text[begin .. end) to `value`; 1 where it is NaN.
HWY_INLINE size_t parse_one(const char* text, size_t begin, size_t end, double* value) {
  const bool cut = text[end - 1] == '\r' && text[end] == '\n' && end > begin;
  *value = decimal(text + begin, text + end - (cut ? 1 : 0));
  return *value != *value ? 1 : 0;
}

size_t parse(const char* text, size_t begin, const uint32_t* ends, size_t cells, double* values) {
  if (cells == 0) return 0;
  size_t others = parse_one(text, begin, ends[0], values), i = 1;
#if HWY_TARGET == HWY_AVX3
  while (i + 4 <= cells) {
    if (i + 8 <= cells && eight_decimals(text, ends + i, values + i)) {
      i += 8;
      continue;
    }
    if (four_decimals(text, ends + i, values + i)) {
      i += 4;
      continue;
    }
    for (const size_t stop = i + 4; i < stop; ++i)
      others += parse_one(text, size_t{ends[i - 1]} + 1, ends[i], values + i);
  }
#endif
  for (; i < cells; ++i) others += parse_one(text, size_t{ends[i - 1]} + 1, ends[i], values + i);
  return others;
}

void add(const double* values, size_t rows, size_t columns, const ColumnSums& to) {
  const hn::ScalableTag<double> dd;
  const size_t lanes = hn::Lanes(dd);
  const auto one = hn::Set(dd, 1.0);
  for (size_t first = 0; first < columns; first += lanes) {
    const size_t some = HWY_MIN(lanes, columns - first);
    const auto inside = hn::FirstN(dd, some);
    const auto origin = hn::MaskedLoad(inside, dd, to.origin + first);
    auto count = hn::MaskedLoad(inside, dd, to.count + first);
    auto whole = hn::MaskedLoad(inside, dd, to.whole + first);
    auto sum = hn::MaskedLoad(inside, dd, to.sum + first);
    auto squares = hn::MaskedLoad(inside, dd, to.squares + first);
    auto min = hn::MaskedLoad(inside, dd, to.min + first);
    auto max = hn::MaskedLoad(inside, dd, to.max + first);
    for (size_t row = 0; row < rows; ++row) {
      const auto value = hn::MaskedLoad(inside, dd, values + row * columns + first);
      const auto there = hn::Eq(value, value);
      const auto difference = hn::IfThenElseZero(there, hn::Sub(value, origin));
      count = hn::Add(count, hn::IfThenElseZero(there, one));
      whole = hn::Add(whole, hn::IfThenElseZero(hn::Eq(value, hn::Floor(value)), one));
      sum = hn::Add(sum, difference);
      squares = hn::Add(squares, hn::Mul(difference, difference));
      min = hn::IfThenElse(hn::Lt(value, min), value, min);
      max = hn::IfThenElse(hn::Gt(value, max), value, max);
    }
    hn::BlendedStore(count, inside, dd, to.count + first);
    hn::BlendedStore(whole, inside, dd, to.whole + first);
    hn::BlendedStore(sum, inside, dd, to.sum + first);
    hn::BlendedStore(squares, inside, dd, to.squares + first);
    hn::BlendedStore(min, inside, dd, to.min + first);
    hn::BlendedStore(max, inside, dd, to.max + first);
  }
}

bool scale(const double* values, size_t rows, size_t columns, const double* shift,
           const double* factor, float* to, size_t stride) {
  uint32_t odd = 0;
  for (size_t row = 0; row < rows; ++row) {
    const double* from = values + row * columns;
    float* into = to + row * stride;
    for (size_t i = 0; i < columns; ++i) {
      into[i] = static_cast<float>((from[i] - shift[i]) * factor[i]);
    }
    // Not finite: all bits of the exponent are set.
    for (size_t i = 0; i < columns; ++i) {
      odd |= (std::bit_cast<uint32_t>(into[i]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
    }
  }
  return odd == 0;
}

ByteCounts count(const char* text, size_t size, char first, char second) {
  ByteCounts found;
  size_t at = 0;
  for (; at + kWindow <= size; at += kWindow) {
    found.first += static_cast<size_t>(std::popcount(marks(text + at, first)));
    found.second += static_cast<size_t>(std::popcount(marks(text + at, second)));
  }
  for (; at < size; ++at) {
    found.first += text[at] == first ? 1 : 0;
    found.second += text[at] == second ? 1 : 0;
  }
  return found;
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(find);
HWY_EXPORT(parse);
HWY_EXPORT(add);
HWY_EXPORT(scale);
HWY_EXPORT(count);

CellCount find_cells(const char* text, size_t size, char delimiter, char newline, uint32_t* ends,
                     uint32_t* cells_to) noexcept {
  return HWY_DYNAMIC_DISPATCH(find)(text, size, delimiter, newline, ends, cells_to);
}

size_t parse_decimals(const char* text, size_t begin, const uint32_t* ends, size_t cells,
                      double* values) noexcept {
  return HWY_DYNAMIC_DISPATCH(parse)(text, begin, ends, cells, values);
}

void add_columns(const double* values, size_t rows, size_t columns, const ColumnSums& to) noexcept {
  HWY_DYNAMIC_DISPATCH(add)(values, rows, columns, to);
}

bool scale_columns(const double* values, size_t rows, size_t columns, const double* shift,
                   const double* scale, float* to, size_t stride) noexcept {
  return HWY_DYNAMIC_DISPATCH(scale)(values, rows, columns, shift, scale, to, stride);
}

ByteCounts count_bytes(const char* text, size_t size, char first, char second) noexcept {
  return HWY_DYNAMIC_DISPATCH(count)(text, size, first, second);
}

}  // namespace snug::kernels
#endif
