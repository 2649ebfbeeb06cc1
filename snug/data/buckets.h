// Rows of different lengths, all given as long as the longest: how long each is, and which of them
// are batched together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "snug/data/row_subset.h"
#include "snug/data/source.h"

namespace snug {

// How many steps of a row, one of each field, are no padding.
using RowLength = std::function<int64_t(std::span<const Tensor> row)>;

// Steps stand along the first axis of the inputs' rows, padding at its end.
struct PaddingOptions {
  float value = 0;  // A step at the end whose elements are all this is padding.
  // Empty: by that value, in the first input.
  RowLength length;
  // Targets have steps as well (a label for each), not only inputs.
  bool of_targets = false;
};

// What of the fields of a source are steps, and how long rows are.
class StepLengths {
 public:
  // Throws Error where the first input has no axis.
  StepLengths(std::span<const Field> fields, PaddingOptions options);

  // As it was declared: the first axis of the first input.
  int64_t longest() const { return longest_; }
  // Steps of one row of the slots that are no padding; from 0 to longest().
  int64_t of(std::span<const Tensor> row) const;
  // Whether the field has steps: as many as the first input.
  bool has_steps(size_t field) const { return has_steps_[field]; }

 private:
  PaddingOptions options_;
  int64_t longest_ = 0;
  std::vector<bool> has_steps_;
};

// [rows, steps, ...] of a field whose rows have steps.
Shape shape_of_steps(Extent rows, int64_t steps, const Shape& row);

struct BucketOptions {
  // The longest rows of each bucket, rising: {16, 64}; those that are longer are in one more, which
  // is as long as was declared.
  std::vector<int64_t> lengths;
  int64_t batch_size = 32;
  std::vector<int64_t> batch_sizes;  // One for each bucket, that last one too; empty: batch_size.
  bool drop_remainder = false;       // Of each bucket.
  bool shuffle = true;               // Rows within their buckets, and batches; anew in each pass.
  uint64_t seed = 0;
  PaddingOptions padding;
};

// Rows by length. A pass over the batches has every row once; its order depends on (seed, pass)
// alone. Holds a bit a row and bucket.
class Buckets {
 public:
  // Reads all rows of a source with random access once. Throws Error for lengths that do not rise
  // or that no row can have.
  Buckets(const SourcePtr& source, const BucketOptions& options);

  size_t count() const { return buckets_.size(); }
  int64_t length(size_t bucket) const { return buckets_[bucket].length; }
  int64_t batch_size(size_t bucket) const { return buckets_[bucket].batch_size; }
  int64_t rows(size_t bucket) const { return buckets_[bucket].rows.count(); }
  // Of a pass.
  int64_t batches() const { return batches_; }
  // Writes the numbers of the rows of a batch, 0 <= number < batches(), and returns their bucket.
  size_t batch(uint64_t pass, int64_t number, std::vector<int64_t>& rows) const;
  size_t bytes() const;

 private:
  struct Bucket {
    int64_t length = 0, batch_size = 0;
    int64_t first_batch = 0;
    RowSubset rows;
  };
  void add_buckets(int64_t longest, int64_t rows);
  void sort_rows(const SourcePtr& source, const StepLengths& lengths);

  BucketOptions options_;
  std::vector<Bucket> buckets_;
  int64_t batches_ = 0;
};

}  // namespace snug
