// For the tests of the oneDNN wrappers only: numbers to compute with, guarded memory, comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace snug::testing {

inline std::vector<float> random_floats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

// A block of exactly `bytes`, aligned to 64, full of NaNs, with guards on both sides.
class GuardedBlock {
 public:
  explicit GuardedBlock(size_t bytes) : bytes_(bytes), storage_(bytes + 3 * kGuard, kPattern) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    offset_ = (address + kGuard + 63) / 64 * 64 - address;
    poison();
  }

  void* data() { return storage_.data() + offset_; }
  void poison() { std::memset(data(), 0xff, bytes_); }

  bool guards_hold() const {
    for (size_t i = 0; i < storage_.size(); ++i) {
      const bool inside = i >= offset_ && i < offset_ + bytes_;
      if (!inside && storage_[i] != kPattern) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 128;
  static constexpr unsigned char kPattern = 0xa5;
  size_t bytes_;
  std::vector<unsigned char> storage_;
  size_t offset_ = 0;
};

// A sum in double, with the sum of the magnitudes that bounds its rounding in float. `may_be_nan`
// when a term outside an operand, which stands for 0 times NaN, may be left out or not.
struct Sum {
  double value = 0;
  double magnitude = 0;
  bool may_be_nan = false;

  void add(double term) {
    value += term;
    magnitude += std::fabs(term);
  }
};

inline void expect_near(const std::vector<Sum>& wanted, const std::vector<float>& got,
                        const std::string& what) {
  ASSERT_EQ(wanted.size(), got.size()) << what;
  int wrong = 0;
  for (size_t i = 0; i < got.size() && wrong < 3; ++i) {
    const Sum& want = wanted[i];
    const bool fine = std::isfinite(want.value)
                          ? std::fabs(got[i] - want.value) <= 1e-6 * want.magnitude + 1e-30
                      : std::isnan(want.value) ? std::isnan(got[i])
                                               : got[i] == want.value;
    if (fine || (want.may_be_nan && std::isnan(got[i]))) continue;
    ++wrong;
    ADD_FAILURE() << what << ": element " << i << " is " << got[i] << ", not " << want.value;
  }
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace snug::testing
