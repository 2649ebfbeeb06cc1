#include "snug/plan/narrow_stages.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <unordered_map>

namespace snug {
namespace {

constexpr size_t kMostNodes = 32;  // Of a stage: all its stretches are looked at.
// What a stage may touch, of what the widest one touches: narrower ones are left as they are.
constexpr double kNarrow = 0.35;

using Nodes = std::vector<const Node*>;

// The bytes that stretches of one stage's nodes touch.
class Stretches {
 public:
  // `is_read_later`, by value: by a later stage, or wanted in the end.
  Stretches(const Graph& graph, const Nodes& nodes, int64_t rows,
            const std::vector<char>& is_read_later)
      : graph_(graph), nodes_(nodes), rows_(rows) {
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (const int v : nodes[n]->out()) add(v, static_cast<int>(n));
      for (const int v : nodes[n]->in()) {
        if (graph.producer(v) != nullptr) add(v, -1).last = static_cast<int>(n);
      }
    }
    for (auto& [value, use] : uses_) use.stays = is_read_later[value] != 0;
    touched_.assign(nodes.size(), std::vector<int64_t>(nodes.size() + 1, 0));
    for (size_t from = 0; from < nodes.size(); ++from) {
      for (size_t to = from + 1; to <= nodes.size(); ++to)
        touched_[from][to] = touched(static_cast<int>(from), static_cast<int>(to));
    }
  }

  int64_t touched_bytes(size_t from, size_t to) const { return touched_[from][to]; }

  // Of values that nobody outside of the stage sees, and that are made before a border and read
  // behind it.
  int64_t passed_bytes(size_t border) const {
    int64_t bytes = 0;
    for (const auto& [value, use] : uses_) {
      if (!use.stays && use.made >= 0 && use.made < static_cast<int>(border) &&
          use.last >= static_cast<int>(border))
        bytes += use.bytes;
    }
    return bytes;
  }

 private:
  struct Use {
    int64_t bytes = 0;
    int made = -1;  // By which node; -1: by another stage.
    int last = -1;  // The last that reads it.
    bool stays = false;
  };

  Use& add(int value, int made) {
    const Type& type = graph_.type(value);
    const auto [use, is_new] = uses_.try_emplace(value);
    if (is_new && type.shape.has_rows())
      use->second = {.bytes = static_cast<int64_t>(type.at(rows_).bytes()), .made = made};
    return use->second;
  }

  // Of all rows, while the nodes [from, to) run. What is read for the last time gives its place to
  // a result of the same size that is made later.
  int64_t touched(int from, int to) const {
    int64_t bytes = 0;
    std::vector<const Use*> spent;
    for (int n = from; n < to; ++n) {
      for (const int v : nodes_[n]->out()) {
        const Use& use = uses_.at(v);
        if (!use.stays && use.last < to) continue;  // One part of it at a time.
        const auto place = std::ranges::find(spent, use.bytes, &Use::bytes);
        place == spent.end() ? void(bytes += use.bytes) : void(spent.erase(place));
      }
      for (const int v : nodes_[n]->in()) {
        const auto found = uses_.find(v);
        if (found == uses_.end() || found->second.made >= from) continue;
        const Use& use = found->second;
        if (is_first_reader(v, from, n)) bytes += use.bytes;
        if (!use.stays && use.last == n && !std::ranges::count(spent, &use)) spent.push_back(&use);
      }
    }
    return bytes + waiting(from, to);
  }

  bool is_first_reader(int value, int from, int node) const {
    for (int n = from; n < node; ++n) {
      if (std::ranges::count(nodes_[n]->in(), value) > 0) return false;
    }
    return true;
  }

  // Made before and read later.
  int64_t waiting(int from, int to) const {
    int64_t bytes = 0;
    for (const auto& [value, use] : uses_) {
      if (use.made < 0 || use.made >= from || (!use.stays && use.last < to)) continue;
      bool is_read = false;
      for (int n = from; n < to && !is_read; ++n)
        is_read = std::ranges::count(nodes_[n]->in(), value) > 0;
      if (!is_read) bytes += use.bytes;
    }
    return bytes;
  }

  const Graph& graph_;
  const Nodes& nodes_;
  int64_t rows_;
  std::unordered_map<int, Use> uses_;
  std::vector<std::vector<int64_t>> touched_;
};

// The least that all stretches of some cut stay within.
int64_t least_bytes(const Stretches& stretches, size_t nodes) {
  std::vector<int64_t> best(nodes + 1, INT64_MAX);
  best[0] = 0;
  for (size_t to = 1; to <= nodes; ++to) {
    for (size_t from = 0; from < to; ++from)
      best[to] = std::min(best[to], std::max(best[from], stretches.touched_bytes(from, to)));
  }
  return best[nodes];
}

// The borders of the cut within the limit that passes on least.
std::vector<size_t> borders_within(const Stretches& stretches, size_t nodes, int64_t limit) {
  std::vector<int64_t> passed(nodes + 1, INT64_MAX);
  std::vector<size_t> before(nodes + 1, 0);
  passed[0] = 0;
  for (size_t to = 1; to <= nodes; ++to) {
    const int64_t border = to < nodes ? 1 + stretches.passed_bytes(to) : 0;
    for (size_t from = 0; from < to; ++from) {
      if (passed[from] == INT64_MAX || stretches.touched_bytes(from, to) > limit) continue;
      if (passed[from] + border >= passed[to]) continue;
      passed[to] = passed[from] + border;
      before[to] = from;
    }
  }
  std::vector<size_t> borders;
  for (size_t at = nodes; at > 0; at = before[at]) borders.push_back(at);
  std::ranges::reverse(borders);
  return borders;
}

// The last stage that reads each value.
class Readers {
 public:
  Readers(const Graph& graph, std::span<const Value> results,
          const std::vector<StageChoice>& stages)
      : last_(graph.value_count(), -1) {
    for (size_t s = 0; s < stages.size(); ++s) {
      for (const Node* node : stages[s].nodes) {
        for (const int v : node->in()) last_[v] = static_cast<int>(s);
      }
    }
    for (const Value& result : results) last_[result.id()] = INT_MAX;
  }
  std::vector<char> after(size_t stage) const {
    std::vector<char> is_read(last_.size());
    for (size_t v = 0; v < last_.size(); ++v) is_read[v] = last_[v] > static_cast<int>(stage);
    return is_read;
  }

 private:
  std::vector<int> last_;
};

// The stage, cut at these borders; the last one is its end.
void add_cut(const StageChoice& stage, const std::vector<size_t>& borders,
             std::vector<StageChoice>& result) {
  size_t from = 0;
  for (const size_t to : borders) {
    result.push_back(stage);
    result.back().nodes.assign(stage.nodes.begin() + static_cast<std::ptrdiff_t>(from),
                               stage.nodes.begin() + static_cast<std::ptrdiff_t>(to));
    from = to;
  }
}

}  // namespace

std::vector<StageChoice> narrowed(const Graph& graph, std::span<const Value> results, int64_t rows,
                                  const std::vector<StageChoice>& stages) {
  const Readers readers(graph, results, stages);
  std::vector<std::optional<Stretches>> all(stages.size());
  int64_t widest = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    const Nodes& nodes = stages[s].nodes;
    if (stages[s].parts == 1 || nodes.size() > kMostNodes) continue;
    all[s].emplace(graph, nodes, rows, readers.after(s));
    widest = std::max(widest, all[s]->touched_bytes(0, nodes.size()));
  }
  const auto wanted = static_cast<int64_t>(kNarrow * static_cast<double>(widest));
  std::vector<StageChoice> result;
  for (size_t s = 0; s < stages.size(); ++s) {
    const size_t nodes = stages[s].nodes.size();
    std::vector<size_t> borders = {nodes};
    if (all[s])
      borders = borders_within(*all[s], nodes, std::max(wanted, least_bytes(*all[s], nodes)));
    add_cut(stages[s], borders, result);
  }
  return result;
}

}  // namespace snug
