#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace snug {

// Mean and population variance of each channel of rows that come in chunks, in double precision.
class ChannelStatistics {
 public:
  ChannelStatistics() = default;
  // channel_of[i] is the channel of a row's element i.
  ChannelStatistics(std::vector<int32_t> channel_of, int64_t channels);

  // Whole rows.
  void add(std::span<const float> rows);

  int64_t row_elements() const { return static_cast<int64_t>(channel_of_.size()); }
  double count() const { return count_; }  // Elements of each channel.
  double mean(int64_t channel) const { return mean_[channel]; }
  double variance(int64_t channel) const { return count_ > 0 ? squares_[channel] / count_ : 0; }

 private:
  std::vector<int32_t> channel_of_;
  double count_ = 0;
  std::vector<double> mean_, squares_;  // Squares: of the distances from the mean.
};

}  // namespace snug
