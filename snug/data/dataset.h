// tf.data's words. A Dataset is a source and what is to be done with its rows; it holds no rows, no
// shuffle buffer and no queue.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/arrays.h"
#include "snug/data/block_shuffle.h"
#include "snug/data/buckets.h"
#include "snug/data/generator.h"
#include "snug/data/interleaved.h"
#include "snug/data/mapped.h"
#include "snug/data/ragged.h"
#include "snug/data/row_order.h"
#include "snug/data/source.h"
#include "snug/data/window_shuffle.h"
#include "snug/data/windows.h"

namespace snug {

// Rows that were read together. The tensors are [rows, ...] and stay valid until the next batch.
struct Batch {
  int64_t rows = 0;
  std::vector<Tensor> x, y;
  Tensor sample_weight;  // Without data when the source has none.
};

// What batches look like: the types with the rows left open.
struct BatchSpec {
  Types inputs, targets;
  int64_t batch_size = 1;
};

// The element type that a field has in a Batch: float32 for floats, weights and small integers that
// are inputs (pixels, samples of sound); int32 for all other integers (labels, indices) and truths.
DType batch_dtype(const Field& field);
// The same in a stage that holds rows for whatever slot comes: whole numbers that int32 may not
// hold, as times in milliseconds, are int64.
DType held_dtype(const Field& field);

class BatchReader;

// Each verb returns a new Dataset and leaves this one as it is; verbs apply in the order in which
// they are called, as in tf.data. Copies share the source, and one count of passes.
class Dataset {
 public:
  // Borrows the arrays: the caller keeps them alive.
  static Dataset from_tensor_slices(const data::ArraysOptions& arrays);
  static Dataset from_tensor_slices(const Array& x, const Array& y);
  // Each array whole, as one row.
  static Dataset from_tensors(const data::ArraysOptions& arrays);
  static Dataset from_generator(NextRows next, GeneratorSpec spec);
  // Rows of different lengths: see RaggedOptions. All is borrowed.
  static Dataset from_ragged(const data::RaggedOptions& x);
  static Dataset from_ragged(const data::RaggedOptions& x, const Array& y);
  explicit Dataset(SourcePtr source);

  // Without it, batches have one row. Throws Error for a second batch().
  Dataset batch(int64_t size, bool drop_remainder = false) const;
  // The same, but a batch has only as many steps as the longest of its rows, and one at least: what
  // all of them have for padding is left out. The rows come as long as the longest that was
  // declared, their padding at the end: see PaddingOptions. fit takes them so, whole.
  Dataset padded_batch(int64_t size, bool drop_remainder = false,
                       const PaddingOptions& padding = {}) const;
  // tf.data's bucket_by_sequence_length: batches of rows that are about as long, with the steps of
  // their bucket: see BucketOptions. Reads all rows once, now. Needs random access; a shuffle()
  // just before it is done here, by its seed. fit knows one length, the longest, and takes rows
  // whole.
  Dataset bucket_by_sequence_length(const BucketOptions& options) const;
  // A perfect shuffle of all rows at any size, which needs no buffer: a number that tf.data takes
  // for the size of its buffer is a seed here. Throws Error after batch(), and for a source that
  // gives its rows in sequence.
  Dataset shuffle(uint64_t seed = 0, bool reshuffle_each_iteration = true) const;
  // Reads stretches of rows instead of single ones, for slow disks: see BlockShuffleOptions. Needs
  // random access and comes before batch().
  Dataset shuffle_blocks(const BlockShuffleOptions& options = {}) const;
  // For rows that come in sequence: each is drawn from a window of so many bytes. Before batch().
  Dataset shuffle_window(const data::WindowShuffleOptions& options = {}) const;
  // Rows, or batches after batch(). take(-1) takes all.
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;
  // Every count-th row, from the index-th on: for one of several processes. Before batch().
  Dataset shard(int64_t count, int64_t index) const;
  // The rows of this one, then those of the other, which has fields of the same shapes and roles.
  // Both need random access, and come before batch().
  Dataset concatenate(const Dataset& other) const;
  // Row by row the fields of both, x first, then y; as many rows as the shorter one has. Both need
  // random access, and come before batch().
  static Dataset zip(const Dataset& first, const Dataset& second);
  // With the number of each row, from `start` on, as the first input.
  Dataset enumerate(int64_t start = 0) const;
  // Rows of several data sets in turn: interleave over files is interleave(files, open, options),
  // and flat_map(files, open) one file after the other. All need random access.
  static Dataset interleave(const std::vector<Dataset>& datasets,
                            const InterleaveOptions& options = {});
  template <typename Items, typename Open>
  static Dataset interleave(const Items& items, const Open& open,
                            const InterleaveOptions& options) {
    std::vector<Dataset> datasets;
    for (const auto& item : items) datasets.push_back(open(item));
    return interleave(datasets, options);
  }
  template <typename Items, typename Open>
  static Dataset flat_map(const Items& items, const Open& open) {
    return interleave(items, open, InterleaveOptions{});
  }
  // Stretches of rows, each as one row: see WindowOptions and TimeseriesOptions. Both need random
  // access and come before batch().
  Dataset window(const WindowOptions& options) const;
  Dataset timeseries(const TimeseriesOptions& options) const;
  // Keeps rows that have been read: as many as so many bytes hold, the others are read each time.
  // Needs random access. Before batch().
  Dataset cache(int64_t most_bytes) const;
  // Keeps all rows in a file, which is made now if it is not there; `key` says what else than their
  // fields and number the rows depend on. Gives random access to a generator. Before batch().
  Dataset cache(const Path& file, std::string_view key = "") const;
  // Rows that `function` makes of these, one for one (see data::mapped). Before batch().
  Dataset map(MapRows function, MapSpec spec) const;
  // Only rows for which `keep` says true, in any order; each is asked once, now. Needs random
  // access and holds one bit a row. Before batch().
  Dataset filter(const KeepRow& keep) const;
  // 0, 1, ... count - 1 as an int32 input.
  static Dataset range(int64_t count);
  // A function on data sets, as one verb of a chain.
  template <typename Function>
  auto apply(const Function& function) const {
    return function(*this);
  }
  // Folds all batches of one pass into a value.
  template <typename Value, typename Function>
  Value reduce(Value value, const Function& function) const;

  // Nullopt: without end. After batch(), a batch never holds rows of two repetitions. Throws Error
  // for a source that cannot start again.
  Dataset repeat(std::optional<int64_t> count = std::nullopt) const;
  // How many batches are read while a step runs, on a thread of their own, in slots that the plan
  // counts; -1: as many as help, which is what files get anyway. The function of a generator that
  // can start again is then called by that thread (-1: one batch ahead); without prefetch, and
  // where it cannot start again, by the thread that trains.
  Dataset prefetch(int64_t batches = Source::kAsManyAsHelp) const;
  // The rows of the batches again.
  Dataset unbatch() const { return Dataset(source()); }

  // How many batches one pass has; nullopt when that is not known, or without end.
  std::optional<int64_t> cardinality() const;
  // Whether a pass has no end: after repeat() without a number.
  bool is_endless() const { return endless_ && !cardinality(); }
  BatchSpec spec() const;
  // The same for each bucket, in their order: a step is traced for each. Without buckets one.
  std::vector<BatchSpec> specs() const;

  // For fit: the rows with all verbs applied but the batches, which come next. Throws Error for a
  // repeat() after batch() that leaves short batches in the middle.
  SourcePtr source() const;
  int64_t batch_size() const { return batch_size_.value_or(1); }
  bool drop_remainder() const { return drop_remainder_; }

  // for (const Batch& batch : dataset): one pass, each with a number of its own. A source that
  // cannot start again goes on where it stands. The rows are read into one buffer that is allocated
  // here and belongs to the iterator.
  class Iterator;
  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class BatchReader;

  // What comes after a repeat() that comes after batch(), in batches.
  struct BatchVerbs {
    std::optional<int64_t> repeat;  // Nullopt: without end.
    int64_t skip = 0;
    std::optional<int64_t> take;
  };

  SourcePtr rows() const;
  // rows(), for a verb that needs random access and comes before batch().
  SourcePtr rows_for(std::string_view verb) const;
  Dataset before_shuffle(std::string_view verb,
                         const std::function<SourcePtr(SourcePtr)>& change) const;
  SourcePtr whole_batches() const;
  int64_t in_rows(int64_t count) const;
  BatchSpec spec_of(int64_t batch_size, std::optional<int64_t> steps) const;
  // With verbs that count batches: after buckets all do.
  Dataset counting_batches() const;
  Dataset repeat_batches(std::optional<int64_t> count) const;

  SourcePtr source_;
  std::optional<RowOrder> order_;  // Of a source with random access.
  std::optional<int64_t> batch_size_;
  bool drop_remainder_ = false;
  bool endless_ = false;  // Unless take() has given it an end.
  std::optional<BatchVerbs> batches_;
  std::optional<int64_t> ahead_;           // Of prefetch().
  std::optional<PaddingOptions> padding_;  // Batches are cut to their lengths.
  std::shared_ptr<const Buckets> buckets_;
  std::shared_ptr<uint64_t> passes_;
  std::shared_ptr<std::mutex> source_use_;  // For threads that make rows ahead.
};

class Dataset::Iterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(std::shared_ptr<BatchReader> reader);
  const Batch& operator*() const { return *batch_; }
  const Batch* operator->() const { return batch_; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& iterator, std::default_sentinel_t) {
    return iterator.batch_ == nullptr;
  }

 private:
  std::shared_ptr<BatchReader> reader_;
  const Batch* batch_ = nullptr;
};

template <typename Value, typename Function>
Value Dataset::reduce(Value value, const Function& function) const {
  for (const Batch& batch : *this) value = function(std::move(value), batch);
  return value;
}

}  // namespace snug
