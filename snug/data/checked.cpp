#include "snug/data/checked.h"

#include <algorithm>
#include <array>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/ordered.h"
#include "snug/data/renumbered.h"

namespace snug::data {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr size_t kMostRows = 256;  // Of a block.
constexpr size_t kMostBadRows = size_t{1} << 20;

bool is_float(StoredType stored) {
  return stored == StoredType::float16 || stored == StoredType::float32 ||
         stored == StoredType::float64;
}

class CheckedSource final : public RenumberedSource {
 public:
  using BadNumbers = std::shared_ptr<const std::vector<int64_t>>;  // Sorted.

  CheckedSource(SourcePtr source, BadNumbers bad)
      : RenumberedSource(std::move(source)), bad_(std::move(bad)) {}

  size_t buffer_bytes() const override { return source_->buffer_bytes() + bad_->capacity() * 8; }
  SourcePtr twin() override {
    SourcePtr twin = source_->twin();
    return twin ? std::make_shared<CheckedSource>(std::move(twin), bad_) : nullptr;
  }

 protected:
  int64_t size() const override { return *source_->rows() - std::ssize(*bad_); }
  void renumber(std::span<const int64_t> rows, std::span<int64_t> numbers) const override {
    for (size_t i = 0; i < rows.size(); ++i) numbers[i] = rows[i] + bad_before(rows[i]);
  }

 private:
  // As many bad rows come before a good one, of which so many others stand before it.
  int64_t bad_before(int64_t row) const {
    size_t low = 0, high = bad_->size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if ((*bad_)[middle] - static_cast<int64_t>(middle) <= row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return static_cast<int64_t>(low);
  }

  BadNumbers bad_;
};

// Reads all rows of a source, block by block, and finds the bad ones.
class RowCheck {
 public:
  RowCheck(Source& source, const RowRules& rules, const RowVisitor& visitor)
      : source_(source), rules_(rules), visitor_(visitor) {
    size_t widest = 1;
    for (const Field& field : source.fields()) {
      widest = std::max(widest, static_cast<size_t>(field.row.size()) * sizeof(float));
    }
    block_rows_ = static_cast<int64_t>(std::clamp<size_t>(kBlockBytes / widest, 1, kMostRows));
    buffer_.resize(static_cast<size_t>(block_rows_) * widest / sizeof(float));
  }

  void run() {
    const int64_t rows = *source_.rows();
    for (int64_t first = 0; first < rows; first += block_rows_) {
      check(first, std::min(block_rows_, rows - first));
    }
  }

 private:
  // Halves a block that has bad rows until each stands alone.
  void check(int64_t first, int64_t count) {
    const std::string problem = problem_in(first, count);
    if (problem.empty()) return;
    if (count == 1) return add(first, problem);
    check(first, count / 2);
    check(first + count / 2, count - count / 2);
  }

  std::string problem_in(int64_t first, int64_t count) {
    std::array<int64_t, kMostRows> numbers{};
    for (int64_t i = 0; i < count; ++i) numbers[i] = first + i;
    const std::span<const int64_t> rows = std::span(numbers).first(count);
    try {
      for (int field = 0; field < std::ssize(source_.fields()); ++field) read(field, rows);
    } catch (const DataError& error) {
      return error.what();
    }
    if (!visitor_.good) return "";
    for (int field = 0; field < std::ssize(source_.fields()); ++field) {
      const int64_t elements = count * source_.fields()[field].row.size();
      source_.read(field, rows, {{DType::float32, Shape{elements}}, buffer_.data()});
      visitor_.good(field, first, std::span(buffer_).first(elements));
    }
    return "";
  }

  void read(int field, std::span<const int64_t> rows) {
    const Field& from = source_.fields()[field];
    const bool labels = from.role == FieldRole::target && rules_.classes;
    const std::optional<int64_t> ids = ids_below(field);
    const bool floats = is_float(from.stored);
    const DType dtype = labels || (ids && !floats) ? DType::int32 : DType::float32;
    const int64_t elements = std::ssize(rows) * from.row.size();
    source_.read(field, rows, {{dtype, Shape{elements}}, buffer_.data()});
    const std::span<const float> numbers = std::span(buffer_).first(elements);
    const std::span<const int32_t> whole(reinterpret_cast<const int32_t*>(buffer_.data()),
                                         static_cast<size_t>(elements));
    if (labels) check_labels(whole);
    if (ids && floats) check_ids(numbers, *ids);
    if (ids && !floats) check_ids(whole, *ids);
  }

  std::optional<int64_t> ids_below(int field) const {
    const bool known = field < std::ssize(rules_.ids_below);
    return known ? rules_.ids_below[static_cast<size_t>(field)] : std::nullopt;
  }

  void check_labels(std::span<const int32_t> labels) const {
    for (const int32_t label : labels) {
      if (label >= 0 && label < *rules_.classes) continue;
      throw DataError("the label is {}, but the model has {} outputs, for labels 0 to {}", label,
                      *rules_.classes, *rules_.classes - 1);
    }
  }

  template <typename T>
  void check_ids(std::span<const T> ids, int64_t below) const {
    for (const T id : ids) {
      if (id > -1 && static_cast<double>(id) < static_cast<double>(below)) continue;
      throw DataError("the id {} is none of the embedding's, which are 0 to {}", id, below - 1);
    }
  }

  void add(int64_t row, std::string problem) {
    std::string place = source_.place(0, row);
    // What the source's message begins with stands in columns of its own.
    for (int field = 0; field < std::ssize(source_.fields()); ++field) {
      const std::string start = source_.place(field, row);
      if (!problem.starts_with(start)) continue;
      place = start;
      problem.erase(0, problem.find_first_not_of(",: ", start.size()));
    }
    const size_t border = place.rfind(": ");
    const std::string file = place.substr(0, border);
    const std::string position = border == std::string::npos ? "" : place.substr(border + 2);
    if (const size_t advice = problem.find("; mend"); advice != std::string::npos) {
      problem.resize(advice);
    }
    visitor_.bad(row, {.file = file,
                       .position = position,
                       .column = "",
                       .value = "",
                       .problem = problem,
                       .record = ""});
  }

  Source& source_;
  const RowRules& rules_;
  const RowVisitor& visitor_;
  int64_t block_rows_ = 1;
  std::vector<float> buffer_;
};

}  // namespace

void visit_rows(Source& source, const RowRules& rules, const RowVisitor& visitor) {
  RowCheck(source, rules, visitor).run();
}

CheckedData checked(SourcePtr source, const CheckOptions& options) {
  if (options.bad_rows.policy == BadRowPolicy::stop) return {.source = std::move(source)};
  if (options.bad_rows.policy == BadRowPolicy::impute) {
    throw Error("on_bad_row: impute is for the columns of CSV files; give skip or quarantine");
  }
  if (source->access() != Access::random) {
    throw Error(
        "on_bad_row: rows that come in sequence cannot be checked before the run; let their maker "
        "leave out the bad ones");
  }
  source = pinned(std::move(source));
  std::vector<int64_t> bad;
  BadRows policy(options.files != nullptr ? *options.files : real_files(), options.bad_rows);
  const std::string name = source->fields()[0].name;
  visit_rows(*source, options.rules,
             {.bad =
                  [&](int64_t row, const BadRow& what) {
                    if (bad.size() == kMostBadRows) {
                      throw DataError("{}: more than {} rows are bad; mend the data", name,
                                      kMostBadRows);
                    }
                    bad.push_back(row);
                    policy.add(what);
                  },
              .good = {}});
  policy.finish(*source->rows(), name);
  const int64_t count = std::ssize(bad);
  if (count == *source->rows()) {
    throw DataError("{}: all of its {} rows are bad", source->fields()[0].name, count);
  }
  if (count > 0) {
    auto numbers = std::make_shared<const std::vector<int64_t>>(std::move(bad));
    source = std::make_shared<CheckedSource>(std::move(source), std::move(numbers));
  }
  return {.source = std::move(source), .bad_rows = count};
}

}  // namespace snug::data
