#include "snug/data/npz.h"

#include <zlib.h>

#include <algorithm>
#include <functional>
#include <set>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/nearest_word.h"
#include "snug/base/random.h"
#include "snug/data/array_names.h"
#include "snug/data/fortran_order.h"
#include "snug/data/npy_header.h"

namespace snug::data {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;

// The bytes of a deflated member, one after the other.
class Inflater {
 public:
  Inflater(File& file, const NpzMember& member)
      : file_(file), member_(member), input_(kPieceBytes) {
    if (inflateInit2(&stream_, -15) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `into`; throws DataError where the member is cut off, damaged or longer than it says.
  void read(std::span<std::byte> into) {
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0 && !refill()) fail("is cut off");
      const int state = inflate(&stream_, Z_NO_FLUSH);
      if (state == Z_STREAM_END && stream_.avail_out > 0) fail("is cut off");
      if (state != Z_OK && state != Z_STREAM_END) fail("is damaged");
    }
    checksum_ = static_cast<uint32_t>(crc32(checksum_, reinterpret_cast<const Bytef*>(into.data()),
                                            static_cast<uInt>(into.size())));
    done_ += std::ssize(into);
    if (done_ == member_.bytes && checksum_ != member_.checksum) fail("has a wrong checksum");
  }

 private:
  bool refill() {
    const int64_t left = member_.packed_bytes - position_;
    const auto wanted = static_cast<size_t>(std::min<int64_t>(std::ssize(input_), left));
    const size_t count = file_.read_at(std::span(input_).first(wanted), member_.offset + position_);
    position_ += static_cast<int64_t>(count);
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw DataError("{}: the member {} {}; copy or save the file again", file_.path().string(),
                    member_.name, what);
  }

  File& file_;
  const NpzMember& member_;
  std::vector<std::byte> input_;
  z_stream stream_{};
  int64_t position_ = 0, done_ = 0;
  uint32_t checksum_ = 0;
};

// Reads the header of an .npy file from its start; `read` fills what it is given.
NpyHeader read_header(const std::function<void(std::span<std::byte>)>& read,
                      const std::string& where) {
  std::string bytes(kNpyPreambleBytes, '\0');
  read(std::as_writable_bytes(std::span(bytes)));
  const size_t wanted = npy_header_bytes(bytes, where);
  const size_t start = bytes.size();
  bytes.resize(wanted);
  if (wanted > start) read(std::as_writable_bytes(std::span(bytes)).subspan(start));
  return parse_npy_header(bytes, where);
}

// The arrays among the members: folders, and notes beside arrays, are none. A name that comes
// twice, as when an array was added again, is its last one: as NumPy has it.
std::vector<NpzMember> arrays_among(std::vector<NpzMember> members, const Path& file) {
  const auto is_array = [](const NpzMember& member) { return member.name.ends_with(".npy"); };
  if (std::ranges::any_of(members, is_array)) std::erase_if(members, std::not_fn(is_array));
  if (members.empty()) {
    throw DataError("{}: it has no arrays; save them with numpy.savez(\"data.npz\", x=x, y=y)",
                    file.string());
  }
  std::set<std::string> seen;
  std::vector<NpzMember> last;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (seen.insert(member->name).second) {
      last.push_back(std::move(*member));
      continue;
    }
    log_message(LogLevel::warning,
                "{}: it has {} more than once, and the last one is read, as NumPy does; save each "
                "array once",
                file.string(), member->name);
  }
  std::ranges::reverse(last);
  return last;
}

class NpzOpener {
 public:
  explicit NpzOpener(const NpzOptions& options)
      : options_(options),
        files_(options.files != nullptr ? *options.files : real_files()),
        file_(files_.open(options.file, OpenMode::read)),
        members_(arrays_among(zip_members(*file_), options.file)),
        left_(options.most_in_memory) {}

  RowFile open(const std::string& name, FieldRole role) {
    const NpzMember& member = find(name);
    const std::string where = fmt::format("{}: {}", options_.file.string(), name);
    RowFile rows = !member.deflated         ? open_stored(member, where, role)
                   : options_.cache.empty() ? inflate_to_memory(member, where, role)
                                            : inflate_to_cache(member, where, role);
    put_in_rows(rows, files_, options_.cache);
    return rows;
  }

  // What the inputs and the targets are called; the latter empty where there are none.
  struct Guess {
    std::string x, y;
  };
  // By their names. Where neither has one, by their order; where only one has, the other is the
  // only array that is left.
  Guess guess() const {
    Guess found{named(kInputNames), named(kTargetNames)};
    if (found.x.empty() && found.y.empty()) return {nth(0), nth(1)};
    std::vector<std::string> others;
    for (const NpzMember& member : members_) {
      const std::string name = bare_name(member);
      if (name != found.x && name != found.y && name != options_.sample_weight)
        others.push_back(name);
    }
    if (found.x.empty()) {
      if (others.size() != 1) {
        throw Error("{}: which array is x? Give its name and that of y: it has {}",
                    options_.file.string(), names());
      }
      found.x = others[0];
    } else if (found.y.empty() && others.size() == 1) {
      found.y = others[0];
    }
    return found;
  }

 private:
  // Empty where none has such a name.
  std::string named(std::span<const std::string_view> names) const {
    for (const std::string_view name : names) {
      for (const NpzMember& member : members_) {
        if (same_word(bare_name(member), name)) return bare_name(member);
      }
    }
    return "";
  }
  std::string nth(size_t n) const { return n < members_.size() ? bare_name(members_[n]) : ""; }

  std::string names() const {
    std::string all;
    for (const NpzMember& member : members_) all += (all.empty() ? "" : ", ") + bare_name(member);
    return all.empty() ? "none" : all;
  }

  static std::string bare_name(const NpzMember& member) {
    return member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4)
                                         : member.name;
  }

  const NpzMember& find(const std::string& name) const {
    for (const NpzMember& member : members_) {
      if (bare_name(member) == name) return member;
    }
    throw Error("{}: there is no array \"{}\"; it has {}", options_.file.string(), name, names());
  }

  static RowFile rows_of(const NpyHeader& header, const std::string& where, FieldRole role) {
    bytes_of_rows(header.shape, header.stored, where);
    RowFile rows;
    rows.field = {.name = where,
                  .role = role,
                  .stored = header.stored,
                  .row = header.shape.part(1, header.shape.rank())};
    rows.rows = header.shape[0];
    rows.offset = header.bytes;
    rows.swapped = header.swapped;
    rows.by_columns = header.by_columns;
    return rows;
  }

  static void check_bytes(const RowFile& rows, const NpzMember& member) {
    const int64_t wanted = rows.offset + rows.rows * static_cast<int64_t>(rows.field.row_bytes());
    if (wanted == member.bytes) return;
    throw DataError(
        "{}: the header says {} rows, {} bytes in all, but the member has {}; save it again",
        rows.field.name, rows.rows, wanted, member.bytes);
  }

  RowFile open_stored(const NpzMember& member, const std::string& where, FieldRole role) {
    int64_t at = member.offset;
    const auto read = [&](std::span<std::byte> into) {
      if (at + std::ssize(into) > member.offset + member.bytes) {
        throw DataError("{}: it is cut off in its header; save it again", where);
      }
      file_->read_exactly_at(into, at);
      at += std::ssize(into);
    };
    RowFile rows = rows_of(read_header(read, where), where, role);
    check_bytes(rows, member);
    if (member.bytes <= options_.most_summed) check_sum(member, where);
    rows.offset += member.offset;
    rows.file = files_.open(options_.file, OpenMode::read);
    return rows;
  }

  void check_sum(const NpzMember& member, const std::string& where) {
    std::vector<std::byte> piece(kPieceBytes);
    uint32_t sum = 0;
    for (int64_t done = 0; done < member.bytes;) {
      const auto some = std::min<int64_t>(std::ssize(piece), member.bytes - done);
      const auto bytes = std::span(piece).first(static_cast<size_t>(some));
      file_->read_exactly_at(bytes, member.offset + done);
      sum = static_cast<uint32_t>(
          crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(some)));
      done += some;
    }
    if (sum == member.checksum) return;
    throw DataError("{}: it has a wrong checksum, so it is damaged; copy or save the file again",
                    where);
  }

  RowFile inflate_to_memory(const NpzMember& member, const std::string& where, FieldRole role) {
    Inflater inflater(*file_, member);
    RowFile rows = rows_of(
        read_header([&](std::span<std::byte> into) { inflater.read(into); }, where), where, role);
    check_bytes(rows, member);
    const int64_t bytes = member.bytes - rows.offset;
    if (bytes > left_) {
      throw DataError(
          "{}: it is {} when inflated, but {} of memory are left for it; give a cache folder, or "
          "use np.savez",
          where, bytes_text(bytes), bytes_text(left_));
    }
    left_ -= bytes;
    rows.held.resize(static_cast<size_t>(bytes));
    for (size_t at = 0; at < rows.held.size(); at += kPieceBytes) {
      inflater.read(std::span(rows.held).subspan(at, std::min(kPieceBytes, rows.held.size() - at)));
    }
    if (rows.swapped) swap_bytes(rows.held, size_of(rows.field.stored));
    return rows;
  }

  // No more than the directory says, so that a small file cannot fill the disk unseen.
  RowFile inflate_to_cache(const NpzMember& member, const std::string& where, FieldRole role) {
    // By a hash of its name, which may hold a path that leads elsewhere.
    const Path path = options_.cache /
                      fmt::format("{}-{:016x}-{:08x}-{}.npy", options_.file.filename().string(),
                                  mix_bits(hash_text(member.name)), member.checksum, member.bytes);
    if (!files_.size(path)) {
      files_.create_directories(options_.cache);
      const int64_t room = files_.free_bytes(options_.cache);
      if (member.bytes > room) {
        throw FileError("{}: it is {} when inflated, but {} has {} free; choose another folder",
                        where, bytes_text(member.bytes), options_.cache.string(), bytes_text(room));
      }
      write_atomically(files_, path, [&](File& to) { inflate_all(member, to); });
    }
    RowFile rows;
    std::unique_ptr<File> inflated = files_.open(path, OpenMode::read);
    int64_t at = 0;
    const auto read = [&](std::span<std::byte> into) {
      inflated->read_exactly_at(into, at);
      at += std::ssize(into);
    };
    rows = rows_of(read_header(read, where), where, role);
    rows.file = std::move(inflated);
    check_file_size(rows);
    return rows;
  }

  void inflate_all(const NpzMember& member, File& to) {
    Inflater inflater(*file_, member);
    std::vector<std::byte> piece(kPieceBytes);
    for (int64_t done = 0; done < member.bytes;) {
      const auto some =
          static_cast<size_t>(std::min<int64_t>(std::ssize(piece), member.bytes - done));
      inflater.read(std::span(piece).first(some));
      to.append(std::span(piece).first(some));
      done += static_cast<int64_t>(some);
    }
  }

  const NpzOptions& options_;
  FileSystem& files_;
  std::unique_ptr<File> file_;
  std::vector<NpzMember> members_;
  int64_t left_;
};

}  // namespace

SourcePtr npz(const NpzOptions& options) {
  NpzOpener opener(options);
  std::vector<std::string> x = options.x, y = options.y;
  if (x.empty() && y.empty()) {
    const NpzOpener::Guess found = opener.guess();
    x = {found.x};
    if (!found.y.empty()) y = {found.y};
  }
  std::vector<RowFile> rows;
  for (const std::string& name : x) rows.push_back(opener.open(name, FieldRole::input));
  if (!options.inputs_only) {
    for (const std::string& name : y) rows.push_back(opener.open(name, FieldRole::target));
    if (!options.sample_weight.empty())
      rows.push_back(opener.open(options.sample_weight, FieldRole::weight));
  }
  return row_files(std::move(rows), options.buffer_bytes);
}

}  // namespace snug::data
