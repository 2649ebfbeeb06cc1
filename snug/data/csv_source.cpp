#include "snug/data/csv_source.h"

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/data/csv_cell.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

constexpr size_t kPieceWords = 16 << 10;

// A class has a number; other labels are what they are.
bool is_class(const Columns& columns) {
  return columns.labels.size() == 1 && columns.find(columns.labels[0])->use == ColumnUse::index;
}

Shape row_of(int64_t width) { return width == 1 ? Shape{} : Shape{width}; }

}  // namespace

CsvSource::CsvSource(std::shared_ptr<RowEncoder> encoder, std::shared_ptr<PackedRows> rows,
                     int64_t count, TableFiles files)
    : encoder_(std::move(encoder)), rows_(std::move(rows)), files_(std::move(files)) {
  const Columns& columns = encoder_->columns();
  std::vector<Field> fields = {
      {.name = files_.names[0], .role = FieldRole::input, .row = Shape{columns.input_width()}}};
  if (!columns.labels.empty()) {
    fields.push_back({.name = files_.names[0] + ": " + columns.labels[0],
                      .role = FieldRole::target,
                      .stored = is_class(columns) ? StoredType::int32 : StoredType::float32,
                      .row = row_of(encoder_->label_width())});
  }
  if (!columns.weight.empty()) {
    fields.push_back({.name = files_.names[0] + ": " + columns.weight, .role = FieldRole::weight});
  }
  int64_t widest = 1;
  for (const Field& field : fields) widest = std::max(widest, field.row.size());
  expanded_.resize(static_cast<size_t>(widest));
  packed_.resize(std::max(encoder_->words(), kPieceWords / encoder_->words() * encoder_->words()));
  set_fields(fields, std::vector<int64_t>(fields.size(), count));
}

void CsvSource::begin_pass(uint64_t pass) {
  rows_->check();
  RandomSource::begin_pass(pass);
}

SourcePtr CsvSource::twin() {
  if (!rows_->is_shared()) return nullptr;
  return std::make_shared<CsvSource>(encoder_, rows_, *rows(), files_);
}

size_t CsvSource::buffer_bytes() const {
  return rows_->buffer_bytes() + packed_.size() * 4 + expanded_.size() * 4;
}

void CsvSource::expand(int field, std::span<const uint32_t> rows, float* to) const {
  switch (fields()[field].role) {
    case FieldRole::input:
      return encoder_->expand_inputs(rows, to);
    case FieldRole::target:
      return encoder_->expand_labels(rows, to);
    case FieldRole::weight:
      return encoder_->expand_weights(rows, to);
  }
}

void CsvSource::give(int field, std::span<const uint32_t> packed, int64_t first, std::byte* to,
                     DType dtype) {
  if (dtype == DType::float32) return expand(field, packed, reinterpret_cast<float*>(to));
  const int64_t elements = fields()[field].row.size();
  const size_t words = encoder_->words();
  for (size_t at = 0; at < packed.size(); at += words, ++first) {
    expand(field, packed.subspan(at, words), expanded_.data());
    if (const auto bad = stage(expanded_.data(), StoredType::float32, elements, to, dtype)) {
      refuse(field, first, *bad, expanded_[static_cast<size_t>(*bad)], dtype);
    }
    refuse_rounded(field, first, elements);
    to += static_cast<size_t>(elements) * size_of(dtype);
  }
}

// Calls visit(row, packed) for the rows of a run, some at a time from `row` on.
template <typename Visit>
void CsvSource::each_packed(int64_t first, int64_t count, const Visit& visit) {
  const size_t words = encoder_->words();
  if (const uint32_t* held = rows_->held(first, count)) {
    return visit(first, {held, static_cast<size_t>(count) * words});
  }
  const auto piece = static_cast<int64_t>(packed_.size() / words);
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t some = std::min(piece, count - done);
    const std::span<uint32_t> rows = std::span(packed_).first(static_cast<size_t>(some) * words);
    rows_->read(first + done, rows);
    visit(first + done, rows);
  }
}

void CsvSource::read_run(int field, int64_t first, int64_t count, void* to, DType dtype) {
  const size_t row_bytes = static_cast<size_t>(fields()[field].row.size()) * size_of(dtype);
  each_packed(first, count, [&](int64_t row, std::span<const uint32_t> packed) {
    const size_t offset = static_cast<size_t>(row - first) * row_bytes;
    give(field, packed, row, static_cast<std::byte*>(to) + offset, dtype);
  });
}

void CsvSource::read_run_of_all(int64_t first, int64_t count, std::span<const Tensor> slots,
                                int64_t at) {
  each_packed(first, count, [&](int64_t row, std::span<const uint32_t> packed) {
    for (int field = 0; field < std::ssize(slots); ++field) {
      if (slots[field].data == nullptr) continue;
      give(field, packed, row, slot_row(field, slots[field], at + row - first),
           slots[field].dtype());
    }
  });
}

namespace {

// That gives a number of a row's inputs.
const Column& input_column(const Columns& columns, int64_t number) {
  std::vector<const Column*> inputs;
  for (const Column& column : columns.columns) {
    if (columns.is_input(column)) inputs.push_back(&column);
  }
  std::ranges::stable_sort(inputs, {}, &Column::position);
  size_t i = 0;
  for (; number >= inputs[i]->width(); ++i) number -= inputs[i]->width();
  return *inputs[i];
}

}  // namespace

std::string CsvSource::column_of(int field, int64_t index) const {
  const Columns& columns = encoder_->columns();
  if (fields()[field].role == FieldRole::target) return columns.labels[0];
  if (fields()[field].role == FieldRole::weight) return columns.weight;
  return input_column(columns, index).name;
}

void CsvSource::refuse(int field, int64_t row, int64_t index, float value, DType wanted) {
  if (fields()[field].role == FieldRole::input) {
    const Column& column = input_column(encoder_->columns(), index);
    if (column.is_number() && column.use != ColumnUse::as_is) {
      throw DataError(
          "{}: {} is {} after {}, but a whole number that {} holds was expected, as ids of an "
          "embedding are; ids stay what they are with columns: {{{}: as_is}}",
          place(field, row), column.name, value, name_of(column.use), name_of(wanted),
          yaml_key(column.name));
    }
  }
  throw DataError("{}: {} is {}, but a whole number that {} holds was expected; {}",
                  place(field, row), column_of(field, index), value, name_of(wanted),
                  mending(fields()[field], fmt::format("{}", value), wanted));
}

// Numbers are packed as float32, which has not every whole number from there on: it may be that of
// another row of an embedding, or of another class.
void CsvSource::refuse_rounded(int field, int64_t row, int64_t elements) {
  constexpr float kFirstDoubtful = 1 << 24;
  const auto values = std::span(expanded_).first(static_cast<size_t>(elements));
  const auto bad =
      std::ranges::find_if(values, [](float value) { return std::abs(value) >= kFirstDoubtful; });
  if (bad == values.end()) return;
  throw DataError(
      "{}: {} is about {:.0f}, but a whole number below {:.0f} was expected, since a table's "
      "numbers are kept as float32; number the ids from 0, or give them as an .npy file",
      place(field, row), column_of(field, bad - values.begin()), *bad, kFirstDoubtful);
}

std::string CsvSource::place(int /*field*/, int64_t row) {
  std::vector<uint32_t> packed(encoder_->words());
  rows_->read(row, packed);
  size_t file = files_.names.size() - 1;
  while (file > 0 && files_.first_rows[file] > row) --file;
  return fmt::format("{}: line {}", files_.names[file], packed[0]);
}

}  // namespace snug
