// Reads a Dataset batch by batch into a buffer of its own.
#pragma once

#include <optional>
#include <vector>

#include "snug/data/dataset.h"
#include "snug/data/read_ahead.h"

namespace snug {

class BatchReader {
 public:
  // Begins the pass with this number. The buffer holds one batch and is allocated here; rows of
  // files are read ahead, in as much again and on at most so many threads (0: the machine's).
  BatchReader(const Dataset& dataset, uint64_t pass, int threads = 0);

  // The next batch, valid until the next call; null at the end.
  const Batch* next();
  size_t buffer_bytes() const;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  void make_slots();
  void read_ahead(int threads);
  void begin_pass();
  // Up to a batch of the source's next rows.
  int64_t next_rows(std::span<const Tensor> slots);
  // Reads into `slots` what belongs to one batch and says how many rows; begins the next
  // repetition where one ends. 0 at the end.
  int64_t read(std::span<const Tensor> slots);
  // The rows of the next bucket's batch.
  int64_t next_of_buckets(std::span<const Tensor> slots);
  // Leaves out what all rows of the slots have for padding, in place; says how many steps are left.
  int64_t cut(int64_t rows);
  void show(int64_t rows, int64_t steps);

  SourcePtr source_;
  std::unique_ptr<ReadAhead> ahead_;  // Null: the rows are read when they are asked for.
  int64_t position_ = 0;              // Of the next row, where they are read ahead.
  std::vector<int64_t> numbers_;
  int64_t batch_size_;
  bool drop_remainder_;
  Dataset::BatchVerbs verbs_;
  uint64_t pass_;
  int64_t repetition_ = 0;
  int64_t given_ = 0;
  std::vector<Line> buffer_;
  std::vector<Tensor> slots_;  // In the order of the source's fields.
  std::shared_ptr<const Buckets> buckets_;
  size_t bucket_ = 0;                   // Of the last batch.
  std::optional<StepLengths> lengths_;  // Where batches are cut to their longest rows.
  int64_t shown_steps_ = 0;
  Batch batch_;
};

}  // namespace snug
