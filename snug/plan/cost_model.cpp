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

Cost cost_at(const Node& node, int64_t rows) {
  Types types = node.input_types();
  for (Type& type : types) type = type.at(rows);
  return node.op().cost(types);
}

// Bytes that do not grow with the rows: weights, or the sums of their gradients. Of a node without
// rows none are.
double fixed_bytes(const Node& node, int64_t rows, const Cost& cost) {
  const auto has_rows = [](const Type& type) { return type.shape.has_rows(); };
  if (std::ranges::none_of(node.input_types(), has_rows)) return 0;
  return std::clamp(2 * cost.bytes - cost_at(node, 2 * rows).bytes, 0.0, cost.bytes);
}

// `readers` threads read what is fixed, each all of it.
double run_ns(const CostModel& model, const Node& node, const StageWork& work, int64_t rows,
              int threads, int sharers, int readers) {
  const Cost cost = cost_at(node, rows);
  const double fixed =
      static_cast<double>(work.fixed_bytes) > kCachedBytes ? fixed_bytes(node, rows, cost) : 0.0;
  const double moved = cost.bytes - fixed;
  const Rate& bytes = moved / sharers <= kCachedBytes ? model.cache : model.memory;
  return std::max(cost.flops / on(model, flops_of(model, node.op().name()), threads),
                  moved / on(model, bytes, threads)) +
         readers * fixed / on(model, model.weights, threads);
}

// On so many threads. Products always take them, other kernels only where they have enough to do.
double whole_ns(const CostModel& model, const Node& node, const StageWork& work, int64_t rows,
                int threads) {
  const double alone = run_ns(model, node, work, rows, 1, 1, 1);
  if (threads == 1) return model.node_ns + alone;
  const double shared = model.fork_ns + run_ns(model, node, work, rows, threads, threads, threads);
  const bool is_product = &flops_of(model, node.op().name()) != &model.other;
  return model.node_ns + (is_product ? shared : std::min(alone, shared));
}

}  // namespace

double move_ns(const CostModel& model, int64_t bytes, int threads) {
  return static_cast<double>(bytes) / on(model, model.memory, threads);
}

double node_ns(const CostModel& model, const Node& node, const StageWork& work) {
  if (work.parts == 1) return whole_ns(model, node, work, work.rows, work.threads);
  const int64_t rest = work.rows - work.part_rows * (work.parts - 1);
  const double full = work.parts - 1;
  if (work.lanes == 1) {
    // Kernels share out rows: a part of one row keeps one thread busy.
    const auto part_ns = [&](int64_t rows) {
      const int threads = static_cast<int>(std::clamp<int64_t>(rows, 1, work.threads));
      return whole_ns(model, node, work, rows, threads);
    };
    return full * part_ns(work.part_rows) + part_ns(rest);
  }
  // Lanes side by side: together they have the speed of as many threads.
  const int busy = std::min(work.lanes, work.cores);
  return work.parts * model.node_ns / busy +
         full * run_ns(model, node, work, work.part_rows, busy, 1, 1) +
         run_ns(model, node, work, rest, busy, 1, 1);
}

}  // namespace snug
