#include "snug/data/buckets.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/dataset.h"
#include "snug/data/permutation.h"
#include "snug/data/slot_rows.h"

namespace snug {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;

// How many steps there are before those at the end whose elements are all `value`.
template <typename T>
int64_t steps_before(const Tensor& row, int64_t steps, T value) {
  const std::span<T> all = row.as<T>();
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](T x) { return x != value; });
  const int64_t elements = all.rend() - last, step = std::ssize(all) / steps;
  return (elements + step - 1) / step;
}

int64_t steps_of(const Tensor& row, int64_t steps, float value) {
  if (row.dtype() == DType::int32) return steps_before(row, steps, static_cast<int32_t>(value));
  return steps_before(row, steps, value);
}

}  // namespace

StepLengths::StepLengths(std::span<const Field> fields, PaddingOptions options)
    : options_(std::move(options)) {
  const Shape& row = fields[0].row;
  if (row.rank() == 0)
    throw Error("{}: a row is a single number; only rows with steps can be padded", fields[0].name);
  longest_ = row[0];
  for (const Field& field : fields) {
    const bool counts =
        field.role == FieldRole::input || (field.role == FieldRole::target && options_.of_targets);
    has_steps_.push_back(counts && field.row.rank() > 0 && field.row[0] == longest_);
  }
}

int64_t StepLengths::of(std::span<const Tensor> row) const {
  if (!options_.length) return steps_of(row[0], longest_, options_.value);
  const int64_t length = options_.length(row);
  if (length >= 0 && length <= longest_) return length;
  throw Error("the length of a row is said to be {} steps; it must be from 0 to {}, the longest",
              length, longest_);
}

Shape shape_of_steps(Extent rows, int64_t steps, const Shape& row) {
  Shape shape{rows, steps};
  for (int axis = 1; axis < row.rank(); ++axis) shape.push_back(row[axis]);
  return shape;
}

Buckets::Buckets(const SourcePtr& source, const BucketOptions& options) : options_(options) {
  const StepLengths lengths(source->fields(), options.padding);
  add_buckets(lengths.longest(), *source->rows());
  sort_rows(source, lengths);
  for (Bucket& bucket : buckets_) {
    bucket.rows.finish();
    bucket.first_batch = batches_;
    const int64_t rest = options.drop_remainder ? 0 : bucket.batch_size - 1;
    batches_ += (bucket.rows.count() + rest) / bucket.batch_size;
  }
}

void Buckets::add_buckets(int64_t longest, int64_t rows) {
  std::vector<int64_t> lengths = options_.lengths;
  if (lengths.empty() || lengths.back() != longest) lengths.push_back(longest);
  std::vector<int64_t> sizes = options_.batch_sizes;
  if (sizes.empty()) sizes.assign(lengths.size(), options_.batch_size);
  if (sizes.size() != lengths.size()) {
    throw Error("buckets: {} batch sizes were given for {} buckets, up to {} steps; give one each",
                sizes.size(), lengths.size(), longest);
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 1 || lengths[i] > longest || (i > 0 && lengths[i] <= lengths[i - 1])) {
      throw Error("buckets: the length {} does not rise from 1 to {}, the longest row", lengths[i],
                  longest);
    }
    if (sizes[i] < 1) throw Error("buckets: a batch needs at least one row, not {}", sizes[i]);
    buckets_.push_back(
        {.length = lengths[i], .batch_size = sizes[i], .first_batch = 0, .rows = RowSubset(rows)});
  }
}

void Buckets::sort_rows(const SourcePtr& source, const StepLengths& lengths) {
  size_t bytes = 1;
  for (const Field& field : source->fields())
    bytes += static_cast<size_t>(field.row.size()) * size_of(batch_dtype(field));
  const auto block = static_cast<int64_t>(std::max<size_t>(1, kBlockBytes / bytes));
  int64_t number = 0;
  for (const Batch& batch : Dataset(source).batch(std::min(block, *source->rows()))) {
    std::vector<Tensor> fields = batch.x;
    fields.insert(fields.end(), batch.y.begin(), batch.y.end());
    if (batch.sample_weight.data != nullptr) fields.push_back(batch.sample_weight);
    SlotRows rows(fields);
    for (int64_t i = 0; i < batch.rows; ++i, ++number) {
      const int64_t length = lengths.of(rows.at(i, 1));
      const auto bucket =
          std::ranges::find_if(buckets_, [&](const Bucket& some) { return length <= some.length; });
      bucket->rows.add(number);
    }
  }
}

size_t Buckets::batch(uint64_t pass, int64_t number, std::vector<int64_t>& rows) const {
  SNUG_CHECK(number >= 0 && number < batches_);
  if (options_.shuffle) number = Permutation(batches_, options_.seed, pass)(number);
  const auto after =
      std::ranges::find_if(buckets_, [&](const Bucket& some) { return some.first_batch > number; });
  // Buckets without batches begin where the next one does.
  const Bucket& bucket = *(after - 1);
  const auto index = static_cast<size_t>(&bucket - buckets_.data());
  const int64_t first = (number - bucket.first_batch) * bucket.batch_size;
  const int64_t count = std::min(bucket.batch_size, bucket.rows.count() - first);
  const Permutation order(bucket.rows.count(), mix_bits(options_.seed + index + 1), pass);
  rows.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    rows[static_cast<size_t>(i)] = bucket.rows.row(options_.shuffle ? order(first + i) : first + i);
  }
  return index;
}

size_t Buckets::bytes() const {
  size_t bytes = 0;
  for (const Bucket& bucket : buckets_) bytes += bucket.rows.bytes();
  return bytes;
}

}  // namespace snug
