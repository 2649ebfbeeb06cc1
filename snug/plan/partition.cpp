#include "snug/plan/partition.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "snug/base/error.h"
#include "snug/plan/narrow_stages.h"

namespace snug {
namespace {

// A rough machine: enough to tell a layer worth splitting from one that is not.
constexpr double kFlopsPerNs = 100;
constexpr double kBytesPerNs = 50;
constexpr double kNodeNs = 50;
// Below this much work a fork and join costs more than it brings.
constexpr double kWorthThreadsNs = 15'000;
constexpr double kForkNs = 3'000;
// The share of a sum's own time that adding up its partial results may cost.
constexpr double kSumOverhead = 0.05;
// What adding up blocks may cost a reproducible stage.
constexpr double kBlockOverhead = 0.15;
constexpr int kGroups = 4;
constexpr int kMostBlocks = 8;  // Of a group.
// Reading weights again for each part is cheaper than adding up sums: they come from cache, ahead
// of their use.
constexpr double kReadingShare = 0.2;
constexpr double kCachedWeightBytes = 2 << 20;
constexpr double kMemoryBytesPerNs = 20;
constexpr double kReadingOverhead = 0.25;

Types types_at(const Node& node, int64_t rows) {
  Types types = node.input_types();
  for (Type& type : types) type = type.at(rows);
  return types;
}

int64_t output_bytes(const Node& node, int64_t rows) {
  int64_t bytes = 0;
  for (const int value : node.out())
    bytes += static_cast<int64_t>(node.graph().type(value).at(rows).bytes());
  return bytes;
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, std::span<const Value> results, int64_t rows,
              const Target& target, const PartitionOptions& options)
      : graph_(graph),
        rows_(rows),
        target_(target),
        lanes_(std::max(2, target.threads)),
        options_(options) {
    find_live(results);
  }

  std::vector<StageChoice> stages() {
    for (const Node* node : live_) time_[node] = node->commits() ? commit_time_ : earliest(*node);
    for (auto node = live_.rbegin(); node != live_.rend(); ++node) {
      if (!(*node)->commits()) delay(**node);
    }
    std::map<int, std::vector<const Node*>> by_time;
    for (const Node* node : live_) by_time[time_[node]].push_back(node);
    std::vector<StageChoice> result;
    for (auto& [time, nodes] : by_time) result.push_back(choose(time, std::move(nodes)));
    return result;
  }

 private:
  void find_live(std::span<const Value> results) {
    std::vector<bool> needed(graph_.value_count());
    for (const Value& value : results) needed[value.id()] = true;
    const std::vector<const Node*> nodes = graph_.nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const bool reaches =
          std::ranges::any_of((*node)->out(), [&](int value) { return needed[value]; });
      if (!reaches && !(*node)->commits()) continue;
      for (const int value : (*node)->in()) needed[value] = true;
      live_.push_back(*node);
    }
    std::ranges::reverse(live_);
    for (const Node* node : live_) {
      for (const int value : node->in()) readers_[value].push_back(node);
    }
  }

  // Whether a node may run in a stage with parts.
  bool splits(const Node& node) const {
    if (!options_.parts || node.commits()) return false;
    const std::optional<Rows> rows = node.rows();
    if (!rows || *rows == Rows::coupled) return false;
    // The same stages however the rows are cut: what is added up where must not depend on it.
    if (options_.reproducible) return true;
    return *rows == Rows::each ? !weighs_too_much(node) : !too_wide(node);
  }

  // Weights that no cache holds, read again by every lane for little work on each row: better once,
  // each thread its share of them.
  bool weighs_too_much(const Node& node) const {
    const auto bytes = static_cast<double>(weight_bytes(node));
    if (options_.forced_part_rows > 0 || bytes < kCachedWeightBytes) return false;
    return lanes_ * bytes / kMemoryBytesPerNs > kReadingOverhead * estimated_ns(node, rows_);
  }

  // A sum whose result is large beside the work on the rows (the weight gradient of a wide layer on
  // few rows): partial results would cost more than they bring, so it runs once, after the parts,
  // split over its output.
  bool too_wide(const Node& node) const {
    if (options_.forced_part_rows > 0) return false;
    const auto bytes = static_cast<double>(output_bytes(node, rows_));
    const double adding_ns = 3.0 * (lanes_ - 1) * bytes / kBytesPerNs;
    const double own_ns = estimated_ns(node, rows_) / lanes_;
    return own_ns > kWorthThreadsNs / 4 && adding_ns > kSumOverhead * own_ns;
  }

  // Stages with parts have even times, whole ones odd times. A value made by a row-wise node can be
  // read in its own stage by the node's successors; a sum, and anything made in a whole stage, is
  // complete only when its stage ends.
  int earliest(const Node& node) const {
    const bool split = splits(node);
    int time = split ? 0 : -1;  // What depends on no row runs before all rows.
    for (const int value : node.in()) {
      const Node* producer = graph_.producer(value);
      if (producer == nullptr) continue;
      const int made = time_.at(producer);
      const bool made_in_parts = made % 2 == 0;
      int ready = made;
      if (split)
        ready = !made_in_parts ? made + 1 : *producer->rows() == Rows::sum ? made + 2 : made;
      if (!split) ready = made_in_parts ? made + 1 : made;
      time = std::max(time, ready);
    }
    return time;
  }

  // A node waits for its first reader, so that its result does not wait instead, where all that it
  // reads is there until then anyway, or is small beside it.
  void delay(const Node& node) {
    const int first_reader = time_of_first_reader(node);
    if (first_reader == commit_time_) return;
    const int latest = latest_before(node, first_reader);
    const bool inputs_stay =
        std::ranges::all_of(node.in(), [&](int value) { return stays_until(value, latest, node); });
    if (inputs_stay) time_[&node] = std::max(time_[&node], latest);
  }

  // The latest time of a node whose result is read then.
  int latest_before(const Node& node, int reader) const {
    const bool in_parts = reader % 2 == 0;
    if (!splits(node)) return in_parts ? reader - 1 : reader;
    const bool sums = *node.rows() == Rows::sum;
    return in_parts ? reader - (sums ? 2 : 0) : reader - 1;
  }

  int time_of_first_reader(const Node& node) const {
    int first = commit_time_;
    for (const int value : node.out()) {
      for (const Node* reader : readers_of(value)) first = std::min(first, time_.at(reader));
    }
    return first;
  }

  bool stays_until(int value, int time, const Node& but_for) const {
    if (graph_.producer(value) == nullptr) return true;
    const auto has_rows = [&](int v) { return graph_.type(v).shape.is_symbolic(); };
    if (!has_rows(value) && std::ranges::any_of(but_for.out(), has_rows)) return true;
    return std::ranges::any_of(readers_of(value), [&](const Node* reader) {
      return reader != &but_for && time_.at(reader) >= time;
    });
  }

  const std::vector<const Node*>& readers_of(int value) const {
    static const std::vector<const Node*> none;
    const auto found = readers_.find(value);
    return found == readers_.end() ? none : found->second;
  }

  StageChoice choose(int time, std::vector<const Node*> nodes) const {
    StageChoice stage{.nodes = std::move(nodes), .part_rows = rows_, .threads = target_.threads};
    double total_ns = 0;
    for (const Node* node : stage.nodes) total_ns += estimated_ns(*node, rows_);
    const bool splits = time % 2 == 0 && time != commit_time_;
    if (options_.reproducible && splits) return choose_reproducibly(std::move(stage), total_ns);
    if (splits && options_.forced_part_rows > 0)
      return cut(std::move(stage), options_.forced_part_rows, options_.one_lane ? 1 : lanes_);
    const bool small = total_ns < kWorthThreadsNs;
    if (small) stage.threads = 1;
    if (!splits || small || rows_ == 1) return stage;
    const int lanes = static_cast<int>(std::min<int64_t>(lanes_, rows_));
    const int64_t most = std::max<int64_t>(rows_ / lanes, 1);
    const int64_t fits_cache =
        options_.part_bytes / std::max<int64_t>(live_bytes_per_row(stage), 1);
    const int64_t wanted =
        std::clamp(fits_cache, std::min(fewest_rows(stage, total_ns, kSumOverhead), most), most);
    const int64_t per_lane = (rows_ + lanes - 1) / lanes;
    const int64_t parts_per_lane = (per_lane + wanted - 1) / wanted;
    return cut(std::move(stage), (rows_ + lanes * parts_per_lane - 1) / (lanes * parts_per_lane),
               lanes);
  }

  // Whether it is cut at all, its blocks and its groups follow from the nodes and the rows alone;
  // only how many blocks are a part does not.
  StageChoice choose_reproducibly(StageChoice stage, double total_ns) const {
    if (total_ns < kWorthThreadsNs || rows_ == 1) {
      stage.threads = 1;
      return stage;
    }
    const auto [block, blocks] = group_of(fewest_rows(stage, total_ns, kBlockOverhead));
    const int64_t wanted =
        options_.forced_part_rows > 0
            ? options_.forced_part_rows
            : options_.part_bytes / std::max<int64_t>(live_bytes_per_row(stage), 1);
    int group_parts = 1;
    while (group_parts < blocks && block * (blocks / group_parts) > wanted) group_parts *= 2;
    stage = cut(std::move(stage), block * (blocks / group_parts), 1);
    stage.block_rows = block;
    stage.group_parts = group_parts;
    const bool one_lane = options_.forced_part_rows > 0 && options_.one_lane;
    stage.lanes = one_lane ? 1 : stage.groups();
    if (stage.lanes > 1) stage.threads = 1;
    return stage;
  }

  // The rows of a block, `fewest` at least, and the blocks of a group, a power of two: the most
  // blocks that leave no lane with much less than the others.
  struct Group {
    int64_t block_rows = 0;
    int64_t blocks = 1;
  };
  Group group_of(int64_t fewest) const {
    const int64_t group = (rows_ + kGroups - 1) / kGroups;
    for (int64_t blocks = kMostBlocks; blocks > 1; blocks /= 2) {
      const int64_t block = (group + blocks - 1) / blocks;
      if (block >= fewest && block * blocks - group <= group / 8) return {block, blocks};
    }
    return {group, 1};
  }

  StageChoice cut(StageChoice stage, int64_t part_rows, int lanes) const {
    stage.part_rows = std::min(part_rows, rows_);
    stage.parts = static_cast<int>((rows_ + stage.part_rows - 1) / stage.part_rows);
    stage.lanes = std::min(lanes, stage.parts);
    if (stage.lanes > 1 || !is_worth_threads(stage)) stage.threads = 1;
    return stage;
  }

  // In parts of few rows weights and sums are most of the work: every thread would read all of
  // them, and start for little.
  bool is_worth_threads(const StageChoice& stage) const {
    double fixed = 0, work_ns = 0, forks_ns = 0;
    for (const Node* node : stage.nodes) {
      const double ns = node->op().cost(types_at(*node, stage.part_rows)).flops / kFlopsPerNs;
      work_ns += ns;
      forks_ns += std::min(ns, kForkNs);
      fixed += static_cast<double>(weight_bytes(*node));
      if (*node->rows() == Rows::sum) fixed += static_cast<double>(output_bytes(*node, 1));
    }
    const double again_ns = fixed > kCachedWeightBytes ? fixed / kMemoryBytesPerNs : 0;
    const int threads = std::max(2, stage.threads);
    return work_ns * (threads - 1) / threads > forks_ns + again_ns;
  }

  // The most bytes a row that live at once between the stage's nodes.
  int64_t live_bytes_per_row(const StageChoice& stage) const {
    std::unordered_map<int, size_t> last_use;
    for (size_t i = 0; i < stage.nodes.size(); ++i) {
      for (const int value : stage.nodes[i]->in()) last_use[value] = i;
      for (const int value : stage.nodes[i]->out()) last_use[value] = i;
    }
    std::vector<int64_t> ends(stage.nodes.size());
    int64_t live = 0, most = 0;
    for (size_t i = 0; i < stage.nodes.size(); ++i) {
      for (const int value : stage.nodes[i]->out()) {
        const Type& type = graph_.type(value);
        if (!type.shape.has_rows()) continue;
        const int64_t bytes = type.shape.size_per_row() * static_cast<int64_t>(size_of(type.dtype));
        live += bytes;
        ends[last_use[value]] += bytes;
      }
      most = std::max(most, live);
      live -= ends[i];
    }
    return most;
  }

  // Parts of fewer rows would spend too much on adding up sums and on reading weights again.
  int64_t fewest_rows(const StageChoice& stage, double total_ns, double overhead) const {
    double repeated_ns = 0;
    for (const Node* node : stage.nodes) {
      const double sums =
          *node->rows() == Rows::sum ? static_cast<double>(output_bytes(*node, rows_)) : 0;
      repeated_ns += 2 * sums / (sums > kCachedWeightBytes ? kMemoryBytesPerNs : kBytesPerNs) +
                     kReadingShare * static_cast<double>(weight_bytes(*node)) / kBytesPerNs;
    }
    const double ns_per_row = total_ns / static_cast<double>(rows_);
    return std::max<int64_t>(1, static_cast<int64_t>(repeated_ns / (overhead * ns_per_row)));
  }

  int64_t weight_bytes(const Node& node) const {
    int64_t bytes = 0;
    for (const int value : node.in()) {
      const Type& type = graph_.type(value);
      if (!type.shape.is_symbolic()) bytes += static_cast<int64_t>(type.bytes());
    }
    return bytes;
  }

  const Graph& graph_;
  int64_t rows_;
  Target target_;
  // Two at least, so that one thread gives the bits of two.
  int lanes_;
  PartitionOptions options_;
  std::vector<const Node*> live_;
  std::unordered_map<int, std::vector<const Node*>> readers_;  // Of each value.
  std::unordered_map<const Node*, int> time_;
  static constexpr int commit_time_ = 1 << 30;
};

}  // namespace

double estimated_ns(const Node& node, int64_t rows) {
  const Cost cost = node.op().cost(types_at(node, rows));
  return kNodeNs + std::max(cost.flops / kFlopsPerNs, cost.bytes / kBytesPerNs);
}

std::vector<StageChoice> partition(const Graph& graph, std::span<const Value> results, int64_t rows,
                                   const Target& target, const PartitionOptions& options) {
  SNUG_CHECK(rows > 0, "{} rows", rows);
  const std::vector<StageChoice> stages =
      Partitioner(graph, results, rows, target, options).stages();
  return options.narrow ? narrowed(graph, results, rows, stages) : stages;
}

}  // namespace snug
