#include "snug/data/row_order.h"

#include <algorithm>
#include <string_view>

#include "snug/base/error.h"
#include "snug/data/permutation.h"

namespace snug {
namespace {

void check_count(std::string_view verb, int64_t count) {
  if (count < 0) throw Error("Dataset: {}({}): the number must not be negative", verb, count);
}

}  // namespace

RowOrder RowOrder::with(const Verb& verb, int64_t size) const {
  RowOrder order = *this;
  order.verbs_.push_back(verb);
  order.size_ = size;
  return order;
}

RowOrder RowOrder::take(int64_t count) const {
  if (count == -1) return *this;
  check_count("take", count);
  RowOrder order = *this;
  order.size_ = std::min(size_, count);
  return order;
}

RowOrder RowOrder::skip(int64_t count) const {
  check_count("skip", count);
  const int64_t left = size_ == kEndless ? kEndless : std::max<int64_t>(0, size_ - count);
  return with({.kind = Kind::skip, .count = count}, left);
}

RowOrder RowOrder::shuffle(uint64_t seed, bool reshuffle_each_iteration) const {
  if (size_ == kEndless) {
    throw Error("Dataset: shuffle: the rows have no end here; put shuffle before repeat");
  }
  return with({.kind = Kind::shuffle,
               .size_before = size_,
               .seed = seed,
               .reshuffle = reshuffle_each_iteration},
              size_);
}

RowOrder RowOrder::repeat(std::optional<int64_t> count) const {
  if (count) check_count("repeat", *count);
  int64_t size = 0;
  if (size_ != 0 && (!count || __builtin_mul_overflow(size_, *count, &size))) size = kEndless;
  return with({.kind = Kind::repeat, .size_before = size_, .count = count.value_or(kEndless)},
              size);
}

RowOrder RowOrder::shard(int64_t count, int64_t index) const {
  if (count < 1 || index < 0 || index >= count) {
    throw Error(
        "Dataset: shard({}, {}): there must be at least one shard, and the index is from 0 "
        "up to, but not, their number",
        count, index);
  }
  const int64_t left =
      size_ == kEndless ? kEndless : std::max<int64_t>(0, (size_ - index + count - 1) / count);
  return with({.kind = Kind::shard, .count = count, .index = index}, left);
}

bool RowOrder::is_stretch() const {
  return std::ranges::all_of(verbs_, [](const Verb& verb) { return verb.kind == Kind::skip; });
}

bool RowOrder::changes_with_pass() const {
  return std::ranges::any_of(
      verbs_, [](const Verb& verb) { return verb.kind == Kind::shuffle && verb.reshuffle; });
}

std::optional<RowOrder> RowOrder::shuffle_alone(int64_t rows) const {
  if (verbs_.size() != 1 || verbs_[0].kind != Kind::shuffle) return std::nullopt;
  if (verbs_[0].size_before != size_) return std::nullopt;
  return RowOrder(rows).shuffle(verbs_[0].seed, verbs_[0].reshuffle);
}

uint64_t RowOrder::seed() const {
  const auto last = std::find_if(verbs_.rbegin(), verbs_.rend(),
                                 [](const Verb& verb) { return verb.kind == Kind::shuffle; });
  return last == verbs_.rend() ? 0 : last->seed;
}

int64_t RowOrder::row(uint64_t pass, int64_t position) const {
  undo(verbs_.size(), pass, {&position, 1});
  return position;
}

void RowOrder::rows(uint64_t pass, std::span<const int64_t> positions,
                    std::span<int64_t> rows) const {
  std::ranges::copy(positions, rows.begin());
  undo(verbs_.size(), pass, rows);
}

uint64_t RowOrder::first_repetition(uint64_t pass, std::optional<int64_t> count) {
  // Passes within an endless one: no other pass comes near.
  constexpr int kEndlessBits = 32;
  return count ? pass * static_cast<uint64_t>(*count) : pass << kEndlessBits;
}

void RowOrder::undo(size_t verbs, uint64_t pass, std::span<int64_t> positions) const {
  for (; verbs > 0; --verbs) {
    const Verb& verb = verbs_[verbs - 1];
    switch (verb.kind) {
      case Kind::skip:
        for (int64_t& position : positions) position += verb.count;
        break;
      case Kind::shard:
        for (int64_t& position : positions) position = position * verb.count + verb.index;
        break;
      case Kind::shuffle: {
        const Permutation order(verb.size_before, verb.seed, verb.reshuffle ? pass : 0);
        for (int64_t& position : positions) position = order(position);
        break;
      }
      case Kind::repeat: {
        pass = first_repetition(pass,
                                verb.count == kEndless ? std::nullopt : std::optional(verb.count));
        // Each repetition is a pass of its own.
        for (size_t begin = 0; begin < positions.size();) {
          const int64_t repetition = positions[begin] / verb.size_before;
          size_t end = begin;
          while (end < positions.size() && positions[end] / verb.size_before == repetition)
            positions[end++] %= verb.size_before;
          undo(verbs - 1, pass + static_cast<uint64_t>(repetition),
               positions.subspan(begin, end - begin));
          begin = end;
        }
        return;
      }
    }
  }
}

}  // namespace snug
