#include "snug/data/data_print.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "snug/base/checksum.h"
#include "snug/base/error.h"

namespace snug {
namespace {

constexpr int64_t kMostRows = 32, kFewRows = 8;
constexpr size_t kMostBytes = size_t{4} << 20;
constexpr std::chrono::seconds kLongest{1};
using Clock = std::chrono::steady_clock;

std::vector<double> chosen_rows(const DataPrintOptions& options) {
  size_t bytes = 1;
  for (const Type& slot : options.slots) bytes += slot.bytes();
  const int64_t some = std::min(
      options.count, std::clamp(static_cast<int64_t>(kMostBytes / bytes), kFewRows, kMostRows));
  std::vector<double> rows;
  const int64_t gaps = std::max<int64_t>(1, some - 1), last = options.count - 1;
  for (int64_t i = 0; i < some; ++i)
    rows.push_back(static_cast<double>(options.first + last / gaps * i + last % gaps * i / gaps));
  return rows;
}

double sum_of(const void* memory, size_t bytes) {
  const uint64_t sum = checksum({static_cast<const std::byte*>(memory), bytes});
  return static_cast<double>(sum >> 12);  // Exact.
}

double field_sum(Source& source, int field, int64_t row, const DataPrintOptions& options) {
  const Type& slot = options.slots[static_cast<size_t>(field)];
  const size_t bytes = slot.bytes();
  if (bytes == 0) return DataPrint::kUnknown;
  Shape shape{1};
  for (const Extent extent : slot.shape.extents()) shape.push_back(extent);
  try {
    if (bytes > options.memory.size()) {
      const void* lent = source.borrow(field, row, 1, slot.dtype);
      return lent == nullptr ? DataPrint::kUnknown : sum_of(lent, bytes);
    }
    source.read(field, {&row, 1}, {{slot.dtype, shape}, options.memory.data()});
  } catch (const std::exception&) {
    return DataPrint::kUnknown;  // It is named when its turn comes, and may be mended.
  }
  return sum_of(options.memory.data(), bytes);
}

// Of a row that a function draws anew each time nothing is known.
double lasting_sum(Source& source, int field, int64_t row, const DataPrintOptions& options) {
  const double sum = field_sum(source, field, row, options);
  const bool lasts = !options.twice || field_sum(source, field, row, options) == sum;
  return lasts ? sum : DataPrint::kUnknown;
}

bool differ(double before, double now) {
  return before != DataPrint::kUnknown && now != DataPrint::kUnknown && before != now;
}

}  // namespace

DataPrint data_print_of(Source& source, const DataPrintOptions& options) {
  SNUG_CHECK(options.slots.size() == source.fields().size());
  if (source.access() != Access::random) return {};
  try {
    source.begin_pass(0);
  } catch (const std::exception&) {
    return {};  // Training says what is wrong.
  }
  const auto end = Clock::now() + kLongest;
  DataPrint print{.rows = chosen_rows(options), .sums = {}};
  for (const double row : print.rows) {
    const bool in_time = Clock::now() < end;
    for (int field = 0; field < std::ssize(options.slots); ++field) {
      print.sums.push_back(in_time ? lasting_sum(source, field, static_cast<int64_t>(row), options)
                                   : DataPrint::kUnknown);
    }
  }
  return print;
}

std::string change_between(const DataPrint& before, const DataPrint& now, Source& source) {
  if (before.rows.empty() || now.rows.empty()) return "";
  if (before.rows != now.rows)
    return fmt::format("it has rows {} to {}, and had {} to {}", now.rows.front(), now.rows.back(),
                       before.rows.front(), before.rows.back());
  if (before.sums.size() != now.sums.size()) return "it has other fields";
  const size_t fields = source.fields().size();
  std::string first;
  int64_t changed = 0;
  for (size_t row = 0; row < now.rows.size(); ++row) {
    for (size_t field = 0; field < fields; ++field) {
      const size_t at = row * fields + field;
      if (!differ(before.sums[at], now.sums[at])) continue;
      if (changed++ == 0)
        first = source.place(static_cast<int>(field), static_cast<int64_t>(now.rows[row]));
      break;
    }
  }
  if (changed == 0) return "";
  std::string text = first + " has other numbers";
  if (changed > 1) text += fmt::format(", and so have {} more", changed - 1);
  return text + fmt::format(" (of the {} rows that are compared)", now.rows.size());
}

}  // namespace snug
