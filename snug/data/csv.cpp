#include "snug/data/csv.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/nearest_word.h"
#include "snug/base/random.h"
#include "snug/data/csv_block.h"
#include "snug/data/csv_rows.h"
#include "snug/data/csv_scan.h"
#include "snug/data/csv_source.h"
#include "snug/data/csv_table.h"

namespace snug::data {
namespace {

constexpr int64_t kRoomBytes = int64_t{256} << 20;  // What is left free on the cache's disk.

// The disk of the cache is full: rows are parsed when they are read.
struct NoRoom {};

// Goes over the table once and packs its rows: into memory, then into a file where they are many.
class Packing {
 public:
  Packing(const CsvOptions& options, FileSystem& files, CsvTable& table, RowEncoder& encoder)
      : options_(options),
        files_(files),
        table_(table),
        encoder_(encoder),
        bad_(files, options.bad_rows),
        row_(encoder.words()),
        blocks_(table, csv_threads(options.threads)),
        packed_(static_cast<size_t>(blocks_.lanes())) {}

  // Where the rows are, in the end. `path` is empty where nothing may be kept.
  std::unique_ptr<PackedRows> run(const Path& path) {
    table_.restart();
    pack_into_memory();
    if (ended_) {
      held_.shrink_to_fit();
      return std::make_unique<MemoryRows>(std::move(held_), row_.size());
    }
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
    while (pack_next()) continue;
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
                           {"first_rows", first_rows_}})
        .dump();
  }

 private:
  // The good and the bad rows of a block.
  struct Packed {
    std::vector<uint32_t> rows;     // Each with its line in front.
    std::vector<uint32_t> offsets;  // Of the good rows, in the block.
    std::vector<BadRow> bad;
    int64_t first_offset = 0, records = 0, imputed = 0;
    int file = 0;
    CsvRecord record;
    std::string unquoted;
  };

  void pack(const CsvBlock& block, Packed& into) const {
    const size_t words = encoder_.words();
    into.rows.clear();
    into.offsets.clear();
    into.bad.clear();
    into.records = std::ssize(block.records);
    into.first_offset = block.offset;
    into.file = block.file;
    into.rows.resize(block.records.size() * words);
    const bool impute = bad_.policy() == BadRowPolicy::impute;
    for (const CsvBlock::Record& record : block.records) {
      const auto row = std::span(into.rows).subspan(into.offsets.size() * words, words);
      const int64_t line = block.first_line + record.line;
      const char delimiter = block.dialect.delimiter;
      if (record.quotes || !encoder_.encode_plain(block.text_of(record), delimiter, line, row)) {
        block.split(record, into.record, into.unquoted);
        if (const auto problem = encoder_.encode(into.record, impute, row, into.imputed)) {
          into.bad.push_back(bad_row(*problem, into.record, block.file));
          continue;
        }
      }
      into.offsets.push_back(record.begin);
    }
  }

  BadRow bad_row(const RowProblem& problem, const CsvRecord& record, int file) const {
    return {.file = table_.file_name(file),
            .position = fmt::format("line {}", record.line),
            .column = problem.column < 0 ? "" : table_.names()[static_cast<size_t>(problem.column)],
            .value = problem.value,
            .problem = problem.expected,
            .record = std::string(record.text)};
  }

  // Packs the next good row to row_; false at the end.
  bool pack_next() {
    while (lane_ == filled_ || row_at_ == packed_[lane_].offsets.size()) {
      if (lane_ < filled_) {
        ++lane_;
        row_at_ = 0;
        continue;
      }
      lane_ = filled_ = row_at_ = 0;
      const auto work = [&](int lane, const CsvBlock& block) {
        pack(block, packed_[static_cast<size_t>(lane)]);
      };
      const auto collect = [&](int lane, const CsvBlock&) {
        Packed& packed = packed_[static_cast<size_t>(lane)];
        records_ += packed.records;
        imputed_ += std::exchange(packed.imputed, 0);
        for (const BadRow& row : packed.bad) bad_.add(row);
        ++filled_;
      };
      if (!blocks_.next(work, collect)) {
        ended_ = true;
        return false;
      }
    }
    const Packed& packed = packed_[lane_];
    const auto words = std::span(packed.rows).subspan(row_at_ * row_.size(), row_.size());
    std::ranges::copy(words, row_.begin());
    while (std::ssize(first_rows_) <= packed.file) first_rows_.push_back(index_.rows());
    index_.add({packed.file, packed.first_offset + packed.offsets[row_at_], words[0]});
    ++row_at_;
    return true;
  }

  void pack_into_memory() {
    const auto most = static_cast<size_t>(options_.most_in_memory) / sizeof(uint32_t);
    while (held_.size() + row_.size() <= most && pack_next()) {
      held_.insert(held_.end(), row_.begin(), row_.end());
    }
  }

  void pack_into(File& file) {
    constexpr int64_t kCheckBytes = int64_t{16} << 20;
    // What is counted grows while the rows are read, but not the columns.
    PackedWriter writer(file, row_.size(), description().size() + 64 + 24 * options_.files.size());
    writer.append(held_);
    held_ = {};
    int64_t checked = 0;
    while (pack_next()) {
      writer.append(row_);
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
  std::vector<uint32_t> row_, held_;
  SampledIndex index_;
  std::vector<int64_t> first_rows_;
  int64_t records_ = 0, imputed_ = 0;
  bool ended_ = false;
  CsvBlocks blocks_;
  std::vector<Packed> packed_;                 // Of each lane.
  size_t lane_ = 0, filled_ = 0, row_at_ = 0;  // The next row; lanes that have some.
};

// All that the packed rows depend on.
Path packed_path(const CsvOptions& options, FileSystem& files) {
  if (options.cache.empty()) return {};
  std::string key = identity_of(files, options.files);
  key += fmt::format("{}|{}|{}|{}|{}\n", static_cast<int>(options.bad_rows.policy),
                     options.bad_rows.most, options.header ? (*options.header ? 1 : 0) : 2,
                     static_cast<int>(options.delimiter), options.wishes.weight);
  for (const std::string& label : options.wishes.labels) key += label + "\n";
  for (const auto& [name, setting] : options.wishes.settings) {
    key += fmt::format("{}|{}|{}|{}|{}\n", name, setting.use ? static_cast<int>(*setting.use) : -1,
                       setting.missing ? static_cast<int>(*setting.missing) : -1,
                       setting.missing_value, setting.buckets);
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

}  // namespace

Columns columns_like(const Columns& like, const CsvTable& table) {
  Columns columns = like;
  columns.columns.clear();
  if (!like.has_header && table.names().size() != like.columns.size()) {
    throw DataError("{}: it has {} columns, but the training data has {}; give the same columns",
                    table.file_name(), table.names().size(), like.columns.size());
  }
  for (size_t i = 0; i < table.names().size(); ++i) {
    const std::string& name = like.has_header ? table.names()[i] : like.columns[i].name;
    const Column* column = like.find(name);
    columns.columns.push_back(column != nullptr ? *column : Column{.name = name});
  }
  std::vector<std::string_view> names(table.names().begin(), table.names().end());
  for (const Column& column : like.columns) {
    const bool needed = like.is_input(column);
    if (!needed || columns.find(column.name) != nullptr) continue;
    throw DataError("{}: there is no column \"{}\", which the training data has; is it \"{}\"?",
                    table.file_name(), column.name, nearest_word(column.name, names));
  }
  std::erase_if(columns.labels, [&](const auto& label) { return !columns.find(label); });
  if (!columns.find(columns.weight)) columns.weight.clear();
  return columns;
}

CsvData csv(const CsvOptions& options) {
  FileSystem& files = options.file_system != nullptr ? *options.file_system : real_files();
  CsvTable table(files, {options.files, options.header, options.delimiter});
  const Path path = packed_path(options, files);
  if (!path.empty()) files.create_directories(options.cache);
  if (std::optional<CsvData> kept = from_cache(options, files, path)) return std::move(*kept);

  Columns columns;
  if (options.like != nullptr) {
    columns = columns_like(*options.like, table);
  } else {
    const TableScan scan = scan_table(table, false, options.threads);
    if (scan.records == 0) {
      throw DataError("{}: there is a header, but no row follows it", table.paths()[0].string());
    }
    columns = choose_columns(scan.columns, options.wishes, table.paths()[0].string());
  }
  columns.has_header = table.has_header();
  columns.delimiter = table.delimiter();
  auto encoder = std::make_shared<RowEncoder>(columns);
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

}  // namespace snug::data
