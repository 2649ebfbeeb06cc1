#include "snug/ops/elementwise.h"

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"

namespace snug::ops {

BroadcastReader::BroadcastReader(const Shape& operand, const Shape& result) {
  whole_ = operand.size() == result.size();
  int64_t stride = 1;
  std::vector<std::pair<int64_t, int64_t>> axes;  // Innermost first.
  for (int back = 1; back <= result.rank(); ++back) {
    const int64_t extent = result[-back];
    const int64_t own = back <= operand.rank() ? operand[-back] : 1;
    const int64_t step = own == 1 && extent != 1 ? 0 : stride;
    stride *= own;
    if (extent == 1) continue;
    // An axis that goes on where the one inside it ends is one axis with it.
    const bool joins =
        !axes.empty() &&
        (step == 0 ? axes.back().second == 0
                   : axes.back().second != 0 && step == axes.back().first * axes.back().second);
    if (joins)
      axes.back().first *= extent;
    else
      axes.emplace_back(extent, step);
  }
  if (axes.empty()) axes.emplace_back(1, 0);
  rank_ = static_cast<int>(axes.size());
  for (int i = 0; i < rank_; ++i) {
    extents_[i] = axes[rank_ - 1 - i].first;
    strides_[i] = axes[rank_ - 1 - i].second;
  }
}

void BroadcastReader::read(const float* operand, int64_t first, int64_t count,
                           float* block) const noexcept {
  int64_t index[Shape::kMaxRank];
  int64_t offset = 0;
  int64_t rest = first;
  for (int i = rank_ - 1; i >= 0; --i) {
    index[i] = rest % extents_[i];
    rest /= extents_[i];
    offset += index[i] * strides_[i];
  }
  const int last = rank_ - 1;
  while (count > 0) {
    const int64_t run = std::min(count, extents_[last] - index[last]);
    if (strides_[last] == 0)
      std::fill_n(block, run, operand[offset]);
    else
      std::memcpy(block, operand + offset, static_cast<size_t>(run) * sizeof(float));
    block += run;
    count -= run;
    offset -= index[last] * strides_[last];
    index[last] = 0;
    for (int i = last - 1; i >= 0; --i) {
      offset += strides_[i];
      if (++index[i] < extents_[i]) break;
      offset -= extents_[i] * strides_[i];
      index[i] = 0;
    }
  }
}

namespace {

class BlockKernel final : public Kernel {
 public:
  BlockKernel(const ElementwiseBlock& block, const Types& in, const Shape& result,
              const Target& target)
      : block_(block), size_(result.size()), threads_(elementwise_threads(size_, target)) {
    for (const Type& type : in) readers_.emplace_back(type.shape, result);
    broadcasts_ = !std::ranges::all_of(readers_, &BroadcastReader::is_whole);
  }

  size_t scratch_bytes() const override {
    return broadcasts_ ? threads_ * readers_.size() * kBlock * sizeof(float) : 0;
  }

  std::vector<int> overwrites(int) const override {
    std::vector<int> inputs;
    for (size_t i = 0; i < readers_.size(); ++i) {
      if (readers_[i].is_whole()) inputs.push_back(static_cast<int>(i));
    }
    return inputs;
  }

  // Without an operand to broadcast a thread's stretch is one block: the loop can look ahead.
  void run(const Run& run) const noexcept override {
    if (!broadcasts_) {
      return parallel_ranges(size_, threads_, kBlock, [&](int64_t begin, int64_t end) {
        run_block(run, begin, end - begin, nullptr);
      });
    }
    const int64_t blocks = (size_ + kBlock - 1) / kBlock;
    parallel_parts(threads_, [&](int part) {
      float* scratch = static_cast<float*>(run.scratch) + part * readers_.size() * kBlock;
      for (int64_t block = blocks * part / threads_; block < blocks * (part + 1) / threads_;
           ++block) {
        run_block(run, block * kBlock, std::min(kBlock, size_ - block * kBlock), scratch);
      }
    });
  }

 private:
  void run_block(const Run& run, int64_t first, int64_t count, float* scratch) const noexcept {
    const float* in[kMostElementwiseInputs];
    for (size_t i = 0; i < readers_.size(); ++i) {
      if (readers_[i].is_whole()) {
        in[i] = run.input(static_cast<int>(i)) + first;
      } else {
        readers_[i].read(run.input(static_cast<int>(i)), first, count, scratch + i * kBlock);
        in[i] = scratch + i * kBlock;
      }
    }
    block_.run_block(in, run.output() + first, count, {.first = first, .run = &run});
  }

  const ElementwiseBlock& block_;
  std::vector<BroadcastReader> readers_;
  int64_t size_;
  int threads_;
  bool broadcasts_ = false;
};

}  // namespace

std::unique_ptr<Kernel> elementwise_kernel(const ElementwiseBlock& block, const Types& in,
                                           const Shape& result, const Target& target) {
  const auto is_float = [](const Type& type) { return type.dtype == DType::float32; };
  if (in.size() > kMostElementwiseInputs || !std::ranges::all_of(in, is_float)) {
    throw Error("an element-wise loop over {} inputs: it reads at most {}, all of them float32",
                in.size(), kMostElementwiseInputs);
  }
  return std::make_unique<BlockKernel>(block, in, result, target);
}

Cost elementwise_cost(const Types& in, const Shape& result, double flops) {
  const auto size = static_cast<double>(result.size());
  Cost cost{.flops = flops * size, .bytes = size * sizeof(float)};
  for (const Type& type : in) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

}  // namespace snug::ops
