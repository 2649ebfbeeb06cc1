// Any chain of a data set's verbs gives what the same chain gives on a plain list of rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "snug/data/batch_reader.h"
#include "snug/data/dataset.h"

namespace snug {
namespace {

using Random = std::mt19937;
using Rows = std::vector<int32_t>;

Rows rows_of(const Dataset& dataset) {
  Rows rows;
  BatchReader reader(dataset, 0);
  while (const Batch* batch = reader.next()) {
    const std::span<int32_t> values = batch->x[0].as<int32_t>();
    rows.insert(rows.end(), values.begin(), values.end());
  }
  return rows;
}

// A data set, and what it must give.
struct Pair {
  Dataset dataset;
  Rows rows;
  std::string text;
};

Pair take(const Pair& from, size_t count) {
  Rows rows(from.rows.begin(), from.rows.begin() + std::min(count, from.rows.size()));
  return {from.dataset.take(static_cast<int64_t>(count)), rows,
          from.text + fmt::format(".take({})", count)};
}

Pair skip(const Pair& from, size_t count) {
  Rows rows(from.rows.begin() + std::min(count, from.rows.size()), from.rows.end());
  return {from.dataset.skip(static_cast<int64_t>(count)), rows,
          from.text + fmt::format(".skip({})", count)};
}

Pair repeat(const Pair& from, size_t count) {
  Rows rows;
  for (size_t i = 0; i < count; ++i) rows.insert(rows.end(), from.rows.begin(), from.rows.end());
  return {from.dataset.repeat(static_cast<int64_t>(count)), rows,
          from.text + fmt::format(".repeat({})", count)};
}

Pair shard(const Pair& from, size_t count, size_t index) {
  Rows rows;
  for (size_t i = index; i < from.rows.size(); i += count) rows.push_back(from.rows[i]);
  return {from.dataset.shard(static_cast<int64_t>(count), static_cast<int64_t>(index)), rows,
          from.text + fmt::format(".shard({}, {})", count, index)};
}

Pair filter(const Pair& from, int32_t divisor) {
  Rows rows = from.rows;
  std::erase_if(rows, [&](int32_t row) { return row % divisor == 0; });
  return {from.dataset.filter([divisor](std::span<const Tensor> row) {
            return row[0].as<int32_t>()[0] % divisor != 0;
          }),
          rows, from.text + fmt::format(".filter({})", divisor)};
}

Pair map(const Pair& from, int32_t added) {
  Rows rows = from.rows;
  for (int32_t& row : rows) row += added;
  return {from.dataset.map(
              [added](std::span<const Tensor> in, std::span<const Tensor> out) {
                std::ranges::transform(in[0].as<int32_t>(), out[0].as<int32_t>().begin(),
                                       [&](int32_t row) { return row + added; });
              },
              {.x = {Shape{}, DType::int32}, .y = {}}),
          rows, from.text + fmt::format(".map({})", added)};
}

Pair concatenate(const Pair& from) {
  Rows rows = from.rows;
  rows.insert(rows.end(), {0, 1, 2});
  return {from.dataset.concatenate(Dataset::range(3)), rows, from.text + ".concatenate"};
}

Pair any_verb(const Pair& from, Random& random) {
  switch (random() % 7) {
    case 0:
      return take(from, random() % 60);
    case 1:
      return skip(from, random() % 10);
    case 2:
      return repeat(from, 1 + random() % 2);
    case 3: {
      const size_t count = 1 + random() % 3;
      return shard(from, count, random() % count);
    }
    case 4:
      return filter(from, static_cast<int32_t>(2 + random() % 5));
    case 5:
      return map(from, static_cast<int32_t>(random() % 100));
    default:
      return concatenate(from);
  }
}

TEST(DatasetChain, IsThePlainList) {
  Random random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const auto size = static_cast<int64_t>(1 + random() % 50);
    Rows start(static_cast<size_t>(size));
    std::iota(start.begin(), start.end(), 0);
    Pair pair{Dataset::range(size), start, fmt::format("range({})", size)};
    for (size_t verbs = random() % 5; verbs > 0; --verbs) {
      Pair next = any_verb(pair, random);
      if (next.rows.empty()) break;
      pair = std::move(next);
    }
    const auto batch = static_cast<int64_t>(1 + random() % 9);
    EXPECT_EQ(rows_of(pair.dataset.batch(batch)), pair.rows) << pair.text;
    EXPECT_EQ(pair.dataset.source()->rows(), std::ssize(pair.rows)) << pair.text;
    Rows shuffled = rows_of(pair.dataset.shuffle(random()).batch(batch));
    Rows sorted = pair.rows;
    std::ranges::sort(shuffled);
    std::ranges::sort(sorted);
    EXPECT_EQ(shuffled, sorted) << pair.text << ".shuffle";
  }
}

}  // namespace
}  // namespace snug
