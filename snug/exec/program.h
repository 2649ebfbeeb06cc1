// A plan made executable: kernels bound to fixed addresses, one loop over nodes, no allocation
// while it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/graph/graph.h"
#include "snug/plan/instantiate.h"
#include "snug/plan/plan.h"

namespace snug {

class SpillQueue;

// What one node took.
struct NodeProfile {
  std::string name;
  int64_t runs = 0;
  double nanoseconds = 0;
  double bytes = 0;  // Moved by one execution on all rows, by the op's own account.
};

// The first node of a step that gave a number that is not finite.
struct BadNode {
  std::string label;          // Of the node, or of the one within a fused chain: "dense/relu".
  float value = 0;            // inf, -inf or nan.
  std::vector<int64_t> rows;  // Of the batch, that show it; empty where the value has no rows.
};

// Brings the rows of an input, from `first_row` of the batch on, into a slot for as many.
using Feeder = std::function<void(int input, int64_t first_row, const Tensor& slot)>;

class Program {
 public:
  enum class Mode {
    plain,
    // Lanes run one after the other; freed ranges are filled with signalling NaNs, and scratch
    // stands between guards: a kernel that reads what is gone, or writes past its scratch, is
    // found. The same bits as plain.
    checked,
    profiled,
  };

  // The graph must outlive the program. Validates the plan.
  Program(const Graph& graph, Instance instance, Plan plan);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  size_t arena_bytes() const { return static_cast<size_t>(plan_.arena_bytes); }
  int64_t rows() const { return instance_.rows; }
  const Plan& plan() const { return plan_; }
  const Problem& problem() const { return instance_.problem; }

  // Compiles the kernels, once; bind() does it where it was not done. `goes_on` is asked before
  // each: when it says no, the others are left, and so says the result; such a program never runs.
  bool compile(const std::function<bool()>& goes_on = {});
  size_t kernel_count() const;
  // At most about what the compiled kernels hold.
  int64_t kernel_bytes() const;
  // See Kernel: of all of them, once compiled.
  void rest();
  void wake();
  // About what bind() adds to the heap.
  int64_t bytes_to_bind() const;
  // Compiles the kernels and binds them to an arena of arena_bytes() and to the memory of each
  // variable and borrowed input (indexed by the graph's value number; null elsewhere). May be
  // called again with other memory.
  // A plan with transfers needs a queue for them, and an arena that stands on a page.
  void bind(std::byte* arena, const std::vector<void*>& outside, SpillQueue* spill = nullptr);
  // Rebinds one borrowed input. Cheap: meant for every step.
  void bind_borrowed(Value input, const void* memory);

  // Who brings the rows of inputs that have no slot; without, they are whatever stands there. One
  // call at a time. What it throws comes out of compute() or commit().
  void set_feeder(Feeder feeder) { feeder_ = std::move(feeder); }

  // The nodes that compute, then those that commit state. Between the two stands the guard.
  void compute(const StepInfo& step, Mode mode = Mode::plain);
  void commit(const StepInfo& step, Mode mode = Mode::plain);
  void run(const StepInfo& step, Mode mode = Mode::plain) {
    compute(step, mode);
    commit(step, mode);
  }

  // The same node by node: each runs the next one, in the plan's order, and calls `visit` with it.
  // Every value is readable afterwards if the instance kept all.
  using Visit = std::function<void(const Node&)>;
  void compute_each(const StepInfo& step, const Visit& visit);
  void commit_each(const StepInfo& step, const Visit& visit);

  // Computes once more, node by node on one thread, without committing anything, and looks at every
  // result. The rows must still be in their slots. Nullopt: all is finite.
  std::optional<BadNode> find_bad_node(const StepInfo& step);

  // Between compute() and commit(): what a committing node is about to read. Null where it stands
  // in the arena no longer, or not yet.
  const void* pending(Value value) const;

  // Where a value stands: an input's slot, a result, a variable. Throws InternalError for one that
  // lives in parts only.
  Tensor tensor(Value value) const;

  // Of all runs in profiled mode, in the plan's order.
  const std::vector<NodeProfile>& profile() const { return profile_; }

 private:
  struct Bound;
  struct BoundStage;

  void find_addresses();
  void bind_node(int step, std::byte* arena, const std::vector<void*>& outside);
  void run_stages(bool commits, const StepInfo& step, Mode mode);
  void run_each(bool commits, const StepInfo& step, const Visit& visit);
  void run_stage(const BoundStage& stage, const StepInfo& step);
  void run_lane(const BoundStage& stage, int lane, const StepInfo& step);
  void run_node(Bound& bound, const BoundStage& stage, int lane, int part,
                const StepInfo& step) const;
  void transfer(const Bound& bound) const;
  void run_sum(Bound& bound, const BoundStage& stage, int lane, int part, Run run) const;
  void add_term(Bound& bound, const Kernel& kernel, Run run, int place, bool first) const;
  void add_partials(const BoundStage& stage);
  void run_checked(const BoundStage& stage, const StepInfo& step);
  void run_profiled(const BoundStage& stage, const StepInfo& step);
  void fill_dead(int step, int lane, bool local);
  void feed(const Bound& bound, int64_t rows, int64_t first_row, void* slot) const;
  void rethrow_feed_error() const;
  struct FeedErrors;
  class Watch;

  const Graph* graph_;
  Instance instance_;
  Plan plan_;
  bool compiled_ = false;
  std::byte* arena_ = nullptr;
  SpillQueue* spill_ = nullptr;
  std::vector<void*> outside_;
  std::vector<std::byte*> address_;  // Of each value of the graph that a caller may look at.
  std::vector<std::unique_ptr<Bound>> bound_;
  std::vector<BoundStage> stages_;
  std::vector<NodeProfile> profile_;
  Feeder feeder_;
  std::unique_ptr<FeedErrors> feed_errors_;
};

// Plans a graph within a budget and makes its program: instantiate, make_plan, Program.
Program make_program(const Graph& graph, const Values& results, int64_t rows, const Target& target,
                     int64_t budget_bytes = kUnlimited, const InstantiateOptions& options = {});

}  // namespace snug
