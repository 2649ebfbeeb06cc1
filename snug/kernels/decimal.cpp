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

// The positions of the bits, eight at a time: more are written than there are.
HWY_INLINE void write_positions(uint64_t bits, uint32_t base, uint32_t* to) {
  for (size_t left = static_cast<size_t>(std::popcount(bits)), done = 0; done < left; done += 8) {
    for (size_t i = 0; i < 8; ++i) {
      to[done + i] = base + static_cast<uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
    }
  }
}

CellCount find(const char* text, size_t size, char delimiter, char newline, uint32_t* ends,
               uint32_t* cells_to) {
  CellCount count;
  for (size_t at = 0; at < size; at += kWindow) {
    const uint64_t inside = size - at >= kWindow ? ~uint64_t{0} : (uint64_t{1} << (size - at)) - 1;
    uint64_t lines = marks(text + at, newline) & inside;
    const uint64_t cells = (marks(text + at, delimiter) & inside) | lines;
    write_positions(cells, static_cast<uint32_t>(at), ends + count.cells);
    for (; lines != 0; lines &= lines - 1) {
      const uint64_t up_to = lines ^ (lines - 1);
      cells_to[count.lines++] =
          static_cast<uint32_t>(count.cells) + static_cast<uint32_t>(std::popcount(cells & up_to));
    }
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

size_t parse(const char* text, size_t begin, const uint32_t* ends, size_t cells, double* values) {
  size_t others = 0;
  for (size_t i = 0; i < cells; ++i) {
    const size_t end = ends[i];
    const bool cut = text[end - 1] == '\r' && text[end] == '\n' && end > begin;
    values[i] = decimal(text + begin, text + end - (cut ? 1 : 0));
    others += values[i] != values[i] ? 1 : 0;
    begin = end + 1;
  }
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

size_t count(const char* text, size_t size, char byte) {
  size_t found = 0;
  size_t at = 0;
  for (; at + kWindow <= size; at += kWindow) {
    found += static_cast<size_t>(std::popcount(marks(text + at, byte)));
  }
  for (; at < size; ++at) found += text[at] == byte ? 1 : 0;
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

size_t count_byte(const char* text, size_t size, char byte) noexcept {
  return HWY_DYNAMIC_DISPATCH(count)(text, size, byte);
}

}  // namespace snug::kernels
#endif
