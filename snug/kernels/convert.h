// Copies between element types.
#pragma once

#include <cstdint>

namespace snug::kernels {

// An IEEE half-precision number, by its bits.
struct Half {
  uint16_t bits;
};

// to[i] = float(from[i]), rounded to nearest even. A bool is 0 or 1.
void convert(const float* from, float* to, int64_t n) noexcept;
void convert(const double* from, float* to, int64_t n) noexcept;
void convert(const Half* from, float* to, int64_t n) noexcept;
void convert(const int8_t* from, float* to, int64_t n) noexcept;
void convert(const int16_t* from, float* to, int64_t n) noexcept;
void convert(const int32_t* from, float* to, int64_t n) noexcept;
void convert(const int64_t* from, float* to, int64_t n) noexcept;
void convert(const uint8_t* from, float* to, int64_t n) noexcept;
void convert(const uint16_t* from, float* to, int64_t n) noexcept;
void convert(const uint32_t* from, float* to, int64_t n) noexcept;
void convert(const uint64_t* from, float* to, int64_t n) noexcept;
void convert(const bool* from, float* to, int64_t n) noexcept;

// to[i] = from[i] cut to an integer and held within int32 (NaN becomes the least int32). Answers
// whether every element was represented exactly.
bool convert(const float* from, int32_t* to, int64_t n) noexcept;
bool convert(const int64_t* from, int32_t* to, int64_t n) noexcept;

// to[i] = double(from[i]).
void convert(const float* from, double* to, int64_t n) noexcept;

}  // namespace snug::kernels
