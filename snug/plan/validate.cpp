// Replays a plan on a picture of the arena: each byte range remembers which buffer was written
// there last. It is written against plan.h alone and shares nothing with the code that makes plans.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "snug/base/error.h"
#include "snug/plan/plan.h"

namespace snug {
namespace {

constexpr int kDirty = -1;

// Who holds which bytes.
class Memory {
 public:
  void write(int64_t offset, int64_t bytes, int holder) {
    if (bytes == 0) return;
    split(offset);
    split(offset + bytes);
    pieces_.erase(pieces_.lower_bound(offset), pieces_.lower_bound(offset + bytes));
    pieces_[offset] = {offset + bytes, holder};
  }

  bool holds(int64_t offset, int64_t bytes, int holder) const {
    auto piece = pieces_.upper_bound(offset);
    if (bytes == 0) return true;
    if (piece == pieces_.begin()) return false;
    for (--piece; piece != pieces_.end() && piece->first < offset + bytes; ++piece) {
      if (piece->second.holder != holder || piece->second.end <= offset) return false;
      if (piece->second.end >= offset + bytes) return true;
    }
    return false;
  }

 private:
  struct Piece {
    int64_t end;
    int holder;
  };

  void split(int64_t at) {
    auto piece = pieces_.lower_bound(at);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->second.end <= at) return;
    pieces_[at] = piece->second;
    piece->second.end = at;
  }

  std::map<int64_t, Piece> pieces_;
};

bool overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

class Replay {
 public:
  Replay(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {}

  void run() {
    find_first_buffers();
    check_stages();
    find_moved_buffers();
    check_order();
    check_buffers();
    check_lifetimes();
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (given_at_start(static_cast<int>(b))) write(static_cast<int>(b));
    }
    for (size_t s = 0; s < plan_.stages.size(); ++s) replay_stage(static_cast<int>(s));
    check_end();
  }

 private:
  template <typename... Args>
  static void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds) throw InternalError("plan: " + fmt::format(format, std::forward<Args>(args)...));
  }

  const ProblemValue& value_of(int buffer) const {
    return problem_.values[plan_.buffers[buffer].value];
  }
  const std::string& name_of(int buffer) const { return value_of(buffer).name; }
  const ProblemNode& node_of(int step) const { return problem_.nodes[plan_.steps[step].node]; }

  void check_stages() {
    int at = 0;
    stage_of_.resize(plan_.steps.size());
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      const PlanStage& stage = plan_.stages[s];
      require(stage.first_step == at && stage.last_step >= at &&
                  stage.last_step <= static_cast<int>(plan_.steps.size()),
              "stage {} does not begin where the one before it ends", s);
      for (; at < stage.last_step; ++at) stage_of_[at] = static_cast<int>(s);
      const int64_t bytes = stage.parts > 1 ? stage.lanes * stage.lane_bytes : 0;
      require(stage.lanes >= 1 && stage.parts >= 1 && stage.lane_bytes >= 0,
              "stage {} has no parts or lanes", s);
      require(bytes == 0 || inside(stage.lane_offset, bytes),
              "the lanes of stage {} are outside the arena", s);
      require(
          stage.lane_offset % problem_.alignment == 0 && stage.lane_bytes % problem_.alignment == 0,
          "the lanes of stage {} are not aligned", s);
    }
    require(at == static_cast<int>(plan_.steps.size()), "step {} is in no stage", at);
    for (size_t t = 0; t < plan_.steps.size(); ++t) check_step(static_cast<int>(t));
    require(plan_.persistent_bytes == problem_.persistent_bytes, "the persistent bytes differ");
  }

  // A node that is not pure may change what others read outside the arena, so everything stays on
  // its side of it.
  void check_order() {
    std::vector<int> before(problem_.nodes.size() + 1, 0);
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      before[n + 1] = before[n] + (problem_.nodes[n].recomputable ? 0 : 1);
    }
    int seen = 0;
    for (int t = 0; t < static_cast<int>(plan_.steps.size()); ++t) {
      // State is written after all transfers: they belong to what computes.
      const bool moves = node_of(t).transfer != Transfer::none;
      require((moves ? 0 : before[plan_.steps[t].node]) == seen, "{} runs out of order",
              node_of(t).name);
      seen += node_of(t).recomputable ? 0 : 1;
    }
  }

  bool inside(int64_t offset, int64_t bytes) const {
    return offset >= 0 && bytes >= 0 && offset + bytes <= plan_.arena_bytes;
  }

  void check_step(int t) {
    const PlanStep& step = plan_.steps[t];
    require(step.node >= 0 && step.node < static_cast<int>(problem_.nodes.size()),
            "step {} runs no node", t);
    const ProblemNode& node = node_of(t);
    const PlanStage& stage = plan_.stages[stage_of_[t]];
    require(stage.parts == problem_.stages[node.stage].parts &&
                stage.lanes == problem_.stages[node.stage].lanes,
            "{} runs in other parts or lanes than its stage", node.name);
    // What else belongs to a stage (the rows of a part, whether it commits) goes by its first node.
    require(node.stage == node_of(stage.first_step).stage, "{} runs in a stage of others",
            node.name);
    check_values(node, step.in, node.in);
    check_values(node, step.out, node.out);
    const int64_t limit = stage.parts > 1 ? stage.lane_bytes : plan_.arena_bytes;
    require(node.scratch_bytes == 0 ||
                (step.scratch_offset >= 0 && step.scratch_offset % problem_.alignment == 0 &&
                 step.scratch_offset + node.scratch_bytes <= limit),
            "the scratch of {} is outside its place", node.name);
  }

  void check_values(const ProblemNode& node, const std::vector<int>& buffers,
                    const std::vector<int>& values) {
    require(buffers.size() == values.size(), "{} has another number of values", node.name);
    for (size_t i = 0; i < buffers.size(); ++i) {
      require(buffers[i] >= 0 && buffers[i] < static_cast<int>(plan_.buffers.size()) &&
                  plan_.buffers[buffers[i]].value == values[i],
              "{} has the buffer of another value", node.name);
    }
  }

  // The step that writes each buffer (-1: given) and the one that reads it last, as the steps have
  // it.
  void check_buffers() {
    const int steps = static_cast<int>(plan_.steps.size());
    writer_.assign(plan_.buffers.size(), -1);
    reader_.assign(plan_.buffers.size(), -1);
    for (int t = 0; t < steps; ++t) {
      for (const int b : plan_.steps[t].out) {
        require(writer_[b] < 0 && !given_at_start(b), "{} is written twice in one buffer",
                name_of(b));
        writer_[b] = t;
      }
      for (const int b : plan_.steps[t].in) reader_[b] = t;
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const int b = static_cast<int>(i);
      const Buffer& buffer = plan_.buffers[b];
      require(writer_[b] >= 0 || given_at_start(b), "nothing writes the buffer of {}", name_of(b));
      require(buffer.first_step == std::max(0, writer_[b]) && buffer.last_step <= steps &&
                  buffer.last_step >= std::max(writer_[b], reader_[b]),
              "{} is used outside its lifetime", name_of(b));
      check_place(b);
    }
  }

  // A value that is given has its first buffer from the start; a later buffer of it has a writer.
  bool given_at_start(int b) const {
    return value_of(b).given && first_buffer_[plan_.buffers[b].value] == b;
  }

  void find_first_buffers() {
    first_buffer_.assign(problem_.values.size(), -1);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const int value = plan_.buffers[b].value;
      require(value >= 0 && value < static_cast<int>(problem_.values.size()),
              "buffer {} is of no value", b);
      if (first_buffer_[value] < 0) first_buffer_[value] = static_cast<int>(b);
    }
  }

  // The buffers that transfers write and read: whole pages of the arena are theirs.
  void find_moved_buffers() {
    moved_.assign(plan_.buffers.size(), 0);
    for (size_t t = 0; t < plan_.steps.size(); ++t) {
      if (node_of(static_cast<int>(t)).transfer == Transfer::none) continue;
      for (const int b : plan_.steps[t].in) moved_[b] = 1;
      for (const int b : plan_.steps[t].out) moved_[b] = 1;
    }
  }

  int64_t held_bytes(int b) const {
    const int64_t bytes = plan_.buffers[b].bytes;
    return moved_[b] ? (bytes + kPageBytes - 1) / kPageBytes * kPageBytes : bytes;
  }

  void check_place(int b) {
    const Buffer& buffer = plan_.buffers[b];
    require(!moved_[b] || (!buffer.local && buffer.offset % kPageBytes == 0),
            "{} goes to the file, but is not on a page", name_of(b));
    require(buffer.offset >= 0 && buffer.offset % problem_.alignment == 0, "{} is not aligned",
            name_of(b));
    if (!buffer.local) {
      require(buffer.bytes == value_of(b).bytes, "{} has other bytes", name_of(b));
      require(inside(buffer.offset, held_bytes(b)), "{} is outside the arena", name_of(b));
      return;
    }
    require(writer_[b] >= 0 && buffer.last_step < static_cast<int>(plan_.steps.size()) &&
                stage_of_[writer_[b]] == stage_of_[buffer.last_step],
            "{} is local, but lives beyond its stage", name_of(b));
    const PlanStage& stage = plan_.stages[stage_of_[writer_[b]]];
    require(stage.parts > 1, "{} is local in a stage of one part", name_of(b));
    require(value_of(b).part_bytes > 0 && buffer.bytes == value_of(b).part_bytes,
            "{} has other bytes than one part", name_of(b));
    require(buffer.offset + buffer.bytes <= stage.lane_bytes, "{} is outside the lane's block",
            name_of(b));
  }

  // The steps during which the bytes are taken: whole stages where parts run side by side.
  std::pair<int, int> taken(int b) const {
    const Buffer& buffer = plan_.buffers[b];
    int first = buffer.first_step, last = buffer.last_step;
    if (buffer.local) return {first, last};
    const int steps = static_cast<int>(plan_.steps.size());
    if (first < steps && in_parts(first)) first = plan_.stages[stage_of_[first]].first_step;
    if (last < steps && in_parts(last)) last = plan_.stages[stage_of_[last]].last_step - 1;
    return {first, last};
  }

  bool in_parts(int step) const { return plan_.stages[stage_of_[step]].parts > 1; }

  // One thing that holds bytes for some steps; buffer -1 is a scratch or a stage's lanes.
  struct Taken {
    int64_t offset, bytes;
    int buffer, last;
  };

  // A sweep over time with what lives, by offset: neighbours must not overlap.
  void check_lifetimes() {
    std::vector<std::vector<Taken>> arena(plan_.steps.size() + 1), lane(plan_.steps.size() + 1);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      const auto [first, last] = taken(static_cast<int>(b));
      (buffer.local ? lane : arena)[first].push_back(
          {buffer.offset, held_bytes(static_cast<int>(b)), static_cast<int>(b), last});
    }
    for (int t = 0; t < static_cast<int>(plan_.steps.size()); ++t) {
      (in_parts(t) ? lane : arena)[t].push_back(
          {plan_.steps[t].scratch_offset, node_of(t).scratch_bytes, -1, t});
    }
    for (const PlanStage& stage : plan_.stages) {
      if (stage.parts == 1 || stage.first_step == stage.last_step) continue;
      arena[stage.first_step].push_back(
          {stage.lane_offset, stage.lanes * stage.lane_bytes, -1, stage.last_step - 1});
    }
    sweep(arena);
    sweep(lane);
  }

  void sweep(const std::vector<std::vector<Taken>>& starts) {
    std::multimap<int64_t, Taken> living;
    std::multimap<int, std::multimap<int64_t, Taken>::iterator> ends;
    for (int t = 0; t < static_cast<int>(starts.size()); ++t) {
      while (!ends.empty() && ends.begin()->first < t) {
        living.erase(ends.begin()->second);
        ends.erase(ends.begin());
      }
      for (const Taken& one : starts[t]) {
        if (one.bytes == 0) continue;
        check_against(living, one);
        ends.emplace(one.last, living.emplace(one.offset, one));
      }
    }
  }

  void check_against(const std::multimap<int64_t, Taken>& living, const Taken& one) {
    const auto look = [&](const Taken& other) {
      if (!overlap(one.offset, one.bytes, other.offset, other.bytes)) return false;
      require(one.buffer >= 0 && other.buffer >= 0 &&
                  (overwrites(one.buffer, other.buffer) || overwrites(other.buffer, one.buffer)),
              "{} and {} live at the same time in the same bytes",
              one.buffer >= 0 ? name_of(one.buffer) : "a scratch or lane block",
              other.buffer >= 0 ? name_of(other.buffer) : "a scratch or lane block");
      return true;
    };
    for (auto next = living.lower_bound(one.offset); next != living.end(); ++next) {
      if (!look(next->second)) break;
    }
    // Below, only what stands at the nearest offset can reach up to here.
    auto below = living.lower_bound(one.offset);
    if (below == living.begin()) return;
    const auto [nearest, end] = living.equal_range((--below)->first);
    for (auto next = nearest; next != end; ++next) look(next->second);
  }

  // `out` is written by a step that reads `in` for the last time and may write over it.
  bool overwrites(int out, int in) const {
    const int t = writer_[out];
    if (t < 0 || plan_.buffers[in].offset != plan_.buffers[out].offset) return false;
    if (takes_rows(out, in)) return true;
    if (plan_.buffers[in].last_step != t) return false;
    const PlanStep& step = plan_.steps[t];
    if (std::count(step.in.begin(), step.in.end(), in) != 1) return false;
    const auto allowed = [&](const Overwrite& o) {
      return step.out[o.output] == out && step.in[o.input] == in;
    };
    if (std::none_of(node_of(t).overwrites.begin(), node_of(t).overwrites.end(), allowed))
      return false;
    const auto rounded = [&](int64_t bytes) { return problem_.aligned(bytes); };
    if (plan_.buffers[out].local || !in_parts(t)) {
      return rounded(plan_.buffers[out].bytes) <= rounded(plan_.buffers[in].bytes);
    }
    return have_same_rows(out, in);
  }

  // The parts of a stage write each its rows of `out` where they have read theirs of `in`, which
  // comes from another stage, in an earlier step of this one for the last time.
  bool takes_rows(int out, int in) const {
    const int t = writer_[out], last = plan_.buffers[in].last_step;
    if (last >= t || !in_parts(t) || stage_of_[last] != stage_of_[t]) return false;
    const bool is_older = writer_[in] < 0 || stage_of_[writer_[in]] != stage_of_[t];
    return is_older && !plan_.buffers[out].local && have_same_rows(out, in);
  }

  bool have_same_rows(int a, int b) const {
    return plan_.buffers[a].bytes == plan_.buffers[b].bytes && value_of(a).part_bytes > 0 &&
           value_of(b).part_bytes > 0;
  }

  void write(int b) {
    const Buffer& buffer = plan_.buffers[b];
    (buffer.local ? lane_ : arena_).write(buffer.offset, held_bytes(b), b);
  }

  void replay_stage(int s) {
    const PlanStage& stage = plan_.stages[s];
    if (stage.parts > 1) {
      arena_.write(stage.lane_offset, stage.lanes * stage.lane_bytes, kDirty);
      lane_ = {};
    }
    for (int t = stage.first_step; t < stage.last_step; ++t) replay_step(t, stage.parts > 1);
  }

  void replay_step(int t, bool parts) {
    const PlanStep& step = plan_.steps[t];
    if (node_of(t).transfer != Transfer::none) replay_transfer(t);
    for (const int b : step.in) {
      const Buffer& buffer = plan_.buffers[b];
      require(!arriving_.contains(b), "{} uses {}, which is still being read", node_of(t).name,
              name_of(b));
      require((buffer.local ? lane_ : arena_).holds(buffer.offset, buffer.bytes, b),
              "{} reads {}, which is not there", node_of(t).name, name_of(b));
    }
    (parts ? lane_ : arena_).write(step.scratch_offset, node_of(t).scratch_bytes, kDirty);
    for (const int b : step.out) write(b);
    ran_.resize(problem_.nodes.size());
    require(!ran_[step.node] || node_of(t).recomputable, "{} runs twice", node_of(t).name);
    ran_[step.node] = true;
  }

  // A trip is under way from its start to its end, in one buffer and one stretch of the file.
  void replay_transfer(int t) {
    const ProblemNode& node = node_of(t);
    const PlanStep& step = plan_.steps[t];
    require(step.in.size() + step.out.size() == 1 && !ran_before(step.node), "{} runs twice",
            node.name);
    const bool reads = node.transfer == Transfer::start_read;
    require(reads == step.in.empty(), "{} has no buffer", node.name);
    const int b = reads ? step.out[0] : step.in[0];
    const int64_t from = node.file_offset, bytes = held_bytes(b);
    require(from >= 0 && from % kPageBytes == 0 && from + bytes <= plan_.file_bytes,
            "{} is outside the file", node.name);
    const int value = plan_.buffers[b].value;
    const auto trip = [&](std::map<int, int64_t>& trips) {
      const auto found = trips.find(b);
      require(found != trips.end() && found->second == from, "{} waits for what was not started",
              node.name);
      trips.erase(found);
    };
    switch (node.transfer) {
      case Transfer::start_write:
        for (const auto& [other, at] : arriving_)
          require(!overlap(at, held_bytes(other), from, bytes), "{} writes where {} is read",
                  node.name, name_of(other));
        for (const auto& [other, at] : leaving_)
          require(!overlap(at, held_bytes(other), from, bytes), "{} writes where {} is written",
                  node.name, name_of(other));
        file_.write(from, bytes, kDirty);
        require(leaving_.emplace(b, from).second, "{} starts twice", node.name);
        break;
      case Transfer::end_write:
        trip(leaving_);
        file_.write(from, bytes, value);
        break;
      case Transfer::start_read:
        require(file_.holds(from, bytes, value), "{}, which is not in the file", node.name);
        arriving_.emplace(b, from);
        break;
      case Transfer::end_read:
        trip(arriving_);
        break;
      case Transfer::none:
        break;
    }
  }

  bool ran_before(int node) const { return !ran_.empty() && ran_[node]; }

  void check_end() {
    require(leaving_.empty() && arriving_.empty(), "a transfer never ends");
    ran_.resize(problem_.nodes.size());
    for (size_t n = 0; n < ran_.size(); ++n)
      require(ran_[n], "{} never runs", problem_.nodes[n].name);
    std::vector<int> newest(problem_.values.size(), -1);
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const int b = static_cast<int>(i);
      int& best = newest[plan_.buffers[b].value];
      if (best < 0 || writer_[b] > writer_[best]) best = b;
    }
    for (size_t v = 0; v < newest.size(); ++v) {
      const ProblemValue& value = problem_.values[v];
      if (!value.pinned) continue;
      require(newest[v] >= 0, "{} is needed at the end, but is never made", value.name);
      const Buffer& buffer = plan_.buffers[newest[v]];
      require(!buffer.local && buffer.last_step == static_cast<int>(plan_.steps.size()) &&
                  arena_.holds(buffer.offset, buffer.bytes, newest[v]),
              "{} is needed at the end, but is not there", value.name);
    }
  }

  const Problem& problem_;
  const Plan& plan_;
  Memory arena_, lane_, file_;
  std::map<int, int64_t> leaving_, arriving_;  // Buffers under way: where in the file.
  std::vector<char> moved_;                    // By buffer.
  std::vector<int> first_buffer_;              // By value.
  std::vector<int> stage_of_;                  // By step.
  std::vector<int> writer_, reader_;           // By buffer.
  std::vector<char> ran_;                      // By node.
};

}  // namespace

void validate(const Problem& problem, const Plan& plan) { Replay(problem, plan).run(); }

}  // namespace snug
