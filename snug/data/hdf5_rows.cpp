#include "snug/data/hdf5_rows.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <unordered_map>

#include "snug/base/error.h"
#include "snug/data/hdf5_chunks.h"

namespace snug {
namespace {

// Each chunk that was written has its entry in the file.
int64_t most_chunks(const Hdf5Dataset& dataset) {
  return std::min(int64_t{1} << 22, 4096 + dataset.file->size() / 4);
}

int64_t row_bytes_of(const Hdf5Dataset& dataset) {
  auto bytes = static_cast<int64_t>(dataset.element_bytes);
  for (size_t axis = 1; axis < dataset.shape.size(); ++axis) bytes *= dataset.shape[axis];
  return bytes;
}

class WholeRows final : public Hdf5Rows {
 public:
  WholeRows(const Hdf5Dataset& dataset, std::string where)
      : dataset_(dataset), where_(std::move(where)), row_bytes_(row_bytes_of(dataset)) {
    SNUG_CHECK(!dataset.is_held() || std::ssize(dataset.held) == dataset.bytes, "{}", where_);
  }

  void read(int64_t first, int64_t count, std::byte* to) override {
    const auto bytes = static_cast<size_t>(count * row_bytes_);
    if (dataset_.is_held()) {
      std::memcpy(to, dataset_.held.data() + first * row_bytes_, bytes);
      return;
    }
    const int64_t at = dataset_.offset + first * row_bytes_;
    if (dataset_.file->read_at({to, bytes}, at) == bytes) return;
    throw FileError(
        "{}: it ends before row {}, so it was changed during the run; leave the file alone and "
        "start again",
        where_, first + count - 1);
  }
  size_t buffer_bytes() const override { return dataset_.held.size(); }

 private:
  Hdf5Dataset dataset_;
  std::string where_;
  int64_t row_bytes_;
};

class ChunkedRows final : public Hdf5Rows {
 public:
  ChunkedRows(const Hdf5Dataset& dataset, std::string where, int64_t cache_bytes)
      : dataset_(dataset),
        where_(std::move(where)),
        list_(list_chunks(dataset, where_, most_chunks(dataset))),
        chunk_bytes_(snug::chunk_bytes(dataset)),
        row_bytes_(row_bytes_of(dataset)) {
    for (size_t axis = 1; axis < list_.counts.size(); ++axis) across_ *= list_.counts[axis];
    if (!is_packed()) return;
    most_kept_ = std::max(across_, cache_bytes / std::max<int64_t>(1, chunk_bytes_));
    most_kept_ = std::min(most_kept_, std::ssize(list_.chunks));
    for (const Hdf5Chunk& chunk : list_.chunks) largest_ = std::max<int64_t>(largest_, chunk.bytes);
  }

  void read(int64_t first, int64_t count, std::byte* to) override {
    const int64_t high = dataset_.chunks.shape[0];
    while (count > 0) {
      const int64_t band = first / high, some = std::min(count, (band + 1) * high - first);
      for (int64_t i = 0; i < across_; ++i) copy_chunk(band, i, first, some, to);
      first += some;
      count -= some;
      to += some * row_bytes_;
    }
  }

  size_t buffer_bytes() const override {
    const int64_t work = is_packed() ? 2 * (std::max(chunk_bytes_, largest_) + 8) : 0;
    return list_.chunks.size() * sizeof(Hdf5Chunk) +
           static_cast<size_t>(most_kept_ * (chunk_bytes_ + 64) + work);
  }

 private:
  bool is_packed() const { return !dataset_.chunks.filters.empty(); }

  // Where a chunk meets the rows that are asked for, axis by axis.
  struct Meeting {
    std::vector<int64_t> in_chunk, in_array, size;
  };

  Meeting meet(int64_t band, int64_t number, int64_t first, int64_t count) const {
    const size_t rank = dataset_.shape.size();
    const std::vector<int64_t>& chunk = dataset_.chunks.shape;
    Meeting meeting{std::vector<int64_t>(rank), std::vector<int64_t>(rank),
                    std::vector<int64_t>(rank)};
    meeting.in_chunk[0] = first - band * chunk[0];
    meeting.size[0] = count;
    for (size_t axis = rank; axis-- > 1;) {
      meeting.in_array[axis] = number % list_.counts[axis] * chunk[axis];
      number /= list_.counts[axis];
      meeting.size[axis] = std::min(chunk[axis], dataset_.shape[axis] - meeting.in_array[axis]);
    }
    return meeting;
  }

  void copy_chunk(int64_t band, int64_t number, int64_t first, int64_t count, std::byte* to) {
    const int64_t place = band * across_ + number;
    const Hdf5Chunk& chunk = list_.chunks[static_cast<size_t>(place)];
    const Meeting meeting = meet(band, number, first, count);
    bool edge = (band + 1) * dataset_.chunks.shape[0] > dataset_.shape[0];
    for (size_t axis = 1; axis < meeting.size.size(); ++axis)
      edge |= meeting.size[axis] < dataset_.chunks.shape[axis];
    const bool packed = is_packed() && chunk.offset >= 0;
    const std::byte* bytes = packed ? unpacked(place, chunk, edge) : nullptr;
    copy_axis(meeting, 0, 0, 0, chunk, bytes, to);
  }

  // Goes down the axes to stretches that stand in one piece on both sides.
  void copy_axis(const Meeting& meeting, size_t axis, int64_t from, int64_t at,
                 const Hdf5Chunk& chunk, const std::byte* bytes, std::byte* to) {
    const std::vector<int64_t>& inner = dataset_.chunks.shape;
    from = from * inner[axis] + meeting.in_chunk[axis];
    at = axis == 0 ? 0 : at * dataset_.shape[axis] + meeting.in_array[axis];
    if (axis + 1 == inner.size() || goes_on(meeting, axis)) {
      int64_t below = 1;
      for (size_t i = axis + 1; i < inner.size(); ++i) below *= inner[i];
      return copy_stretch(from * below, at * below, meeting.size[axis] * below, chunk, bytes, to);
    }
    for (int64_t i = 0; i < meeting.size[axis]; ++i)
      copy_axis(meeting, axis + 1, from + i, at + i, chunk, bytes, to);
  }
  // Whether all axes below are whole in the chunk and in the array.
  bool goes_on(const Meeting& meeting, size_t axis) const {
    for (size_t i = axis + 1; i < meeting.size.size(); ++i) {
      if (dataset_.chunks.shape[i] != dataset_.shape[i]) return false;
    }
    return true;
  }
  void copy_stretch(int64_t from, int64_t at, int64_t elements, const Hdf5Chunk& chunk,
                    const std::byte* bytes, std::byte* to) {
    const auto size = static_cast<int64_t>(dataset_.element_bytes);
    const auto count = static_cast<size_t>(elements * size);
    to += at * size;
    if (bytes != nullptr) {
      std::memcpy(to, bytes + from * size, count);
    } else if (chunk.offset < 0) {
      fill_elements(dataset_, elements, to);
    } else if (dataset_.file->read_at({to, count}, chunk.offset + from * size) < count) {
      throw FileError("{}: it was changed during the run; leave the file alone and start again",
                      where_);
    }
  }

  // The chunk that was used longest ago makes room.
  const std::byte* unpacked(int64_t place, const Hdf5Chunk& chunk, bool edge) {
    if (const auto found = kept_.find(place); found != kept_.end()) {
      order_.splice(order_.begin(), order_, found->second.order);
      return found->second.bytes.data();
    }
    Kept kept;
    if (std::ssize(kept_) >= most_kept_) {
      const auto oldest = kept_.find(order_.back());
      kept.bytes = std::move(oldest->second.bytes);
      kept_.erase(oldest);
      order_.pop_back();
    }
    kept.bytes.resize(static_cast<size_t>(chunk_bytes_));
    read_chunk(dataset_, chunk, edge, where_, packed_, spare_, kept.bytes.data());
    order_.push_front(place);
    kept.order = order_.begin();
    return kept_.emplace(place, std::move(kept)).first->second.bytes.data();
  }

  struct Kept {
    std::vector<std::byte> bytes;
    std::list<int64_t>::iterator order;
  };
  Hdf5Dataset dataset_;
  std::string where_;
  Hdf5ChunkList list_;
  int64_t chunk_bytes_, row_bytes_;
  int64_t across_ = 1;     // Chunks that a row goes through.
  int64_t most_kept_ = 0;  // Of packed chunks.
  int64_t largest_ = 0;    // As it is stored.
  std::unordered_map<int64_t, Kept> kept_;
  std::list<int64_t> order_;  // Used last first.
  std::vector<std::byte> packed_, spare_;
};

}  // namespace

std::unique_ptr<Hdf5Rows> whole_rows(const Hdf5Dataset& dataset, const std::string& where) {
  return std::make_unique<WholeRows>(dataset, where);
}
std::unique_ptr<Hdf5Rows> chunked_rows(const Hdf5Dataset& dataset, const std::string& where,
                                       int64_t cache_bytes) {
  return std::make_unique<ChunkedRows>(dataset, where, cache_bytes);
}

}  // namespace snug
