// For tests of fit: a source that writes down which rows were read, and small models.
#pragma once

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "snug/base/log.h"
#include "snug/data/arrays.h"
#include "snug/nn/dense.h"
#include "snug/train/model.h"

namespace snug::testing {

// Rows with a rule to learn: y = the sum of x, or the class by its sign.
struct Rows {
  int64_t count = 0, features = 0;
  std::vector<float> x, y;
  std::vector<int32_t> label;

  Rows(int64_t count, int64_t features, uint64_t seed = 1) : count(count), features(features) {
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < count * features; ++i)
      x.push_back(static_cast<float>(random() % 2001) / 1000 - 1);
    for (int64_t i = 0; i < count; ++i) {
      y.push_back(std::accumulate(&x[i * features], &x[i * features] + features, 0.0F));
      label.push_back(y.back() > 0 ? 1 : 0);
    }
  }

  Array inputs() const { return Array(x.data(), {count, features}); }
  Array inputs(int64_t first, int64_t rows) const {
    return Array(&x[first * features], {rows, features});
  }
  SourcePtr regression() const { return data::arrays(inputs(), Array(y)); }
  SourcePtr regression(int64_t first, int64_t rows) const {
    return data::arrays(inputs(first, rows), Array(&y[first], {rows}));
  }
  SourcePtr classes() const { return data::arrays(inputs(), Array(label)); }
};

// Passes everything on, and writes down the rows of the first field, in the order of the calls.
class RecordingSource final : public Source {
 public:
  explicit RecordingSource(SourcePtr source) : source_(std::move(source)) {}

  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return source_->rows(); }
  Access access() const override { return source_->access(); }
  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    if (field == 0 && trains_) batches.emplace_back(rows.begin(), rows.end());
    source_->read(field, rows, slot);
  }
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override {
    trains_ = true;
    if (!slots.empty() && slots[0].data != nullptr) batches.emplace_back(rows.begin(), rows.end());
    source_->read_rows(rows, slots);
  }
  // Before its first batch a pass is only looked at: see Stager::data_print().
  void begin_pass(uint64_t pass) override {
    trains_ = false;
    source_->begin_pass(pass);
  }
  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    return source_->next(count, slots);
  }
  void restart() override { source_->restart(); }

  // All rows that were read since the last call.
  std::vector<int64_t> take() {
    std::vector<int64_t> all;
    for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
    batches.clear();
    return all;
  }

  std::vector<std::vector<int64_t>> batches;

 private:
  SourcePtr source_;
  bool trains_ = false;
};

inline std::vector<int64_t> numbers(int64_t first, int64_t last) {
  std::vector<int64_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

inline Sequential small_model(int64_t features, int64_t units = 1) {
  return Sequential({Input({features}), Dense(4, "tanh"), Dense(units)});
}
inline Sequential regression_model(int64_t features, const Optimizer& optimizer = SGD()) {
  Sequential model = small_model(features);
  model.compile({.optimizer = optimizer, .loss = "mse"});
  return model;
}

// What the log got while it lives.
class LogText {
 public:
  LogText() {
    outer_ = set_log_sink([this](LogLevel level, std::string_view message) {
      (level == LogLevel::progress ? progress : messages) += message;
      if (level != LogLevel::progress) messages += '\n';
    });
  }
  ~LogText() { set_log_sink(outer_); }
  LogText(const LogText&) = delete;
  LogText& operator=(const LogText&) = delete;

  std::string progress, messages;

 private:
  LogSink outer_;
};

}  // namespace snug::testing
