#include "snug/nn/channel_statistics.h"

#include "snug/base/error.h"

namespace snug {

ChannelStatistics::ChannelStatistics(std::vector<int32_t> channel_of, int64_t channels)
    : channel_of_(std::move(channel_of)), mean_(channels), squares_(channels) {}

// The chunk's own statistics by two passes, then both together (Chan, Golub and LeVeque, 1979).
void ChannelStatistics::add(std::span<const float> rows) {
  const size_t row = channel_of_.size(), channels = mean_.size();
  SNUG_CHECK(row > 0 && rows.size() % row == 0, "{} numbers are no whole rows of {}", rows.size(),
             row);
  const double added = static_cast<double>(rows.size()) / static_cast<double>(channels);
  if (added == 0) return;
  std::vector<double> mean(channels), squares(channels);
  for (size_t i = 0; i < rows.size(); i += row) {
    for (size_t k = 0; k < row; ++k) mean[channel_of_[k]] += rows[i + k];
  }
  for (double& sum : mean) sum /= added;
  for (size_t i = 0; i < rows.size(); i += row) {
    for (size_t k = 0; k < row; ++k) {
      const double distance = rows[i + k] - mean[channel_of_[k]];
      squares[channel_of_[k]] += distance * distance;
    }
  }
  const double total = count_ + added;
  for (size_t channel = 0; channel < channels; ++channel) {
    const double distance = mean[channel] - mean_[channel];
    mean_[channel] += distance * added / total;
    squares_[channel] += squares[channel] + distance * distance * count_ * added / total;
  }
  count_ = total;
}

}  // namespace snug
