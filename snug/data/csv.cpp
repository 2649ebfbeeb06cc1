#include "snug/data/csv.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/base/random.h"
#include "snug/data/bad_row_list.h"
#include "snug/data/csv_block.h"
#include "snug/data/csv_cells.h"
#include "snug/data/csv_numbers.h"
#include "snug/data/csv_rows.h"
#include "snug/data/csv_scan.h"
#include "snug/data/csv_source.h"
#include "snug/data/csv_table.h"
#include "snug/data/swallowed_rows.h"

namespace snug::data {
namespace {

// Of what is chosen for columns and of rows in the cache: another one when they are made otherwise.
constexpr int kVersion = 2;
constexpr int64_t kRoomBytes = int64_t{256} << 20;  // What is left free on the cache's disk.

// The disk of the cache is full: rows are parsed when they are read.
struct NoRoom {};

void warn(const SwallowedRows& rows, const CsvOptions& options) {
  if (!rows.any()) return;
  log_message(LogLevel::warning, "{}", rows.text(options.files[rows.file()].string()));
}

// Goes over the table once and packs its rows: into memory, then into a file where they are many.
class Packing {
 public:
  Packing(const CsvOptions& options, FileSystem& files, CsvTable& table, RowEncoder& encoder)
      : options_(options),
        files_(files),
        table_(table),
        encoder_(encoder),
        bad_(files, options.bad_rows),
        blocks_(table, csv_threads(options.threads)),
        lanes_(blocks_.lanes(), Lane(table.names().size())),
        packed_(blocks_.slots()) {}

  // Where the rows are, in the end. `path` is empty where nothing may be kept.
  std::unique_ptr<PackedRows> run(const Path& path) {
    table_.restart();
    pack_into_memory();
    if (ended_) return held_rows();
    if (!path.empty()) {
      try {
        write_atomically(files_, path, [&](File& file) { pack_into(file); });
        return PackedFile::open(files_, path);
      } catch (const NoRoom&) {
        if (table_.is_compressed()) refuse_without_room();
      }
    } else if (table_.is_compressed()) {
      throw DataError(
          "{}: it is compressed, and its rows are more than {} when packed; give a cache folder",
          table_.file_name(), bytes_text(options_.most_in_memory));
    }
    held_ = {};
    while (next_rows()) continue;
    return std::make_unique<ParsedRows>(files_, table_options(), encoder_.columns(), index_,
                                        options_.bad_rows.policy == BadRowPolicy::impute);
  }

  void finish() { bad_.finish(records_, table_.paths()[0].string()); }

  CsvTableOptions table_options() const {
    return {
        .files = options_.files, .header = table_.has_header(), .delimiter = table_.delimiter()};
  }
  int64_t rows() const { return index_.rows(); }
  int64_t bad_rows() const { return bad_.count(); }
  int64_t imputed() const { return imputed_; }
  const std::vector<int64_t>& first_rows() const { return first_rows_; }

  std::string description() const {
    return nlohmann::json({{"columns", encoder_.columns().json()},
                           {"bad_rows", bad_.count()},
                           {"imputed", imputed_},
                           {"swallowed", swallowed_.numbers()},
                           {"first_rows", first_rows_}})
        .dump();
  }

 private:
  // The good and the bad rows of a block.
  struct Packed {
    SwallowedRows swallowed;
    std::vector<uint32_t> rows;     // Each with its line in front.
    std::vector<uint32_t> offsets;  // Of the good rows, in the block.
    BadRowList bad;
    int64_t first_offset = 0, records = 0, imputed = 0;
    int file = 0;
  };
  // What a thread needs to take blocks apart.
  struct Lane {
    explicit Lane(size_t columns) : cells(columns) {}
    CsvCells cells;
    CsvRecord record;
    std::string unquoted;
  };

  void pack(CsvBlock& block, Lane& lane, Packed& into) const {
    into.rows.clear();
    into.offsets.clear();
    into.bad.clear();
    into.swallowed = {};
    into.records = 0;
    into.first_offset = block.offset;
    into.file = block.file;
    if (!CsvCells::can_read(block)) {
      if (block.plain) block.find_records();
      for (const CsvBlock::Record& record : block.records) pack_record(block, record, lane, into);
      return;
    }
    for (lane.cells.begin(block); lane.cells.next();) {
      if (lane.cells.rows() == 0) {
        pack_record(block, lane.cells.odd_record(), lane, into);
      } else {
        pack_rows(block, lane, into);
      }
    }
  }

  // Room for more rows.
  std::span<uint32_t> more(size_t rows, Packed& into) const {
    const size_t words = encoder_.words(), used = into.offsets.size() * words;
    into.rows.resize(std::max(into.rows.size(), used + rows * words));
    return std::span(into.rows).subspan(used, rows * words);
  }

  void pack_rows(const CsvBlock& block, Lane& lane, Packed& into) const {
    CsvCells& cells = lane.cells;
    cells.parse();
    if (!cells.has_others() &&
        encoder_.encode_numbers(cells.values(), cells.line(0), more(cells.rows(), into))) {
      for (size_t row = 0; row < cells.rows(); ++row) {
        into.offsets.push_back(cells.record(row).begin);
      }
      into.records += static_cast<int64_t>(cells.rows());
      return;
    }
    for (size_t row = 0; row < cells.rows(); ++row) {
      const CsvBlock::Record record = cells.record(row);
      if (encoder_.encode_row(cells, row, more(1, into))) {
        ++into.records;
        into.offsets.push_back(record.begin);
      } else {
        pack_record(block, record, lane, into);
      }
    }
  }

  void pack_record(const CsvBlock& block, const CsvBlock::Record& record, Lane& lane,
                   Packed& into) const {
    ++into.records;
    block.split(record, lane.record, lane.unquoted);
    const SwallowedRows swallowed(lane.record, encoder_, block.dialect.delimiter);
    into.swallowed.merge(swallowed, block.file);
    const bool impute = bad_.policy() == BadRowPolicy::impute;
    if (const auto problem = encoder_.encode(lane.record, impute, more(1, into), into.imputed)) {
      into.bad.add(*problem, lane.record, bad_.policy());
      into.records += lane.record.rows() - 1;
      return;
    }
    into.offsets.push_back(record.begin);
  }

  // Packs some more rows to now_; false at the end.
  bool next_rows() {
    if (slot_ == filled_) {
      slot_ = filled_ = 0;
      const auto work = [&](size_t lane, size_t slot, CsvBlock& block) {
        pack(block, lanes_[lane], packed_[slot]);
      };
      const auto collect = [&](size_t slot) {
        Packed& packed = packed_[slot];
        records_ += packed.records;
        imputed_ += std::exchange(packed.imputed, 0);
        packed.bad.give(table_.file_name(packed.file), table_.names(), bad_);
        swallowed_.merge(packed.swallowed, packed.file);
        ++filled_;
      };
      ended_ = !blocks_.next(work, collect);
      if (ended_) warn(swallowed_, options_);
      if (ended_) return false;
    }
    const Packed& packed = packed_[slot_++];
    now_ = std::span(packed.rows).first(packed.offsets.size() * encoder_.words());
    while (std::ssize(first_rows_) <= packed.file) first_rows_.push_back(index_.rows());
    for (size_t row = 0; row < packed.offsets.size(); ++row) {
      index_.add(
          {packed.file, packed.first_offset + packed.offsets[row], now_[row * encoder_.words()]});
    }
    return true;
  }

  void pack_into_memory() {
    const auto most = static_cast<size_t>(options_.most_in_memory) / sizeof(uint32_t);
    while (next_rows() && held_.size() + now_.size() <= most) {
      held_.insert(held_.end(), now_.begin(), now_.end());
      now_ = {};
    }
  }

  std::unique_ptr<PackedRows> held_rows() const {
    auto rows = std::make_unique<MemoryRows>(index_.rows(), encoder_.words());
    std::ranges::copy(held_, rows->rows().begin());
    return rows;
  }

  void pack_into(File& file) {
    constexpr int64_t kCheckBytes = int64_t{16} << 20;
    // Numbers grow while the rows are read, and those of the files become more, but not the
    // columns.
    constexpr size_t kCounts = 2 + SwallowedRows::Numbers().size(), kMostDigits = 20;
    const size_t numbers = kCounts + options_.files.size();
    PackedWriter writer(file, encoder_.words(), description().size() + numbers * (kMostDigits + 1));
    writer.append(held_);
    writer.append(now_);
    held_ = {};
    int64_t checked = 0;
    while (next_rows()) {
      writer.append(now_);
      if (writer.bytes() - checked < kCheckBytes) continue;
      checked = writer.bytes();
      if (files_.free_bytes(options_.cache) < kRoomBytes) throw NoRoom();
    }
    finish();
    writer.finish(description());
  }

  [[noreturn]] void refuse_without_room() const {
    throw FileError(
        "{}: it is compressed, and {} has no room for its rows; unpack it with gunzip, or free "
        "some",
        table_.file_name(), options_.cache.string());
  }

  const CsvOptions& options_;
  FileSystem& files_;
  CsvTable& table_;
  RowEncoder& encoder_;
  BadRows bad_;
  SwallowedRows swallowed_;
  std::vector<uint32_t> held_;
  std::span<const uint32_t> now_;  // Rows of a slot that are neither held nor written yet.
  SampledIndex index_;
  std::vector<int64_t> first_rows_;
  int64_t records_ = 0, imputed_ = 0;
  bool ended_ = false;
  CsvBlocks blocks_;
  std::vector<Lane> lanes_;
  std::vector<Packed> packed_;    // Of each slot.
  size_t slot_ = 0, filled_ = 0;  // The next one; those that have rows.
};

// All that the packed rows depend on.
Path packed_path(const CsvOptions& options, const std::string& identity) {
  if (options.cache.empty()) return {};
  std::string key = identity;
  key += fmt::format("{}|{}|{}|{}|{}|{}\n", kVersion, static_cast<int>(options.bad_rows.policy),
                     options.bad_rows.most, options.header ? (*options.header ? 1 : 0) : 2,
                     static_cast<int>(options.delimiter), options.wishes.weight);
  if (!options.wishes.mean_for_others) key += "as it stands\n";
  for (const std::string& label : options.wishes.labels) key += label + "\n";
  for (const auto& [name, setting] : options.wishes.settings) {
    key += fmt::format("{}|{}|{}|{}|{}\n", name, setting.use ? static_cast<int>(*setting.use) : -1,
                       setting.missing ? static_cast<int>(*setting.missing) : -1,
                       setting.missing_value, setting.buckets);
    key += fmt::format("{}|{}|{}\n", setting.low, setting.high,
                       setting.unseen_is_missing.value_or(false) ? 1 : 0);
  }
  if (options.like != nullptr) key += options.like->json();
  return options.cache / fmt::format("{}-{:016x}.rows", options.files[0].filename().string(),
                                     mix_bits(hash_text(key)));
}

TableFiles table_files(const CsvOptions& options, std::vector<int64_t> first_rows, int64_t rows) {
  TableFiles files{.names = {}, .first_rows = std::move(first_rows)};
  for (const Path& path : options.files) files.names.push_back(path.string());
  files.first_rows.resize(files.names.size(), rows);
  return files;
}

// What an earlier run has left; nothing where it must be done again.
std::optional<CsvData> kept_data(const CsvOptions& options, std::unique_ptr<PackedFile> packed) {
  const nlohmann::json description = nlohmann::json::parse(packed->description());
  CsvData data{.source = nullptr,
               .columns = Columns::from_json(description.at("columns").get<std::string>()),
               .bad_rows = description.at("bad_rows"),
               .imputed = description.at("imputed")};
  // The rejected rows are to be written down again.
  if (data.bad_rows > 0 && options.bad_rows.policy == BadRowPolicy::quarantine) return std::nullopt;
  const SwallowedRows swallowed(description.at("swallowed").get<SwallowedRows::Numbers>());
  if (swallowed.file() >= options.files.size()) return std::nullopt;
  warn(swallowed, options);
  const int64_t rows = packed->rows();
  data.source =
      std::make_shared<CsvSource>(std::make_shared<RowEncoder>(data.columns), std::move(packed),
                                  rows, table_files(options, description.at("first_rows"), rows));
  return data;
}

std::optional<CsvData> from_cache(const CsvOptions& options, FileSystem& files, const Path& path) {
  if (path.empty()) return std::nullopt;
  try {
    std::unique_ptr<PackedFile> packed = PackedFile::open(files, path);
    return packed ? kept_data(options, std::move(packed)) : std::nullopt;
  } catch (const CorruptFile&) {
    return std::nullopt;  // It is made again.
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

// What the columns hold; the numbers, where there is nothing else and they are few.
Columns learned_columns(const CsvOptions& options, CsvTable& table,
                        std::optional<TableNumbers>& numbers) {
  TableScanOptions scan_options{.values_of_numbers = false,
                                .values_of = {},
                                .labels = options.wishes.labels,
                                .medians_of = {},
                                .most_number_bytes = static_cast<size_t>(options.most_in_memory),
                                .threads = options.threads};
  for (const auto& [name, setting] : options.wishes.settings) {
    if (setting.use && *setting.use >= ColumnUse::one_hot) scan_options.values_of.push_back(name);
    if (setting.missing == MissingRule::median) scan_options.medians_of.push_back(name);
  }
  check_header(table, options.wishes);
  TableScan scan = scan_table(table, scan_options);
  if (scan.records == 0) {
    throw DataError("{}: there is a header, but no row follows it; give a file with rows",
                    table.paths()[0].string());
  }
  numbers = std::move(scan.numbers);
  return choose_columns(scan.columns, options.wishes, table.paths()[0].string());
}

// Rows that need not be parsed again.
std::optional<CsvData> from_numbers(const CsvOptions& options, std::optional<TableNumbers> numbers,
                                    const std::shared_ptr<RowEncoder>& encoder) {
  if (!numbers) return std::nullopt;
  std::vector<int64_t> first_rows;
  int64_t before = 0;
  for (const TableNumbers::Piece& piece : numbers->pieces) {
    while (std::ssize(first_rows) <= piece.file) first_rows.push_back(before);
    before += std::ssize(piece.values) / std::ssize(encoder->columns().columns);
  }
  const int64_t rows = numbers->rows;
  std::unique_ptr<MemoryRows> packed =
      pack_numbers(std::move(*numbers), *encoder, csv_threads(options.threads));
  if (!packed) return std::nullopt;
  return CsvData{.source = std::make_shared<CsvSource>(encoder, std::move(packed), rows,
                                                       table_files(options, first_rows, rows)),
                 .columns = encoder->columns()};
}

}  // namespace

void check_header(const CsvTable& table, const ColumnWishes& wishes) {
  std::vector<std::string> names = wishes.labels;
  names.push_back(wishes.weight);
  for (const auto& [name, setting] : wishes.settings) names.push_back(name);
  for (const std::string& name : names) {
    const std::string reason = table.why_no_header(name);
    if (name.empty() || reason.empty() || std::ranges::count(table.names(), name) > 0) continue;
    throw Error("{}: its first line has \"{}\", but is not taken for a header: {}",
                table.paths()[0].string(), name, reason);
  }
}

namespace {

CsvData read_table(const CsvOptions& options, FileSystem& files, const std::string& identity) {
  CsvTable table(files, {options.files, header_like(files, options), options.delimiter});
  const Path path = packed_path(options, identity);
  if (!path.empty()) files.create_directories(options.cache);
  if (std::optional<CsvData> kept = from_cache(options, files, path)) return std::move(*kept);

  Columns columns;
  std::optional<TableNumbers> numbers;
  if (options.like != nullptr) {
    columns = columns_like(*options.like, table);
  } else {
    columns = learned_columns(options, table, numbers);
  }
  columns.has_header = table.has_header();
  columns.delimiter = table.delimiter();
  auto encoder = std::make_shared<RowEncoder>(columns);
  if (std::optional<CsvData> data = from_numbers(options, std::move(numbers), encoder)) {
    return std::move(*data);
  }
  Packing packing(options, files, table, *encoder);
  std::unique_ptr<PackedRows> rows = packing.run(path);
  packing.finish();
  if (packing.rows() == 0) {
    throw DataError("{}: it has no rows that can be trained on", options.files[0].string());
  }
  return {.source = std::make_shared<CsvSource>(
              encoder, std::move(rows), packing.rows(),
              table_files(options, packing.first_rows(), packing.rows())),
          .columns = encoder->columns(),
          .bad_rows = packing.bad_rows(),
          .imputed = packing.imputed()};
}

}  // namespace

CsvData csv(const CsvOptions& options) {
  if (options.files.empty()) throw Error("csv: no file was given");
  FileSystem& files = options.file_system != nullptr ? *options.file_system : real_files();
  const std::string identity = identity_of(files, options.files);
  CsvData data = read_table(options, files, identity);
  if (identity_of(files, options.files) != identity) {
    throw FileError(
        "{}: it was changed while it was read, so its rows do not belong together; leave the file "
        "alone and start again",
        options.files[0].string());
  }
  if (options.like != nullptr) return data;
  for (const std::string& doubt : data.columns.doubts)
    log_message(LogLevel::warning, "{}: {}", options.files[0].string(), doubt);
  return data;
}

}  // namespace snug::data
