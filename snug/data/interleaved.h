// Several sources as one, their rows in turn.
#pragma once

#include <vector>

#include "snug/data/source.h"

namespace snug {

struct InterleaveOptions {
  int64_t cycle_length = 1;  // So many sources take turns; 1: one after the other.
  int64_t block_length = 1;  // So many rows at a turn.
};

// Which row comes from where, as tf.data's interleave has it: when a source gives less than a
// block, the next one that was not begun takes its place, from its next turn on. Any position can
// be asked for; what is held does not grow with the rows.
class InterleavedOrder {
 public:
  InterleavedOrder(std::vector<int64_t> sizes, const InterleaveOptions& options);

  struct Place {
    int source = 0;
    int64_t row = 0;
  };
  int64_t size() const { return size_; }
  Place place(int64_t position) const;

 private:
  struct Turn {
    int source = 0;
    int64_t row = 0;  // The first that it gives in this phase.
  };
  // From `first` on, `turns` give a block each, again and again.
  struct Phase {
    int64_t first = 0;
    int64_t block = 1;
    std::vector<Turn> turns;
  };
  void add_phase(std::vector<Turn> turns, int64_t block, int64_t rows);

  std::vector<Phase> phases_;
  int64_t size_ = 0;
};

namespace data {

// Sources with random access and the same fields. Throws Error, which names them, when there is
// none, or when fields differ in number, role or shape.
SourcePtr interleaved(std::vector<SourcePtr> sources, const InterleaveOptions& options = {});

}  // namespace data
}  // namespace snug
