// Brings the rows of a source into a program's slots, batch by batch.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "snug/data/data_print.h"
#include "snug/data/permutation.h"
#include "snug/data/read_ahead.h"
#include "snug/data/source.h"
#include "snug/train/runner.h"

namespace snug {

// The rows of a source that one pass goes over: [first, first + count) where they are numbered.
struct RowRange {
  int64_t first = 0;
  std::optional<int64_t> count;  // Nullopt: until the source ends.
};

struct StagerOptions {
  RowRange range;
  int64_t batch_size = 32;
  bool shuffle = false;
  uint64_t seed = 0;
  bool drop_remainder = false;
  std::map<int64_t, double> class_weight;  // Turns labels into weights; the step must be weighted.
};

// Whether inputs are brought while it runs: then they are nothing that it is given.
bool feeds(const Program& program);

class Stager {
 public:
  Stager(SourcePtr source, const StagerOptions& options);

  // The row counts of its batches: the full one, and the rest where there is one.
  std::vector<int64_t> batch_rows() const;
  // Rows that stand for those of a last batch of unknown size; 0 where there is no such batch.
  int64_t spare_rows() const;
  // Batches of one pass, where the number of rows is known.
  std::optional<int64_t> batches() const;
  // Whether all inputs and targets can be read where the caller has them.
  bool can_borrow(const StepGraph& step) const;
  // Whether the rows of inputs can be brought while a step runs, part by part.
  bool can_feed() const { return source_->access() == Access::random; }

  // Whether reading takes time that is worth hiding: rows in files.
  bool can_read_ahead() const;
  // How its rows would be read ahead in so many bytes, and the bytes that are worth it.
  ReadAheadOptions ahead_options(const StepGraph& step, int64_t bytes, int threads) const;
  int64_t worthwhile_bytes(const StepGraph& step) const;
  // From now on they are. Its memory is taken here.
  void read_ahead(const ReadAheadOptions& options);
  Source& source() const { return *source_; }
  // Of the rows of a pass, read into some memory row by row; begin_pass() comes after it.
  DataPrint data_print(const StepGraph& step, std::span<std::byte> memory, bool twice) const;

  // Runs every program once on whatever stands in its slots, without committing: nothing is read
  // from the source. See FitRun::warm_up.
  void warm_up(Runner& runner);

  // Starts a pass: the order of rows depends on the seed and the pass only.
  void begin_pass(uint64_t pass);
  // Fills the slots of the runner's program for the next batch and returns it with its rows;
  // nullopt at the end of the pass. Throws DataError that names the row and the value when a label
  // does not fit the model, or a table that is looked up has no such row.
  struct Batch {
    Program* program = nullptr;
    int64_t rows = 0;
    StepInfo info;
  };
  std::optional<Batch> next(Runner& runner);
  // A position in the rows of a pass; enough to go on from there where the source has random
  // access.
  struct Place {
    uint64_t pass = 0;
    int64_t position = 0;
  };
  Place place() const { return {pass_, position_}; }           // Of the next batch.
  Place batch_place() const { return {pass_, batch_first_}; }  // Of the last one.
  bool can_wind() const { return source_->access() == Access::random; }
  // The next batch begins there. Rows of a source that can only be replayed are read up to there; a
  // source that cannot go back goes on where it stands.
  void wind(const Place& place, Runner& runner);
  // Of the last batch, in the source.
  std::span<const int64_t> row_numbers() const {
    return {numbers_.data(), static_cast<size_t>(position_ - batch_first_)};
  }
  // Where one of them stands: "row 17" of the data as it was given, "adult.csv: line 19".
  std::string row_place(int64_t number) const;
  // Whether all rows of the pass were given; false where their number is not known.
  bool is_at_end() const { return options_.range.count && position_ >= *options_.range.count; }

 private:
  struct Slots;
  const Slots& slots_of(Runner& runner, Program& program);
  void announce();
  std::optional<Batch> next_in_order(Runner& runner);
  std::optional<Batch> next_in_sequence(Runner& runner);
  Program& move_to_short(Runner& runner, const Slots& slots, int64_t rows);
  void fill(const Slots& slots, Runner& runner, Program& program, int64_t rows);
  void lend(int field, Value value, Program& program, int64_t rows) const;
  void feed(const Slots& slots, int input, int64_t first_row, const Tensor& slot);
  void check_ids(const Slots& slots, size_t field, const Tensor& slot, int64_t first_row) const;
  void check_rows(const Slots& slots, const StepGraph& step) const;
  void check_labels(const Slots& slots, const StepGraph& step) const;
  void check_probabilities(const Slots& slots, size_t index) const;
  void lint_distribution(const Field& field, const Slots& slots, size_t index) const;
  void weigh(const Slots& slots) const;

  SourcePtr source_;
  std::shared_ptr<ReadAhead> ahead_;  // Then it is the source.
  StagerOptions options_;
  std::optional<Permutation> order_;
  uint64_t pass_ = 0;
  int64_t position_ = 0, batch_first_ = 0;
  std::vector<int64_t> numbers_;  // Of the batch's rows.
  std::vector<std::shared_ptr<Slots>> slots_;
  int64_t bindings_ = 0;  // Of the runner, that the slots are of.
  mutable bool has_linted_ = false;
};

}  // namespace snug
