#include "snug/data/source_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "snug/base/error.h"
#include "snug/data/checked.h"
#include "snug/data/class_sides.h"

namespace snug {
namespace {

constexpr size_t kMostClasses = 1000;
constexpr int64_t kMostCompared = 100;

bool is_whole(StoredType type) {
  return type != StoredType::float16 && type != StoredType::float32 && type != StoredType::float64;
}

// Figures of one field, block by block.
class FieldScan {
 public:
  // A field that is `alone` may be the targets, whatever it was opened as.
  FieldScan(const Field& field, double tail, int64_t head_rows, bool alone)
      : report_{.field = field},
        head_rows_(head_rows),
        compares_(tail > 0 && is_whole(field.stored)) {
    const bool is_target = field.role == FieldRole::target || alone;
    if (field.row.size() == 1 && is_target) classes_.emplace(tail);
  }

  void add(int64_t first, std::span<const float> values) {
    for (const float value : values) {
      report_.min = std::min<double>(report_.min, value);
      report_.max = std::max<double>(report_.max, value);
      report_.sum += value;
    }
    report_.numbers += std::ssize(values);
    for (size_t i = 0; classes_ && i < values.size(); ++i) {
      classes_->add(fmt::format("{}", values[i]), first + static_cast<int64_t>(i) >= head_rows_);
      if (classes_->size() > kMostClasses || values[i] != std::floor(values[i])) classes_.reset();
    }
  }

  FieldReport finish(std::vector<std::string>& wrong) {
    // Values that hardly come twice are no classes.
    const auto classes = static_cast<int64_t>(classes_ ? classes_->size() : 0);
    if (classes == 0 || 2 * classes > report_.numbers) return std::move(report_);
    report_.classes = classes_->totals();
    if (compares_ && classes <= kMostCompared)
      std::ranges::move(classes_->problems(), std::back_inserter(wrong));
    return std::move(report_);
  }

 private:
  FieldReport report_;
  int64_t head_rows_;
  bool compares_;
  std::optional<ClassSides> classes_;
};

}  // namespace

SourceReport report_on(Source& source, const SourceReportOptions& options) {
  SNUG_CHECK(source.access() == Access::random);
  SourceReport report{.rows = *source.rows()};
  if (report.rows == 0) {
    report.wrong.emplace_back("there are no rows");
    return report;
  }
  const auto head = static_cast<int64_t>(static_cast<double>(report.rows) * (1 - options.tail));
  std::vector<FieldScan> scans;
  for (const Field& field : source.fields())
    scans.emplace_back(field, options.tail, head, source.fields().size() == 1);
  const auto add_bad = [&](int64_t, const BadRow& row) {
    if (report.bad_rows++ < static_cast<int64_t>(options.most_listed)) report.listed.push_back(row);
  };
  data::visit_rows(source, {}, {.bad = add_bad, .good = [&](int field, int64_t first, auto values) {
                                  scans[static_cast<size_t>(field)].add(first, values);
                                }});
  for (FieldScan& scan : scans) report.fields.push_back(scan.finish(report.wrong));
  return report;
}

}  // namespace snug
