#include "snug/data/hdf5.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/nearest_word.h"
#include "snug/base/random.h"
#include "snug/data/array_names.h"
#include "snug/data/csv_table.h"
#include "snug/data/file_state.h"
#include "snug/data/hdf5_chunks.h"
#include "snug/data/hdf5_rows.h"
#include "snug/data/random_source.h"
#include "snug/data/row_file.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

// A damaged data file is the data's fault.
template <typename Function>
auto as_data(const Function& function) {
  try {
    return function();
  } catch (const CorruptFile& error) {
    const std::string what = error.what();
    if (what.find(';') != std::string::npos) throw DataError("{}", what);
    throw DataError("{}; copy or save it again", what);
  }
}

std::optional<StoredType> stored_type_of(const Hdf5Dataset& dataset) {
  for (int i = 0; i <= static_cast<int>(StoredType::uint64); ++i) {
    if (name_of(static_cast<StoredType>(i)) == dataset.dtype) return static_cast<StoredType>(i);
  }
  return std::nullopt;
}

// Why its rows cannot be read; empty: they can.
std::string reason_against(const Hdf5Dataset& dataset) {
  if (!dataset.not_read.empty()) return dataset.not_read + ", which is not read";
  if (dataset.shape.empty()) return "is a single number; rows are needed";
  if (dataset.shape.size() > static_cast<size_t>(Shape::kMaxRank))
    return fmt::format("has {} axes, more than {}", dataset.shape.size(), Shape::kMaxRank);
  if (std::find(dataset.shape.begin() + 1, dataset.shape.end(), 0) != dataset.shape.end())
    return "has rows without elements";
  if (!stored_type_of(dataset))
    return "holds no numbers that can be trained on; save it as float32 or int64";
  return reason_against_filters(dataset);
}

// The array of a group that has one of these names; empty where none has.
std::string guess(const Hdf5Group& root, std::span<const std::string_view> names) {
  for (const std::string_view wanted : names) {
    for (const auto& [name, dataset] : root.datasets) {
      if (same_word(name, wanted)) return name;
    }
  }
  return "";
}

// An array with its rows, and what it becomes.
struct Array {
  Field field;
  int64_t rows = 0;
  bool swapped = false;
  std::unique_ptr<File> unpacked;    // In the cache; null: it is read where it stands.
  std::optional<Hdf5Dataset> whole;  // Where it stands in one piece.
  std::unique_ptr<Hdf5Rows> bytes;
};

class Hdf5Source final : public RandomSource {
 public:
  Hdf5Source(std::unique_ptr<File> file, std::vector<Array> arrays, size_t buffer_bytes)
      : file_(std::move(file)), state_(state_of(*file_)), arrays_(std::move(arrays)) {
    std::vector<Field> fields;
    std::vector<int64_t> rows;
    for (const Array& array : arrays_) {
      fields.push_back(array.field);
      rows.push_back(array.rows);
      buffer_bytes = std::max(buffer_bytes, array.field.row_bytes());
    }
    set_fields(std::move(fields), rows);
    buffer_.resize(buffer_bytes);
  }

  size_t buffer_bytes() const override {
    size_t bytes = buffer_.size();
    for (const Array& array : arrays_) bytes += array.bytes->buffer_bytes();
    return bytes;
  }
  void begin_pass(uint64_t pass) override {
    check_unchanged(*file_, state_);
    RandomSource::begin_pass(pass);
  }

  // By row number, so that each chunk is unpacked once a batch at most.
  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    if (std::ranges::is_sorted(rows)) return RandomSource::read(field, rows, slot);
    order_.resize(rows.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::ranges::sort(order_, {}, [&](size_t i) { return rows[i]; });
    for (const size_t i : order_) {
      RandomSource::read(field, rows.subspan(i, 1), rows_of(slot, static_cast<int64_t>(i), 1));
    }
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const Array& array = arrays_[static_cast<size_t>(field)];
    const size_t row_bytes = array.field.row_bytes(), size = size_of(array.field.stored);
    const int64_t elements = array.field.row.size();
    const auto piece = static_cast<int64_t>(buffer_.size() / row_bytes);
    for (int64_t done = 0; done < count; done += piece) {
      const int64_t some = std::min(piece, count - done);
      const std::span bytes(buffer_.data(), static_cast<size_t>(some) * row_bytes);
      as_data([&] { array.bytes->read(first + done, some, bytes.data()); });
      if (array.swapped) swap_bytes(bytes, size);
      stage_rows(
          array.field, {first + done, 0}, bytes.data(), some * elements,
          static_cast<std::byte*>(to) + static_cast<size_t>(done * elements) * size_of(dtype),
          dtype);
    }
  }

 private:
  std::unique_ptr<File> file_;
  FileState state_;
  std::vector<Array> arrays_;
  std::vector<std::byte> buffer_;
  std::vector<size_t> order_;
};

class Hdf5Opener {
 public:
  explicit Hdf5Opener(const Hdf5Options& options)
      : options_(options),
        files_(options.files != nullptr ? *options.files : real_files()),
        file_(files_.open(options.file, OpenMode::read)),
        root_(as_data([&] { return read_hdf5(*file_, options.file.string()); })) {}

  Array open(const std::string& name, FieldRole role) {
    const Hdf5Dataset& dataset = find(name);
    const std::string where = fmt::format("{}: \"{}\"", options_.file.string(), name);
    const std::string reason = reason_against(dataset);
    if (!reason.empty()) throw Error("{} {}", where, reason);
    Array array;
    array.field = {.name = where, .role = role, .stored = *stored_type_of(dataset)};
    for (size_t axis = 1; axis < dataset.shape.size(); ++axis)
      array.field.row.push_back(dataset.shape[axis]);
    constexpr size_t kLargeRow = size_t{16} << 20, kMostOfAByte = 1200;
    if (array.field.row_bytes() > kLargeRow + kMostOfAByte * static_cast<size_t>(file_->size())) {
      throw DataError("{} claims rows of {}, more than its file can hold; save it again", where,
                      bytes_text(array.field.row_bytes()));
    }
    array.rows = dataset.shape[0];
    array.swapped = dataset.swapped;
    array.bytes = as_data([&] {
      return dataset.is_chunked() ? chunked_rows(dataset, where, options_.chunk_cache_bytes)
                                  : whole_rows(dataset, where);
    });
    if (!dataset.is_chunked()) array.whole = dataset;
    if (!dataset.chunks.filters.empty() && !options_.cache.empty())
      unpack(dataset, name, where, array);
    return array;
  }

  // Arrays in one piece are read as the rows of other files are: ahead, and on several threads.
  SourcePtr source_of(std::vector<Array> arrays) {
    const bool whole =
        std::ranges::all_of(arrays, [](const Array& array) { return array.whole.has_value(); });
    if (!whole) {
      return std::make_shared<Hdf5Source>(std::move(file_), std::move(arrays),
                                          options_.buffer_bytes);
    }
    std::vector<RowFile> rows;
    for (Array& array : arrays) rows.push_back(row_file_of(std::move(array)));
    return row_files(std::move(rows), options_.buffer_bytes);
  }

  const Hdf5Group& root() const { return root_; }
  std::string names() const {
    std::string all;
    add_names(root_, "", all);
    return all.empty() ? "none" : all;
  }

 private:
  static void add_names(const Hdf5Group& group, const std::string& path, std::string& all) {
    constexpr size_t kMostText = 2000;
    for (const auto& [name, dataset] : group.datasets) {
      if (all.size() > kMostText) return;
      all += fmt::format("{}{}{} {}", all.empty() ? "" : ", ", path, name, dataset.text());
    }
    for (const auto& [name, inner] : group.groups) add_names(inner, path + name + "/", all);
  }

  const Hdf5Dataset& find(const std::string& name) const {
    const size_t start = name.starts_with("/") ? 1 : 0;
    const Hdf5Dataset* found = root_.find_dataset(std::string_view(name).substr(start));
    if (found != nullptr) return *found;
    throw Error("{}: there is no array \"{}\"; it has {}", options_.file.string(), name, names());
  }

  RowFile row_file_of(Array array) {
    RowFile rows{.field = array.field,
                 .rows = array.rows,
                 .file = std::move(array.unpacked),
                 .offset = array.whole->offset,
                 .swapped = array.swapped,
                 .held = std::move(array.whole->held)};
    if (rows.held.empty() && !rows.file) rows.file = files_.open(options_.file, OpenMode::read);
    if (!rows.held.empty() && rows.swapped) swap_bytes(rows.held, size_of(rows.field.stored));
    return rows;
  }

  // Once, band by band, into a file of rows; found again by later runs.
  void unpack(const Hdf5Dataset& dataset, const std::string& name, const std::string& where,
              Array& array) {
    const std::string identity = identity_of(files_, {options_.file}) + name;
    const Path path =
        options_.cache / fmt::format("{}-{:016x}.rows", options_.file.filename().string(),
                                     mix_bits(hash_text(identity)));
    if (files_.size(path) != dataset.bytes) {
      files_.create_directories(options_.cache);
      const int64_t room = files_.free_bytes(options_.cache);
      if (dataset.bytes > room - room / 8) {
        log_message(LogLevel::warning,
                    "{} is not unpacked: it needs {} and {} has {} free; its chunks are unpacked "
                    "as they are needed, which is slow where rows are shuffled",
                    where, bytes_text(dataset.bytes), options_.cache.string(), bytes_text(room));
        return;
      }
      as_data([&] {
        write_atomically(files_, path, [&](File& to) { unpack_all(dataset, array, to); });
      });
    }
    array.unpacked = files_.open(path, OpenMode::read);
    Hdf5Dataset plain = dataset;
    plain.chunks = {};
    plain.offset = 0;
    plain.file = array.unpacked.get();
    array.bytes = whole_rows(plain, where);
    array.whole = std::move(plain);
  }

  static void unpack_all(const Hdf5Dataset& dataset, const Array& array, File& to) {
    const auto row_bytes = static_cast<int64_t>(array.field.row_bytes());
    const int64_t piece = std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(1, row_bytes),
                                              1, dataset.chunks.shape[0]);
    std::vector<std::byte> rows(static_cast<size_t>(piece * row_bytes));
    for (int64_t first = 0; first < array.rows; first += piece) {
      const int64_t some = std::min(piece, array.rows - first);
      array.bytes->read(first, some, rows.data());
      to.append(std::span(rows).first(static_cast<size_t>(some * row_bytes)));
    }
  }

  const Hdf5Options& options_;
  FileSystem& files_;
  std::unique_ptr<File> file_;
  Hdf5Group root_;
};

void list_arrays(const Hdf5Group& group, const std::string& path, std::vector<Hdf5Array>& all) {
  for (const auto& [name, dataset] : group.datasets)
    all.push_back({path + name, dataset.text(), reason_against(dataset), {}});
  for (const auto& [name, inner] : group.groups) list_arrays(inner, path + name + "/", all);
}

}  // namespace

std::vector<Hdf5Array> hdf5_arrays(const Path& path, FileSystem* files) {
  const auto file = (files != nullptr ? *files : real_files()).open(path, OpenMode::read);
  const Hdf5Group root = as_data([&] { return read_hdf5(*file, path.string()); });
  std::vector<Hdf5Array> all;
  list_arrays(root, "", all);
  const std::string x = guess(root, kInputNames), y = x.empty() ? "" : guess(root, kTargetNames);
  for (Hdf5Array& array : all) {
    if (array.name == x) array.role = FieldRole::input;
    if (array.name == y) array.role = FieldRole::target;
  }
  return all;
}

SourcePtr hdf5(const Hdf5Options& options) {
  Hdf5Opener opener(options);
  std::vector<std::string> x = options.x, y = options.y;
  if (x.empty() && y.empty()) {
    x = {guess(opener.root(), kInputNames)};
    if (x[0].empty()) {
      throw Error("{}: which array is x? Give its name: it has {}", options.file.string(),
                  opener.names());
    }
    if (const std::string name = guess(opener.root(), kTargetNames); !name.empty()) y = {name};
  }
  std::vector<Array> arrays;
  for (const std::string& name : x) arrays.push_back(opener.open(name, FieldRole::input));
  if (!options.inputs_only) {
    for (const std::string& name : y) arrays.push_back(opener.open(name, FieldRole::target));
    if (!options.sample_weight.empty())
      arrays.push_back(opener.open(options.sample_weight, FieldRole::weight));
  }
  return opener.source_of(std::move(arrays));
}

}  // namespace snug::data
