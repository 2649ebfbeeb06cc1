#include "snug/plan/lifetimes.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {
namespace {

// Live bytes by step, for weighing an overwrite by a smaller value. One lane counts as an arena of
// its own.
using Profile = std::vector<int64_t>;

class Builder {
 public:
  Builder(const Problem& problem, const Schedule& schedule) : problem_(problem) {
    current_.assign(problem.values.size(), -1);
    for (size_t v = 0; v < problem.values.size(); ++v) {
      if (problem.values[v].given) make_buffer(static_cast<int>(v), 0, -1);
    }
    for (const StageRun& run : schedule) add_stage(run);
    finish_buffers();
    share_places();
    make_blocks();
  }

  Lifetimes take() { return std::move(result_); }

 private:
  // What Buffer does not say: the stages that touch it, and the chain that it is part of.
  struct Use {
    int first_stage = -1, last_stage = -1;
    int first = 0, last = 0;  // Steps for which its bytes are taken.
    int over = -1;            // The buffer that it overwrites.
    int under = -1;           // The buffer that overwrites it.
    int head = -1;            // The first of its chain.
  };

  int make_buffer(int value, int step, int stage) {
    const int id = static_cast<int>(result_.buffers.size());
    result_.buffers.push_back({.value = value,
                               .bytes = problem_.values[value].bytes,
                               .first_step = step,
                               .last_step = step});
    uses_.push_back({.first_stage = stage, .last_stage = stage});
    current_[value] = id;
    return id;
  }

  void add_stage(const StageRun& run) {
    const int stage = static_cast<int>(result_.stages.size());
    const int first = static_cast<int>(result_.steps.size());
    for (const int node : run.nodes) add_step(node, stage);
    result_.stages.push_back({.first_step = first,
                              .last_step = static_cast<int>(result_.steps.size()),
                              .parts = problem_.stages[run.stage].parts,
                              .lanes = problem_.stages[run.stage].lanes});
  }

  void add_step(int node, int stage) {
    const int step = static_cast<int>(result_.steps.size());
    PlanStep plan_step{.node = node};
    for (const int value : problem_.nodes[node].in) {
      const int buffer = current_[value];
      SNUG_CHECK(buffer >= 0, "node {} reads {}, which nothing has made", problem_.nodes[node].name,
                 problem_.values[value].name);
      result_.buffers[buffer].last_step = step;
      uses_[buffer].last_stage = stage;
      plan_step.in.push_back(buffer);
    }
    for (const int value : problem_.nodes[node].out) {
      plan_step.out.push_back(make_buffer(value, step, stage));
    }
    result_.steps.push_back(std::move(plan_step));
    stage_of_.push_back(stage);
  }

  bool in_parts(int step) const {
    return step < static_cast<int>(stage_of_.size()) && result_.stages[stage_of_[step]].parts > 1;
  }

  void finish_buffers() {
    const int steps = static_cast<int>(result_.steps.size());
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      if (problem_.values[v].pinned && current_[v] >= 0)
        result_.buffers[current_[v]].last_step = steps;
    }
    for (size_t b = 0; b < result_.buffers.size(); ++b) {
      Buffer& buffer = result_.buffers[b];
      Use& use = uses_[b];
      const ProblemValue& value = problem_.values[buffer.value];
      buffer.local = in_parts(buffer.first_step) && use.first_stage >= 0 &&
                     use.first_stage == use.last_stage && buffer.last_step < steps &&
                     value.part_bytes > 0;
      if (buffer.local) buffer.bytes = value.part_bytes;
      use.first = buffer.first_step;
      use.last = buffer.last_step;
      if (buffer.local) continue;
      if (in_parts(use.first)) use.first = result_.stages[stage_of_[use.first]].first_step;
      if (in_parts(use.last)) use.last = result_.stages[stage_of_[use.last]].last_step - 1;
    }
  }

  bool is_paged(size_t b) const {
    return !result_.buffers[b].local && problem_.values[result_.buffers[b].value].paged;
  }
  int64_t place_of(size_t b) const {
    return place_bytes(problem_, result_.buffers[b].bytes, is_paged(b));
  }

  Profile profile_of(bool local) const {
    Profile live(result_.steps.size() + 2, 0);
    for (size_t b = 0; b < uses_.size(); ++b) {
      if (result_.buffers[b].local != local) continue;
      live[uses_[b].first] += place_of(b);
      live[uses_[b].last + 1] -= place_of(b);
    }
    for (size_t t = 1; t < live.size(); ++t) live[t] += live[t - 1];
    return live;
  }

  void share_places() {
    Profile live[2] = {profile_of(false), profile_of(true)};
    for (size_t b = 0; b < uses_.size(); ++b) uses_[b].head = static_cast<int>(b);
    // In order: what stands in a place has the first of all that stood there.
    for (const PlanStage& stage : result_.stages) {
      std::vector<int> spent;
      for (int step = stage.first_step; step < stage.last_step; ++step) {
        share_by_kernel(step, live);
        if (stage.parts > 1) share_by_parts(step, spent, live[0]);
      }
    }
  }

  void share_by_kernel(int step, Profile (&live)[2]) {
    const PlanStep& plan_step = result_.steps[step];
    for (const Overwrite& overwrite : problem_.nodes[plan_step.node].overwrites) {
      const int in = plan_step.in[overwrite.input], out = plan_step.out[overwrite.output];
      if (may_overwrite(step, in, out)) share(step, in, out, live[result_.buffers[out].local]);
    }
  }

  // A part that has read its rows of a value for the last time may write other rows in their place:
  // no other part reads these. `spent` are those of the stage so far.
  void share_by_parts(int step, std::vector<int>& spent, Profile& live) {
    for (const int out : result_.steps[step].out) {
      if (uses_[out].over >= 0 || result_.buffers[out].local) continue;
      const auto in = std::ranges::find_if(spent, [&](int b) { return takes_rows_of(out, b); });
      if (in != spent.end()) share(step, *in, out, live);
    }
    for (const int in : result_.steps[step].in) {
      const bool is_older = uses_[in].first_stage != stage_of_[step];
      if (result_.buffers[in].last_step == step && is_older) spent.push_back(in);
    }
  }

  bool takes_rows_of(int out, int in) const {
    if (uses_[in].under >= 0 || (is_paged(out) && !is_paged(in))) return false;
    return are_same_rows(result_.buffers[in], result_.buffers[out]);
  }

  bool are_same_rows(const Buffer& a, const Buffer& b) const {
    return a.bytes == b.bytes && a.bytes > 0 && problem_.values[a.value].part_bytes > 0 &&
           problem_.values[b.value].part_bytes > 0;
  }

  bool may_overwrite(int step, int in, int out) const {
    const Buffer &from = result_.buffers[in], &to = result_.buffers[out];
    if (uses_[in].under >= 0 || uses_[out].over >= 0) return false;
    if (from.last_step != step || from.local != to.local || to.bytes == 0) return false;
    const std::vector<int>& read = result_.steps[step].in;
    if (std::count(read.begin(), read.end(), in) != 1) return false;
    if (is_paged(out) && !is_paged(in)) return false;
    if (from.local || !in_parts(step))
      return problem_.aligned(to.bytes) <= problem_.aligned(from.bytes);
    // Other parts may still read their rows of the input, so each part must write exactly the rows
    // that it has read.
    return are_same_rows(from, to);
  }

  // An overwrite by a value of the same size only saves. A smaller one keeps the larger place busy
  // for its own life: it is taken only where that does not raise the peak of that stretch.
  void share(int step, int in, int out, Profile& live) {
    const int64_t place = place_of(uses_[in].head);
    const int64_t bytes = place_of(out);
    const int last = uses_[out].last;
    if (bytes < place) {
      int64_t later = 0;
      for (int t = step + 1; t <= last; ++t) later = std::max(later, live[t]);
      if (later + place - bytes > std::max(later, live[step])) return;
      for (int t = step + 1; t <= last; ++t) live[t] += place - bytes;
    }
    for (int t = uses_[out].first; t <= uses_[in].last; ++t) live[t] -= bytes;
    uses_[in].under = out;
    uses_[out].over = in;
    uses_[out].head = uses_[in].head;
  }

  void make_blocks() {
    result_.lanes.resize(result_.stages.size());
    std::vector<Block> chains(uses_.size());
    for (size_t b = 0; b < uses_.size(); ++b) {
      Block& chain = chains[uses_[b].head];
      if (chain.buffers.empty()) {
        chain.item = {uses_[b].first, uses_[b].last, place_of(b)};
        chain.paged = is_paged(b);
      }
      chain.item.last = std::max(chain.item.last, uses_[b].last);
      chain.buffers.push_back(static_cast<int>(b));
    }
    for (Block& chain : chains) {
      if (chain.buffers.empty() || chain.item.bytes == 0) continue;
      blocks_of(chain.item.first, result_.buffers[chain.buffers[0]].local)
          .push_back(std::move(chain));
    }
    for (int step = 0; step < static_cast<int>(result_.steps.size()); ++step) {
      const int64_t bytes = problem_.nodes[result_.steps[step].node].scratch_bytes;
      if (bytes == 0) continue;
      blocks_of(step, in_parts(step))
          .push_back({.item = {step, step, problem_.aligned(bytes)}, .scratch_step = step});
    }
  }

  std::vector<Block>& blocks_of(int step, bool local) {
    return local ? result_.lanes[stage_of_[step]] : result_.arena;
  }

  const Problem& problem_;
  Lifetimes result_;
  std::vector<Use> uses_;      // By buffer.
  std::vector<int> current_;   // By value: its newest buffer.
  std::vector<int> stage_of_;  // By step: the plan's stage.
};

}  // namespace

Lifetimes lifetimes(const Problem& problem, const Schedule& schedule) {
  return Builder(problem, schedule).take();
}

}  // namespace snug
