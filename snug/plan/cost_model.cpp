#include "snug/plan/cost_model.h"

#include <algorithm>

namespace snug {
namespace {

// What the second cache of a core holds without pushing out what comes next.
constexpr double kCachedBytes = 1 << 20;

double on(const CostModel& model, const Rate& rate, int threads) {
  const int most = std::max(2, model.threads);
  const double share = static_cast<double>(std::clamp(threads, 1, most) - 1) / (most - 1);
  return rate.one + (rate.all - rate.one) * share;
}

const Rate& flops_of(const CostModel& model, std::string_view op) {
  if (op.starts_with("matmul")) return model.matmul;
  if (op.starts_with("conv2d")) return model.convolution;
  return model.other;
}

double run_ns(const CostModel& model, const Node& node, int64_t rows, int threads, int sharers) {
  Types types = node.input_types();
  for (Type& type : types) type = type.at(rows);
  const Cost cost = node.op().cost(types);
  const Rate& bytes = cost.bytes / sharers <= kCachedBytes ? model.cache : model.memory;
  return std::max(cost.flops / on(model, flops_of(model, node.op().name()), threads),
                  cost.bytes / on(model, bytes, threads));
}

}  // namespace

double move_ns(const CostModel& model, int64_t bytes, int threads) {
  return static_cast<double>(bytes) / on(model, model.memory, threads);
}

double node_ns(const CostModel& model, const Node& node, const StageWork& work) {
  if (work.parts == 1) {
    return model.node_ns + (work.threads > 1 ? model.fork_ns : 0) +
           run_ns(model, node, work.rows, work.threads, work.threads);
  }
  const int64_t rest = work.rows - work.part_rows * (work.parts - 1);
  const double full = work.parts - 1;
  if (work.lanes == 1) {
    // Kernels share out rows: a part of one row keeps one thread busy.
    const auto part_ns = [&](int64_t rows) {
      const int threads = static_cast<int>(std::clamp<int64_t>(rows, 1, work.threads));
      return model.node_ns + (threads > 1 ? model.fork_ns : 0) +
             run_ns(model, node, rows, threads, threads);
    };
    return full * part_ns(work.part_rows) + part_ns(rest);
  }
  // Lanes side by side: together they have the speed of as many threads.
  const int busy = std::min(work.lanes, work.cores);
  return work.parts * model.node_ns / busy + full * run_ns(model, node, work.part_rows, busy, 1) +
         run_ns(model, node, rest, busy, 1);
}

}  // namespace snug
