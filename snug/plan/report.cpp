#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/plan/bounds.h"
#include "snug/plan/plan.h"
#include "snug/plan/transfers.h"

namespace snug {
namespace {

constexpr int kTopValues = 12;
constexpr std::array kKindNames = {"input",    "weight",  "state", "activation",
                                   "gradient", "partial", "result"};

// One line of the table of what lives at the peak.
struct Holder {
  std::string name, kind;
  int64_t bytes = 0;
  int first = 0, last = 0;
};

class Reporter {
 public:
  Reporter(const Problem& problem, const Plan& plan, int64_t memory_bytes)
      : problem_(problem), plan_(plan), memory_bytes_(memory_bytes) {
    stage_of_.resize(plan.steps.size());
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      for (int t = plan.stages[s].first_step; t < plan.stages[s].last_step; ++t) {
        stage_of_[t] = static_cast<int>(s);
      }
    }
    collect();
    find_peak();
  }

  std::string text() const { return totals() + peak_lines() + kind_lines() + top_lines(); }

 private:
  bool in_parts(int step) const {
    return step < static_cast<int>(stage_of_.size()) && plan_.stages[stage_of_[step]].parts > 1;
  }

  // An overwritten input gives its bytes to the output at the step that overwrites it; in a stage
  // in parts that may be a later one than the last that reads it.
  std::vector<char> overwritten() const {
    std::vector<char> flags(plan_.buffers.size(), 0);
    for (int t = 0; t < static_cast<int>(plan_.steps.size()); ++t) {
      const int end = in_parts(t) ? plan_.stages[stage_of_[t]].last_step : t + 1;
      for (const int in : plan_.steps[t].in) {
        const Buffer& from = plan_.buffers[in];
        if (!from.local && from.last_step == t) flags[in] = is_written(from.offset, t, end);
      }
    }
    return flags;
  }

  bool is_written(int64_t offset, int first_step, int last_step) const {
    for (int t = first_step; t < last_step; ++t) {
      for (const int out : plan_.steps[t].out) {
        const Buffer& to = plan_.buffers[out];
        if (!to.local && to.offset == offset && to.bytes > 0) return true;
      }
    }
    return false;
  }

  void collect() {
    const std::vector<char> gone = overwritten();
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.local) continue;
      const ProblemValue& value = problem_.values[buffer.value];
      int first = buffer.first_step, last = buffer.last_step;
      if (in_parts(first)) first = plan_.stages[stage_of_[first]].first_step;
      if (in_parts(last)) last = plan_.stages[stage_of_[last]].last_step - 1;
      if (gone[b]) last = (in_parts(last) ? plan_.stages[stage_of_[last]].first_step : last) - 1;
      if (last < first) continue;
      holders_.push_back(
          {value.name, kKindNames[static_cast<size_t>(value.kind)], buffer.bytes, first, last});
    }
    for (size_t t = 0; t < plan_.steps.size(); ++t) {
      const ProblemNode& node = problem_.nodes[plan_.steps[t].node];
      const int step = static_cast<int>(t);
      if (node.scratch_bytes == 0 || in_parts(step)) continue;
      holders_.push_back({node.name + " scratch", "scratch", node.scratch_bytes, step, step});
    }
    for (const PlanStage& stage : plan_.stages) {
      if (stage.parts == 1 || stage.lane_bytes == 0) continue;
      holders_.push_back({fmt::format("{} lanes of {}", stage.lanes, node_name(stage.first_step)),
                          "lanes", stage.lanes * stage.lane_bytes, stage.first_step,
                          stage.last_step - 1});
    }
  }

  std::string node_name(int step) const {
    if (step >= static_cast<int>(plan_.steps.size())) return "the end of the step";
    return problem_.nodes[plan_.steps[step].node].name;
  }

  void find_peak() {
    std::vector<int64_t> change(plan_.steps.size() + 2, 0);
    for (const Holder& holder : holders_) {
      change[holder.first] += holder.bytes;
      change[holder.last + 1] -= holder.bytes;
    }
    int64_t live = 0;
    for (size_t t = 0; t < change.size(); ++t) {
      live += change[t];
      if (live > peak_bytes_) {
        peak_bytes_ = live;
        peak_step_ = static_cast<int>(t);
      }
    }
    for (const Holder& holder : holders_) {
      if (holder.first <= peak_step_ && peak_step_ <= holder.last && holder.bytes > 0)
        at_peak_.push_back(holder);
    }
    std::stable_sort(at_peak_.begin(), at_peak_.end(),
                     [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  }

  static std::string line(const char* name, int64_t bytes, const std::string& note) {
    return fmt::format("{:<12}{:>10}  {:>15} bytes{}\n", name, bytes_text(bytes), bytes, note);
  }

  std::string totals() const {
    const double share = plan_.max_live_bytes > 0 ? 100.0 * static_cast<double>(plan_.arena_bytes) /
                                                        static_cast<double>(plan_.max_live_bytes)
                                                  : 100.0;
    return line("total", plan_.total_bytes(), "") + line("persistent", plan_.persistent_bytes, "") +
           line("arena", plan_.arena_bytes, fmt::format("  ({:.2f} % of the lower bound)", share)) +
           line("lower bound", plan_.max_live_bytes, "  (most bytes alive at one moment)") +
           least_line() + spill_line() + time_line() + steps_line();
  }

  // Every piece of a stage in parts, with its lanes, is looked at: all of them together are the
  // square of its nodes.
  std::string least_line() const {
    constexpr int64_t kOfANode = 512;
    std::vector<int64_t> nodes(problem_.stages.size());
    for (const ProblemNode& node : problem_.nodes) ++nodes[node.stage];
    int64_t needed = 0;
    for (size_t s = 0; s < nodes.size(); ++s)
      needed += kOfANode * nodes[s] * (problem_.stages[s].parts > 1 ? nodes[s] : 1);
    if (needed > memory_bytes_) return {};
    return line("least", least_bytes(UnitGraph(problem_)),
                "  (one node and what must live beside it: no plan in any order is lower)");
  }

  std::string spill_line() const {
    if (plan_.transfers.empty()) return {};
    const SpilledBytes bytes = spilled_bytes(problem_, plan_);
    return fmt::format("{:<12}{:>10} written and {} read a step, in a file of {}\n", "spill",
                       bytes_text(bytes.written), bytes_text(bytes.read),
                       bytes_text(plan_.file_bytes));
  }

  std::string time_line() const {
    if (plan_.step_ns <= 0) return {};
    const double ratio = plan_.step_ns / std::max(1.0, plan_.fastest_ns);
    const std::string text =
        fmt::format("{:<12}{:>7.3g} ms  predicted", "step", plan_.step_ns / 1e6);
    if (plan_.step_ns == plan_.fastest_ns) return text + "\n";
    return text + fmt::format(
                      ", {:.2f} times the {:.3g} ms without a budget; no plan within it can take "
                      "less than {:.3g} ms: this one is within {:.1f} %\n",
                      ratio, plan_.fastest_ns / 1e6, plan_.least_ns / 1e6,
                      100 * (plan_.step_ns / std::max(1.0, plan_.least_ns) - 1));
  }

  std::string steps_line() const {
    const size_t again = plan_.steps.size() - std::min(plan_.steps.size(), problem_.nodes.size());
    return fmt::format("{} values, {} nodes, {} stages, {} nodes computed again\n",
                       problem_.values.size(), problem_.nodes.size(), plan_.stages.size(), again);
  }

  std::string peak_lines() const {
    return fmt::format("\npeak: step {} of {}, {}, {} alive in {} values\n", peak_step_,
                       plan_.steps.size(), node_name(peak_step_), bytes_text(peak_bytes_),
                       at_peak_.size());
  }

  std::string kind_lines() const {
    std::vector<std::pair<std::string, int64_t>> kinds;
    for (const Holder& holder : at_peak_) {
      const auto same = [&](const auto& kind) { return kind.first == holder.kind; };
      auto kind = std::find_if(kinds.begin(), kinds.end(), same);
      if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {holder.kind, 0});
      kind->second += holder.bytes;
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](auto& a, auto& b) { return a.second > b.second; });
    std::string text = fmt::format("\n{:<14}{:>12}{:>9}\n", "kind", "at the peak", "share");
    for (const auto& [kind, bytes] : kinds) {
      text +=
          fmt::format("{:<14}{:>12}{:>7.1f} %\n", kind, bytes_text(bytes), share_of_peak(bytes));
    }
    return text;
  }

  double share_of_peak(int64_t bytes) const {
    return 100.0 * static_cast<double>(bytes) /
           static_cast<double>(std::max<int64_t>(1, peak_bytes_));
  }

  std::string top_lines() const {
    std::string text =
        fmt::format("\n{:>12}{:>9}  {:<12}{:<15}{}\n", "bytes", "share", "kind", "steps", "value");
    const size_t shown = std::min<size_t>(kTopValues, at_peak_.size());
    int64_t rest = 0;
    for (size_t i = 0; i < at_peak_.size(); ++i) {
      const Holder& holder = at_peak_[i];
      if (i >= shown) {
        rest += holder.bytes;
        continue;
      }
      text += fmt::format("{:>12}{:>7.1f} %  {:<12}{:<15}{}\n", bytes_text(holder.bytes),
                          share_of_peak(holder.bytes), holder.kind,
                          fmt::format("{}-{}", holder.first, holder.last), holder.name);
    }
    if (rest > 0) {
      text += fmt::format("{:>12}{:>7.1f} %  {} more\n", bytes_text(rest), share_of_peak(rest),
                          at_peak_.size() - shown);
    }
    return text;
  }

  const Problem& problem_;
  const Plan& plan_;
  int64_t memory_bytes_;
  std::vector<int> stage_of_;  // By step.
  std::vector<Holder> holders_, at_peak_;
  int peak_step_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace

std::string report(const Problem& problem, const Plan& plan, int64_t memory_bytes) {
  return Reporter(problem, plan, memory_bytes).text();
}

}  // namespace snug
