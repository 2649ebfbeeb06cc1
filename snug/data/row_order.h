// In which order the rows of a source come: tf.data's verbs as arithmetic on row numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace snug {

// A sequence of the rows 0 .. size-1, each verb applied to what stands so far. It holds no rows and
// no row numbers: any position of any pass can be asked for.
class RowOrder {
 public:
  static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

  explicit RowOrder(int64_t size) : size_(size) {}

  // All throw Error for a count that is negative; take(-1) takes all, as in tf.data.
  RowOrder take(int64_t count) const;
  RowOrder skip(int64_t count) const;
  // Another order in each pass, or always the same. Throws Error when the sequence has no end.
  RowOrder shuffle(uint64_t seed, bool reshuffle_each_iteration) const;
  // Nullopt: without end. Shuffles before it are shuffled anew in each repetition.
  RowOrder repeat(std::optional<int64_t> count) const;

  // The pass that the first repetition of a pass is; the others follow it.
  static uint64_t first_repetition(uint64_t pass, std::optional<int64_t> count);

  // Every count-th row, from the index-th on.
  RowOrder shard(int64_t count, int64_t index) const;

  // How many rows one pass has, those that come twice counted twice; or kEndless.
  int64_t size() const { return size_; }
  // Whether the rows are a stretch of neighbours in their own order.
  bool is_stretch() const;
  // Whether another pass has another order.
  bool changes_with_pass() const;
  // Where the order is one shuffle of all rows and nothing else: that shuffle of other rows.
  std::optional<RowOrder> shuffle_alone(int64_t rows) const;
  // Of the last shuffle; 0 where there is none.
  uint64_t seed() const;
  // The row at a position, 0 <= position < size().
  int64_t row(uint64_t pass, int64_t position) const;
  // The rows at so many positions: a shuffle's keys are made once for neighbours of one pass.
  void rows(uint64_t pass, std::span<const int64_t> positions, std::span<int64_t> rows) const;

 private:
  enum class Kind { skip, shuffle, repeat, shard };
  struct Verb {
    Kind kind;
    int64_t size_before = 0;
    int64_t count = 0;
    uint64_t seed = 0;
    int64_t index = 0;
    bool reshuffle = false;
  };
  RowOrder with(const Verb& verb, int64_t size) const;
  // Undoes the verbs from the last one on to the `verbs`-th, for positions of one pass.
  void undo(size_t verbs, uint64_t pass, std::span<int64_t> positions) const;

  std::vector<Verb> verbs_;
  int64_t size_;
};

}  // namespace snug
