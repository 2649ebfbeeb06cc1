#include "snug/data/read_probe.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/dataset.h"
#include "snug/data/permutation.h"
#include "snug/data/slot_rows.h"

namespace snug {
namespace {

constexpr int64_t kMostRows = 16;
constexpr size_t kMostBytes = size_t{1} << 20;
constexpr double kMostSeconds = 0.1;

double machine_clock() {
  using std::chrono::steady_clock;
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

// Room for some rows of all fields.
class ProbeSlots {
 public:
  ProbeSlots(const Source& source, int64_t rows) {
    for (const Field& field : source.fields()) {
      const Type type{batch_dtype(field), Shape{rows, field.row.size()}};
      memory_.emplace_back(type.bytes());
      slots_.push_back({type, memory_.back().data()});
    }
  }
  std::span<const Tensor> all() const { return slots_; }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<Tensor> slots_;
};

int64_t rows_within(const Source& source) {
  size_t bytes = 1;
  for (const Field& field : source.fields())
    bytes += static_cast<size_t>(field.row.size()) * size_of(batch_dtype(field));
  return std::clamp<int64_t>(static_cast<int64_t>(kMostBytes / bytes), 1, kMostRows);
}

}  // namespace

bool ReadProbe::starves(int64_t batch_rows, double step_seconds) const {
  // Less is not worth a window of rows in memory.
  constexpr double kTimes = 4, kLeastSeconds = 1e-3;
  const double batch = static_cast<double>(batch_rows) * single;
  return batch > std::max(step_seconds, kLeastSeconds) && single > kTimes * stretch;
}

ReadProbe probe_reads(Source& source, uint64_t seed, std::function<double()> now) {
  SNUG_CHECK(source.access() == Access::random);
  if (!now) now = machine_clock;
  const int64_t rows = *source.rows(), some = std::min(rows_within(source), rows);
  const ProbeSlots memory(source, some);
  SlotRows slots(memory.all());
  const Permutation drawn(rows, seed, 0);
  ReadProbe probe;
  if (some == 0) return probe;
  const double begin = now();
  std::vector<double> taken;
  for (double last = begin; std::ssize(taken) < some && last - begin <= kMostSeconds;) {
    const int64_t row = drawn(std::ssize(taken));
    source.read_rows({&row, 1}, slots.at(0, 1));
    taken.push_back(now() - last);
    last += taken.back();
  }
  // The middle one: of a machine that is busy one or another takes long, and not for the disk.
  std::ranges::nth_element(taken, taken.begin() + std::ssize(taken) / 2);
  probe.single = taken[taken.size() / 2];
  std::vector<int64_t> numbers(static_cast<size_t>(some));
  for (int64_t stretch = 0; stretch < 2; ++stretch) {
    std::iota(numbers.begin(), numbers.end(), (rows - some) / 3 * (stretch + 1));
    const double start = now();
    source.read_rows(numbers, slots.at(0, some));
    const double taken = (now() - start) / static_cast<double>(some);
    probe.stretch = stretch == 0 ? taken : std::min(probe.stretch, taken);
  }
  return probe;
}

}  // namespace snug
