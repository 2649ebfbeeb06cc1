#include "snug/data/csv_scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_set>
#include <utility>

#include "snug/data/csv_block.h"
#include "snug/data/csv_cell.h"
#include "snug/data/csv_cells.h"
#include "snug/data/value_room.h"

namespace snug {
namespace {

// Sums of the numbers of a block's columns.
struct BlockSums {
  explicit BlockSums(size_t columns)
      : origin(columns),
        count(columns),
        whole(columns),
        sum(columns),
        squares(columns),
        min(columns),
        max(columns) {}

  void restart() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::ranges::fill(origin, std::numeric_limits<double>::quiet_NaN());
    for (std::vector<double>* zeros : {&count, &whole, &sum, &squares})
      std::ranges::fill(*zeros, 0.0);
    std::ranges::fill(min, kInfinity);
    std::ranges::fill(max, -kInfinity);
    without_origin = true;
  }

  void add(std::span<const double> values) {
    const size_t columns = origin.size(), rows = values.size() / columns;
    if (without_origin) find_origins(values);
    kernels::add_columns(values.data(), rows, columns,
                         {origin.data(), count.data(), whole.data(), sum.data(), squares.data(),
                          min.data(), max.data()});
  }

  std::vector<double> origin, count, whole, sum, squares, min, max;
  bool without_origin = true;  // Some column has shown no number yet.

 private:
  // The first number of each column.
  void find_origins(std::span<const double> values) {
    without_origin = false;
    for (size_t i = 0; i < origin.size(); ++i) {
      for (size_t at = i; std::isnan(origin[i]) && at < values.size(); at += origin.size())
        origin[i] = values[at];
      without_origin |= std::isnan(origin[i]);
    }
  }
};

// What was found in a block.
struct SlotScan {
  TableScan found;
  std::vector<TableNumbers::Piece> numbers;
  bool all_numbers = false;
};

// Memory for numbers that come a few thousand at a time, in chunks that grow: huge pages where
// there are many, since for so much memory its page faults take as long as parsing.
class NumberMemory {
 public:
  std::span<double> next(size_t count) {
    const size_t bytes = count * sizeof(double);
    if (chunks_.empty() || chunks_.back().bytes() - used_ < bytes) {
      chunk_bytes_ = std::clamp(2 * chunk_bytes_, kLeast, kMost);
      chunks_.emplace_back(std::max(chunk_bytes_, bytes));
      used_ = 0;
    }
    auto* at = reinterpret_cast<double*>(chunks_.back().data() + used_);
    used_ += bytes;
    return {at, count};
  }
  std::vector<Arena>& chunks() { return chunks_; }

 private:
  static constexpr size_t kLeast = size_t{128} << 10, kMost = size_t{8} << 20;
  std::vector<Arena> chunks_;
  size_t chunk_bytes_ = 0, used_ = 0;
};

// What of the numbers all lanes together may keep. They ask before they parse: a round of blocks
// has many times as many.
class NumberRoom {
 public:
  explicit NumberRoom(size_t bytes) : left_(static_cast<int64_t>(bytes)) {}

  // Once there was none, there is none any more: a table is kept whole or not at all.
  bool take(size_t bytes) {
    const auto wanted = static_cast<int64_t>(bytes);
    return left_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted;
  }

 private:
  std::atomic<int64_t> left_;
};

// What one thread needs to look at blocks, and the values that it has seen in all of them.
class LaneScan {
 public:
  LaneScan(const std::vector<size_t>& value_rooms, NumberRoom& room)
      : values_(value_rooms.begin(), value_rooms.end()),
        value_rooms_(value_rooms),
        room_(room),
        cells_(value_rooms.size()),
        sums_(value_rooms.size()) {}

  void scan(CsvBlock& block, bool keep, SlotScan& slot) {
    slot_ = &slot;
    for (ColumnScan& column : slot.found.columns) column.restart();
    slot.found.records = 0;
    slot.found.longest_record = 0;
    slot.numbers.clear();
    keep_ = slot.all_numbers = keep && CsvCells::can_read(block);
    if (CsvCells::can_read(block)) return scan_cells(block);
    if (block.plain) block.find_records();
    for (const CsvBlock::Record& record : block.records) add(block, record);
  }
  const Vocabulary& values(size_t column) const { return values_[column]; }
  std::vector<Arena>& number_memory() { return numbers_.chunks(); }

 private:
  void scan_cells(const CsvBlock& block) {
    sums_.restart();
    for (cells_.begin(block); cells_.next();) {
      if (cells_.rows() == 0) {
        add(block, cells_.odd_record());
        keep_ = false;
      } else {
        add_rows(block.file);
      }
    }
    for (size_t i = 0; i < slot_->found.columns.size(); ++i) {
      slot_->found.columns[i].add_sums({.numbers = static_cast<int64_t>(sums_.count[i]),
                                        .whole = static_cast<int64_t>(sums_.whole[i]),
                                        .origin = sums_.origin[i],
                                        .sum = sums_.sum[i],
                                        .squares = sums_.squares[i],
                                        .min = sums_.min[i],
                                        .max = sums_.max[i]});
    }
    slot_->all_numbers = keep_;
  }

  void add_rows(int file) {
    std::vector<ColumnScan>& columns = slot_->found.columns;
    for (size_t row = 0; row < cells_.rows(); ++row) count(cells_.record(row), cells_.line(row));
    const size_t cells = cells_.rows() * columns.size();
    keep_ = keep_ && room_.take(cells * sizeof(double) + sizeof(TableNumbers::Piece));
    if (keep_) {
      cells_.parse(numbers_.next(cells));
    } else {
      cells_.parse();
    }
    if (cells_.has_others()) add_others();
    for (size_t i = 0; i < columns.size(); ++i) {
      columns[i].cells += static_cast<int64_t>(cells_.rows());
      if (value_rooms_[i] > 0) add_values(i);
      if (columns[i].wants_sketch) add_to_sketch(i);
      if (!columns[i].wants_hash) continue;
      for (size_t row = 0; row < cells_.rows(); ++row)
        columns[i].add_hash(cells_.cell(row, i), cells_.line(row));
    }
    sums_.add(cells_.values());
    if (keep_) add_piece(file);
  }

  void add_to_sketch(size_t column) {
    for (size_t row = 0; row < cells_.rows(); ++row) {
      const double number = cells_.row(row)[column];
      if (!std::isnan(number)) slot_->found.columns[column].sketch.add(number);
    }
  }

  void add_piece(int file) {
    const std::span<double> kept = cells_.values();
    std::vector<TableNumbers::Piece>& pieces = slot_->numbers;
    // A blank line or a new chunk of memory begins a new piece.
    if (!pieces.empty() && next_line_ == cells_.line(0) &&
        pieces.back().values.data() + pieces.back().values.size() == kept.data()) {
      pieces.back().values = {pieces.back().values.data(),
                              pieces.back().values.size() + kept.size()};
    } else {
      pieces.push_back({.values = kept, .first_line = cells_.line(0), .file = file});
    }
    next_line_ = cells_.line(cells_.rows());
  }

  // Cells that are no plain numbers; some are numbers all the same.
  void add_others() {
    const std::span<double> values = cells_.values();
    const size_t columns = slot_->found.columns.size();
    for (size_t at = 0; at < values.size(); ++at) {
      if (!std::isnan(values[at])) continue;
      const size_t row = at / columns, column = at % columns;
      const CellKind kind = slot_->found.columns[column].add_other(cells_.cell(row, column),
                                                                   cells_.line(row), values[at]);
      if (kind != CellKind::number && kind != CellKind::missing) keep_ = false;
    }
  }

  void add_values(size_t column) {
    for (size_t row = 0; row < cells_.rows(); ++row) {
      if (values_[column].is_full() && !std::isnan(cells_.row(row)[column])) continue;
      const std::string_view cell = cells_.cell(row, column);
      if (!is_missing(cell)) values_[column].add(cell);
    }
  }

  void count(const CsvBlock::Record& record, int64_t line) {
    ++slot_->found.records;
    const size_t size = record.end - record.begin;
    if (size <= slot_->found.longest_record) return;
    slot_->found.longest_record = size;
    slot_->found.longest_record_line = line;
  }

  void add(const CsvBlock& block, const CsvBlock::Record& record) {
    const int64_t line = block.first_line + record.line;
    count(record, line);
    block.split(record, record_, unquoted_);
    if (record_.cells.size() != values_.size()) return;
    for (size_t i = 0; i < record_.cells.size(); ++i) {
      const std::string_view cell = record_.cells[i];
      slot_->found.columns[i].add(cell, line);
      if (value_rooms_[i] > 0 && !is_missing(cell)) values_[i].add(cell);
    }
  }

  std::vector<Vocabulary> values_;
  std::vector<size_t> value_rooms_;
  NumberRoom& room_;
  CsvCells cells_;
  BlockSums sums_;
  SlotScan* slot_ = nullptr;
  bool keep_ = false;
  int64_t next_line_ = 0;  // Behind the numbers that were kept last.
  NumberMemory numbers_;
  CsvRecord record_;
  std::string unquoted_;
};

// The pass itself.
class Scan {
 public:
  Scan(CsvTable& table, const TableScanOptions& options, std::span<const ValueUse> uses)
      : room_(options.most_number_bytes),
        blocks_(table, csv_threads(options.threads), slots_of(table.names().size(), options)) {
    const std::vector<size_t> rooms = value_rooms(uses);
    for (size_t i = 0; i < rooms.size(); ++i)
      whole_.columns.emplace_back(table.names()[i], rooms[i]);
    for (ColumnScan& column : whole_.columns) {
      column.wants_hash = options.hashes;
      column.wants_sketch = std::ranges::count(options.medians_of, column.name) > 0;
    }
    for (size_t i = 0; i < blocks_.lanes(); ++i) lanes_.emplace_back(rooms, room_);
    for (size_t i = 0; i < blocks_.slots(); ++i)
      slots_.emplace_back().found.columns = whole_.columns;
    if (options.most_number_bytes > 0) whole_.numbers.emplace();
  }

  // One round of blocks; false at the end.
  bool next() {
    return blocks_.next(
        [&](size_t lane, size_t slot, CsvBlock& block) {
          lanes_[lane].scan(block, whole_.numbers.has_value(), slots_[slot]);
        },
        [&](size_t slot) { collect(slots_[slot]); });
  }

  TableScan finish() {
    for (LaneScan& lane : lanes_) {
      for (size_t i = 0; i < whole_.columns.size(); ++i)
        whole_.columns[i].values.merge(lane.values(i));
      if (whole_.numbers)
        std::ranges::move(lane.number_memory(), std::back_inserter(whole_.numbers->memory));
    }
    return std::move(whole_);
  }

 private:
  void collect(SlotScan& slot) {
    whole_.records += slot.found.records;
    if (slot.found.longest_record > whole_.longest_record) {
      whole_.longest_record = slot.found.longest_record;
      whole_.longest_record_line = slot.found.longest_record_line;
    }
    for (size_t i = 0; i < whole_.columns.size(); ++i)
      whole_.columns[i].merge(slot.found.columns[i]);
    if (!whole_.numbers) return;
    if (!slot.all_numbers) {
      whole_.numbers.reset();
      for (LaneScan& lane : lanes_) lane.number_memory().clear();
      return;
    }
    whole_.numbers->rows += slot.found.records;
    std::ranges::copy(slot.numbers, std::back_inserter(whole_.numbers->pieces));
  }

  // Of a thread: a slot holds something of each column, and much of one with a median.
  static size_t slots_of(size_t columns, const TableScanOptions& options) {
    constexpr size_t kMany = 4096;  // Columns of which a block holds few rows.
    const size_t most = options.medians_of.empty() ? 32 : 4;
    return std::clamp<size_t>(1024 / columns, columns > kMany ? 1 : 4, most);
  }

  NumberRoom room_;
  TableScan whole_;
  CsvBlocks blocks_;
  std::vector<LaneScan> lanes_;
  std::vector<SlotScan> slots_;
};

TableScan scan_once(CsvTable& table, const TableScanOptions& options,
                    std::span<const ValueUse> uses) {
  table.restart();
  Scan scan(table, options, uses);
  while (scan.next()) continue;
  return scan.finish();
}

// Whose values are to be counted: of those that are no numbers, judged by the first records.
std::vector<ValueUse> wanted_values(CsvTable& table, const TableScanOptions& options) {
  std::vector<ValueUse> uses(table.names().size(), ValueUse::texts);
  table.restart();
  CsvRecord record;
  TableScan first;
  for (const std::string& name : table.names()) first.columns.emplace_back(name, 0);
  for (int i = 0; i < 100 && table.next(record); ++i) {
    if (record.cells.size() != uses.size()) continue;
    for (size_t c = 0; c < uses.size(); ++c) first.columns[c].add(record.cells[c], record.line);
  }
  const std::unordered_set<std::string_view> wished(options.values_of.begin(),
                                                    options.values_of.end());
  for (size_t i = 0; i < uses.size(); ++i) {
    const std::string& name = table.names()[i];
    if (first.columns[i].is_number() && !wished.contains(name)) {
      uses[i] = options.values_of_numbers ? ValueUse::numbers : ValueUse::nothing;
    } else if (std::ranges::find(options.labels, name) != options.labels.end()) {
      uses[i] = ValueUse::label;
    }
  }
  return uses;
}

// Looks at the first rows of columns that may number the rows.
void find_different_numbers(CsvTable& table, std::vector<ColumnScan>& columns) {
  std::vector<size_t> looked_at;
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].all_different = columns[i].may_be_all_different();
    if (columns[i].all_different) looked_at.push_back(i);
  }
  if (looked_at.empty()) return;
  // In fixed memory. A number that comes again takes its column's memory to those that are left;
  // where they are still too many, too few rows were looked at to say anything of them.
  constexpr size_t kRows = 4096, kMostHeld = (size_t{8} << 20) / 40;
  std::vector<std::unordered_set<double>> seen(looked_at.size());
  size_t held = 0;
  CsvRecord record;
  table.restart();
  for (size_t row = 0; row < kRows && held <= kMostHeld && table.next(record); ++row) {
    if (record.cells.size() != columns.size()) continue;
    for (size_t i = 0; i < looked_at.size(); ++i) {
      ColumnScan& column = columns[looked_at[i]];
      if (!column.all_different) continue;
      const double number = number_of(record.cells[looked_at[i]]).value_or(0);
      column.all_different = seen[i].insert(number).second;
      ++held;
      if (!column.all_different) held -= std::exchange(seen[i], {}).size() + 1;
    }
  }
  if (held <= kMostHeld) return;
  for (const size_t i : looked_at) columns[i].all_different = false;
}

}  // namespace

TableScan scan_table(CsvTable& table, const TableScanOptions& options) {
  std::vector<ValueUse> uses = wanted_values(table, options);
  while (true) {
    TableScan found = scan_once(table, options, uses);
    bool misjudged = false;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (uses[i] != ValueUse::nothing || found.columns[i].is_number()) continue;
      uses[i] = ValueUse::texts;
      misjudged = true;
    }
    if (misjudged) continue;
    find_different_numbers(table, found.columns);
    return found;
  }
}

}  // namespace snug
