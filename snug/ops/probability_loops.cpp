#include "snug/ops/probability_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "snug/kernels/unary.h"

namespace snug::ops {
namespace {

constexpr float kLow = 1e-7f, kHigh = 1.0f - 1e-7f;

// Comparisons with NaN are false, so it passes both.
float clipped(float p) { return p < kLow ? kLow : p > kHigh ? kHigh : p; }
bool inside(float p) { return !(p < kLow || p > kHigh); }

bool is_class(int32_t label, int64_t columns) { return label >= 0 && label < columns; }

double sum(const float* p, int64_t columns) {
  double total = 0;
  for (int64_t j = 0; j < columns; ++j) total += p[j];
  return total;
}

double clipped_sum(const float* p, int64_t columns) {
  double total = 0;
  for (int64_t j = 0; j < columns; ++j) total += clipped(p[j]);
  return total;
}

// Calls body(first, count) for stretches whose logarithms fit a small buffer.
constexpr int64_t kStretch = 256;
template <typename Body>
void in_stretches(int64_t n, const Body& body) {
  for (int64_t first = 0; first < n; first += kStretch) body(first, std::min(kStretch, n - first));
}

}  // namespace

void sparse_loss(const float* p, const int32_t* labels, float* loss, int64_t rows,
                 int64_t columns) noexcept {
  for (int64_t r = 0; r < rows; ++r, p += columns) {
    if (!is_class(labels[r], columns)) {
      loss[r] = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    const double own = clipped(p[labels[r]]);
    loss[r] = static_cast<float>(std::log1p((clipped_sum(p, columns) - own) / own));
  }
}

void sparse_loss_gradient(const float* p, const int32_t* labels, const float* dloss, float* dp,
                          int64_t rows, int64_t columns) noexcept {
  for (int64_t r = 0; r < rows; ++r, p += columns, dp += columns) {
    if (!is_class(labels[r], columns)) {
      std::fill_n(dp, columns, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const double of_sum = dloss[r] / clipped_sum(p, columns);
    const float own = p[labels[r]];
    const auto each = static_cast<float>(of_sum);
    for (int64_t j = 0; j < columns; ++j) dp[j] = inside(p[j]) ? each : 0;
    if (inside(own))
      dp[labels[r]] = static_cast<float>(of_sum - static_cast<double>(dloss[r]) / own);
  }
}

void dense_loss(const float* p, const float* targets, float* loss, int64_t rows,
                int64_t columns) noexcept {
  const kernels::UnaryFunction log = kernels::unary_function(kernels::Unary::log);
  for (int64_t r = 0; r < rows; ++r, p += columns, targets += columns) {
    const auto total = static_cast<float>(sum(p, columns));
    double result = 0;
    in_stretches(columns, [&](int64_t first, int64_t count) {
      float logs[kStretch] = {};
      for (int64_t j = 0; j < count; ++j) logs[j] = clipped(p[first + j] / total);
      log(logs, logs, count, nullptr);
      for (int64_t j = 0; j < count; ++j)
        result -= static_cast<double>(targets[first + j]) * logs[j];
    });
    loss[r] = static_cast<float>(result);
  }
}

// With q = p / S and g = -t / q where q is not clipped: dp = (g - sum(g * q)) / S.
void dense_loss_gradient(const float* p, const float* targets, const float* dloss, float* dp,
                         int64_t rows, int64_t columns) noexcept {
  for (int64_t r = 0; r < rows; ++r, p += columns, targets += columns, dp += columns) {
    const auto total = static_cast<float>(sum(p, columns));
    double passed = 0;
    for (int64_t j = 0; j < columns; ++j) passed += inside(p[j] / total) ? targets[j] : 0.0f;
    const float scale = dloss[r] / total, all = scale * static_cast<float>(passed);
    for (int64_t j = 0; j < columns; ++j) {
      const float q = p[j] / total;
      dp[j] = all - (inside(q) ? scale * targets[j] / q : 0.0f);
    }
  }
}

void dense_loss_target_gradient(const float* p, const float* dloss, float* dtargets, int64_t rows,
                                int64_t columns) noexcept {
  const kernels::UnaryFunction log = kernels::unary_function(kernels::Unary::log);
  for (int64_t r = 0; r < rows; ++r, p += columns, dtargets += columns) {
    const auto total = static_cast<float>(sum(p, columns));
    for (int64_t j = 0; j < columns; ++j) dtargets[j] = clipped(p[j] / total);
    log(dtargets, dtargets, columns, nullptr);
    for (int64_t j = 0; j < columns; ++j) dtargets[j] *= -dloss[r];
  }
}

void binary_loss(const float* p, const float* targets, float* loss, int64_t n) noexcept {
  const kernels::UnaryFunction log = kernels::unary_function(kernels::Unary::log);
  in_stretches(n, [&](int64_t first, int64_t count) {
    float yes[kStretch] = {}, no[kStretch] = {};
    for (int64_t i = 0; i < count; ++i) {
      yes[i] = clipped(p[first + i]);
      no[i] = 1 - yes[i];
    }
    log(yes, yes, count, nullptr);
    log(no, no, count, nullptr);
    for (int64_t i = 0; i < count; ++i) {
      const float t = targets[first + i];
      loss[first + i] = -(t * yes[i] + (1 - t) * no[i]);
    }
  });
}

void binary_loss_gradient(const float* p, const float* targets, const float* dloss, float* dp,
                          int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    const float slope = (1 - targets[i]) / (1 - p[i]) - targets[i] / p[i];
    dp[i] = inside(p[i]) ? dloss[i] * slope : 0;
  }
}

void binary_loss_target_gradient(const float* p, const float* dloss, float* dtargets,
                                 int64_t n) noexcept {
  const kernels::UnaryFunction log = kernels::unary_function(kernels::Unary::log);
  in_stretches(n, [&](int64_t first, int64_t count) {
    float yes[kStretch] = {}, no[kStretch] = {};
    for (int64_t i = 0; i < count; ++i) {
      yes[i] = clipped(p[first + i]);
      no[i] = 1 - yes[i];
    }
    log(yes, yes, count, nullptr);
    log(no, no, count, nullptr);
    for (int64_t i = 0; i < count; ++i) dtargets[first + i] = dloss[first + i] * (no[i] - yes[i]);
  });
}

}  // namespace snug::ops
