#include "snug/data/dataset.h"

#include <algorithm>
#include <utility>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/data/batch_reader.h"
#include "snug/data/cached.h"
#include "snug/data/joined.h"
#include "snug/data/ordered.h"
#include "snug/data/sequence_ahead.h"
#include "snug/data/shared_source.h"

namespace snug {

DType batch_dtype(const Field& field) {
  switch (field.stored) {
    case StoredType::float16:
    case StoredType::float32:
    case StoredType::float64:
      return DType::float32;
    case StoredType::int8:
    case StoredType::int16:
    case StoredType::uint8:
    case StoredType::uint16:
      return field.role == FieldRole::target ? DType::int32 : DType::float32;
    default:
      return field.role == FieldRole::weight ? DType::float32 : DType::int32;
  }
}

DType held_dtype(const Field& field) {
  const bool is_wide = field.stored == StoredType::int64 || field.stored == StoredType::uint32 ||
                       field.stored == StoredType::uint64;
  return is_wide && field.role != FieldRole::weight ? DType::int64 : batch_dtype(field);
}

Dataset::Dataset(SourcePtr source)
    : source_(data::shared(std::move(source))),
      passes_(std::make_shared<uint64_t>(0)),
      source_use_(std::make_shared<std::mutex>()) {
  if (source_->access() == Access::random) order_.emplace(*source_->rows());
}

Dataset Dataset::from_tensor_slices(const data::ArraysOptions& arrays) {
  return Dataset(data::arrays(arrays));
}

Dataset Dataset::from_tensors(const data::ArraysOptions& arrays) {
  data::ArraysOptions whole = arrays;
  const auto as_one_row = [](Array& array) {
    Shape shape{1};
    for (const Extent extent : array.shape.extents()) shape.push_back(extent);
    array.shape = shape;
  };
  std::ranges::for_each(whole.x, as_one_row);
  std::ranges::for_each(whole.y, as_one_row);
  if (whole.sample_weight.data != nullptr) as_one_row(whole.sample_weight);
  return Dataset(data::arrays(whole));
}

Dataset Dataset::from_tensor_slices(const Array& x, const Array& y) {
  return Dataset(data::arrays(x, y));
}

Dataset Dataset::from_generator(NextRows next, GeneratorSpec spec) {
  return Dataset(data::generator(std::move(next), std::move(spec)));
}

Dataset Dataset::from_ragged(const data::RaggedOptions& x) { return Dataset(data::ragged(x)); }

Dataset Dataset::from_ragged(const data::RaggedOptions& x, const Array& y) {
  return Dataset(data::zipped(data::ragged(x), data::arrays({.x = {}, .y = {y}})));
}

Dataset Dataset::batch(int64_t size, bool drop_remainder) const {
  if (size < 1) throw Error("Dataset: batch({}): a batch needs at least one row", size);
  if (batch_size_) {
    throw Error("Dataset: batch({}) after batch({}); batch once", size, *batch_size_);
  }
  Dataset result = *this;
  result.batch_size_ = size;
  result.drop_remainder_ = drop_remainder;
  return result;
}

Dataset Dataset::padded_batch(int64_t size, bool drop_remainder,
                              const PaddingOptions& padding) const {
  const StepLengths check(source_->fields(), padding);
  Dataset result = batch(size, drop_remainder);
  result.padding_ = padding;
  return result;
}

Dataset Dataset::bucket_by_sequence_length(const BucketOptions& options) const {
  BucketOptions own = options;
  SourcePtr rows = rows_for("bucket_by_sequence_length");
  if (order_ && order_->shuffle_alone(0)) {
    rows = source_;
    own.shuffle = true;
    own.seed = order_->seed();
  }
  Dataset result(data::pinned(std::move(rows)));
  result.buckets_ = std::make_shared<const Buckets>(result.source_, own);
  result.padding_ = own.padding;
  result.batch_size_ = 1;
  for (size_t i = 0; i < result.buckets_->count(); ++i)
    result.batch_size_ = std::max(*result.batch_size_, result.buckets_->batch_size(i));
  return result;
}

Dataset Dataset::counting_batches() const {
  Dataset result = *this;
  if (buckets_ && !batches_) result.batches_ = BatchVerbs{.repeat = 1};
  return result;
}

Dataset Dataset::shuffle(uint64_t seed, bool reshuffle_each_iteration) const {
  if (batch_size_) {
    throw Error(
        "Dataset: shuffle after batch would keep the same rows together; put shuffle before batch");
  }
  if (!order_) {
    throw Error(
        "Dataset: shuffle: {} and its fellows come in sequence and cannot be reordered; shuffle "
        "where they are made, or give shuffle_window() the bytes that may wait",
        source_->fields()[0].name);
  }
  Dataset result = *this;
  result.order_ = order_->shuffle(seed, reshuffle_each_iteration);
  return result;
}

SourcePtr Dataset::rows_for(std::string_view verb) const {
  if (batch_size_) throw Error("Dataset: {} after batch; put {} before it", verb, verb);
  SourcePtr source = rows();
  if (source->access() != Access::random) {
    throw Error("Dataset: {}: {} and its fellows come in sequence; {} needs rows with numbers",
                verb, source->fields()[0].name, verb);
  }
  return source;
}

// What remembers rows by their numbers comes before a shuffle that was called first: the rows that
// stay are shuffled as well, and anew in each pass.
Dataset Dataset::before_shuffle(std::string_view verb,
                                const std::function<SourcePtr(SourcePtr)>& change) const {
  SourcePtr rows = rows_for(verb);
  if (!order_ || !order_->shuffle_alone(0)) return Dataset(change(std::move(rows)));
  Dataset result(change(source_));
  result.order_ = order_->shuffle_alone(*result.source_->rows());
  return result;
}

Dataset Dataset::shard(int64_t count, int64_t index) const {
  rows_for("shard");
  Dataset result = *this;
  result.order_ = order_->shard(count, index);
  return result;
}

Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(data::concatenated(rows_for("concatenate"), other.rows_for("concatenate")));
}

Dataset Dataset::zip(const Dataset& first, const Dataset& second) {
  return Dataset(data::zipped(first.rows_for("zip"), second.rows_for("zip")));
}

Dataset Dataset::shuffle_blocks(const BlockShuffleOptions& options) const {
  return Dataset(data::block_shuffled(rows_for("shuffle_blocks"), options));
}

Dataset Dataset::shuffle_window(const data::WindowShuffleOptions& options) const {
  if (batch_size_) throw Error("Dataset: shuffle_window after batch; put it before");
  if (order_) return shuffle(options.seed, options.reshuffle_each_iteration);
  Dataset result(data::window_shuffled(rows(), options));
  result.endless_ = endless_;
  return result;
}

Dataset Dataset::enumerate(int64_t start) const {
  const SourcePtr source = rows_for("enumerate");
  return Dataset(data::zipped(data::numbered(*source->rows(), start), source));
}

Dataset Dataset::interleave(const std::vector<Dataset>& datasets,
                            const InterleaveOptions& options) {
  std::vector<SourcePtr> sources;
  for (const Dataset& dataset : datasets) sources.push_back(dataset.rows_for("interleave"));
  return Dataset(data::interleaved(std::move(sources), options));
}

Dataset Dataset::window(const WindowOptions& options) const {
  return Dataset(data::windows(rows_for("window"), options));
}

Dataset Dataset::timeseries(const TimeseriesOptions& options) const {
  return Dataset(data::timeseries(rows_for("timeseries"), options));
}

Dataset Dataset::cache(int64_t most_bytes) const {
  return before_shuffle("cache", [&](SourcePtr rows) { return data::cached(rows, most_bytes); });
}

Dataset Dataset::cache(const Path& file, std::string_view key) const {
  if (batch_size_) throw Error("Dataset: cache after batch; put cache before it");
  Dataset result(data::cached_in_file(rows(), file, key));
  result.endless_ = endless_;
  return result;
}

Dataset Dataset::prefetch(int64_t batches) const {
  if (batches < -1) throw Error("Dataset: prefetch({}): give -1 or more", batches);
  Dataset result = *this;
  result.ahead_ = batches;
  return result;
}

Dataset Dataset::map(MapRows function, MapSpec spec) const {
  return Dataset(data::mapped(rows_for("map"), std::move(function), std::move(spec)));
}

Dataset Dataset::filter(const KeepRow& keep) const {
  return before_shuffle("filter", [&](SourcePtr rows) { return data::filtered(rows, keep); });
}

Dataset Dataset::range(int64_t count) {
  if (count < 1) throw Error("Dataset: range({}): at least one row is needed", count);
  return Dataset(data::numbered(count));
}

// A number of batches as rows, or as it is before batch().
int64_t Dataset::in_rows(int64_t count) const {
  int64_t rows = 0;
  return __builtin_mul_overflow(count, batch_size_.value_or(1), &rows) ? RowOrder::kEndless : rows;
}

Dataset Dataset::take(int64_t count) const {
  if (count == -1) return *this;
  if (count < 0) throw Error("Dataset: take({}): the number must not be negative", count);
  Dataset result = counting_batches();
  result.endless_ = false;
  if (result.batches_) {
    result.batches_->take = std::min(count, result.batches_->take.value_or(count));
  } else if (order_) {
    result.order_ = order_->take(in_rows(count));
  } else {
    result.source_ = data::stretched(source_, {.take = in_rows(count)});
  }
  return result;
}

Dataset Dataset::skip(int64_t count) const {
  if (count < 0) throw Error("Dataset: skip({}): the number must not be negative", count);
  Dataset result = counting_batches();
  if (result.batches_) {
    BatchVerbs& verbs = *result.batches_;
    verbs.skip += count;
    if (verbs.take) verbs.take = std::max<int64_t>(0, *verbs.take - count);
  } else if (order_) {
    result.order_ = order_->skip(in_rows(count));
  } else {
    result.source_ = data::stretched(source_, {.skip = in_rows(count)});
  }
  return result;
}

Dataset Dataset::repeat(std::optional<int64_t> count) const {
  if (count && *count < 0) {
    throw Error("Dataset: repeat({}): the number must not be negative", *count);
  }
  if (source_->access() == Access::once) {
    throw Error(
        "Dataset: repeat: {} cannot start again; give the generator's spec a .restart, or read it "
        "once",
        source_->fields()[0].name);
  }
  if (batch_size_) return repeat_batches(count);
  Dataset result = *this;
  result.endless_ = endless_ || !count;
  if (order_) {
    result.order_ = order_->repeat(count);
  } else {
    result.source_ = data::stretched(source_, {.repeat = count});
  }
  return result;
}

Dataset Dataset::repeat_batches(std::optional<int64_t> count) const {
  Dataset result = *this;
  result.endless_ = endless_ || !count;
  if (!batches_) {
    result.batches_ = BatchVerbs{.repeat = count};
  } else if (batches_->skip != 0 || batches_->take) {
    throw Error(
        "Dataset: repeat after skip or take after repeat, all in batches, is not possible; "
        "repeat once, or before batch");
  } else if (batches_->repeat && count) {
    result.batches_->repeat = *batches_->repeat * *count;
  } else {
    result.batches_->repeat = std::nullopt;
  }
  return result;
}

SourcePtr Dataset::rows() const {
  SourcePtr rows = order_ ? data::ordered(source_, *order_) : source_;
  if (!ahead_) return rows;
  if (rows->access() == Access::replay && *ahead_ != 0) {
    const int64_t batches = *ahead_ == Source::kAsManyAsHelp ? 1 : *ahead_;
    return data::made_ahead(std::move(rows),
                            {.batches = batches, .batch_rows = batch_size(), .use = source_use_});
  }
  if (*ahead_ == Source::kAsManyAsHelp || rows->access() != Access::random) return rows;
  return data::prefetched(std::move(rows), *ahead_);
}

std::optional<int64_t> Dataset::cardinality() const {
  const std::optional<int64_t> count = rows()->rows();
  std::optional<int64_t> batches;
  if (buckets_) {
    batches = buckets_->batches();
  } else if (count) {
    batches = drop_remainder_ ? *count / batch_size() : (*count + batch_size() - 1) / batch_size();
  }
  if (!batches_ || batches == 0) return batches;
  if (batches && batches_->repeat) {
    batches = std::max<int64_t>(0, *batches * *batches_->repeat - batches_->skip);
  } else {
    batches = batches ? batches_->take : std::nullopt;
  }
  return batches && batches_->take ? std::min(*batches, *batches_->take) : batches;
}

BatchSpec Dataset::spec() const { return spec_of(batch_size(), std::nullopt); }

BatchSpec Dataset::spec_of(int64_t batch_size, std::optional<int64_t> steps) const {
  BatchSpec spec{.batch_size = batch_size};
  std::optional<StepLengths> lengths;
  if (steps) lengths.emplace(source_->fields(), *padding_);
  for (size_t i = 0; i < source_->fields().size(); ++i) {
    const Field& field = source_->fields()[i];
    Shape shape{kRows};
    for (const Extent extent : field.row.extents()) shape.push_back(extent);
    if (lengths && lengths->has_steps(i)) shape = shape_of_steps(kRows, *steps, field.row);
    if (field.role == FieldRole::input) spec.inputs.push_back({batch_dtype(field), shape});
    if (field.role == FieldRole::target) spec.targets.push_back({batch_dtype(field), shape});
  }
  return spec;
}

std::vector<BatchSpec> Dataset::specs() const {
  if (!buckets_) return {spec()};
  std::vector<BatchSpec> specs;
  for (size_t i = 0; i < buckets_->count(); ++i)
    specs.push_back(spec_of(buckets_->batch_size(i), buckets_->length(i)));
  return specs;
}

SourcePtr Dataset::source() const {
  if (buckets_) {
    if (batches_)
      throw Error("Dataset: take, skip and repeat of buckets are for loops of one's own");
    log_message(
        LogLevel::warning,
        "buckets are left aside: fit computes every row with all of its {} steps; a loop of "
        "one's own traces a step for each of Dataset::specs()",
        StepLengths(source_->fields(), *padding_).longest());
    return rows();
  }
  if (!batches_ && drop_remainder_) return whole_batches();
  if (!batches_) return rows();
  const std::optional<int64_t> count = rows()->rows();
  const bool whole = count && (drop_remainder_ || *count % batch_size() == 0);
  if (!whole) {
    throw Error(
        "Dataset: repeat after batch({}) leaves a short batch at the end of each repetition; put "
        "repeat before batch, or drop_remainder",
        batch_size());
  }
  Dataset unbatched = *this;
  unbatched.batches_.reset();
  unbatched.batch_size_.reset();
  unbatched = unbatched.take(*count / batch_size() * batch_size()).repeat(batches_->repeat);
  unbatched = unbatched.skip(in_rows(batches_->skip));
  if (batches_->take) unbatched = unbatched.take(in_rows(*batches_->take));
  return unbatched.rows();
}

// Without the rows that no whole batch is left for.
SourcePtr Dataset::whole_batches() const {
  const std::optional<int64_t> count = rows()->rows();
  if (!count) {
    throw Error(
        "Dataset: drop_remainder needs a number of rows that is known; give the generator's "
        "spec .rows, or leave it out");
  }
  return take(*count / batch_size()).rows();
}

Dataset::Iterator Dataset::begin() const {
  return Iterator(std::make_shared<BatchReader>(*this, (*passes_)++));
}

Dataset::Iterator::Iterator(std::shared_ptr<BatchReader> reader)
    : reader_(std::move(reader)), batch_(reader_->next()) {}

Dataset::Iterator& Dataset::Iterator::operator++() {
  batch_ = reader_->next();
  return *this;
}

}  // namespace snug
