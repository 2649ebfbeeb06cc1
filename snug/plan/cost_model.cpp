#include "snug/plan/cost_model.h"

#include <algorithm>

namespace snug {
namespace {

// What the second cache of a core holds without pushing out what comes next.
constexpr double kCachedBytes = 1 << 20;
// The same of a core's share of the last cache: `near` is measured with about half as much.
constexpr double kNearBytes = 10 << 20;

double on(const CostModel& model, const Rate& rate, int threads) {
  const int most = std::max(2, model.threads);
  const double share = static_cast<double>(std::clamp(threads, 1, most) - 1) / (most - 1);
  return rate.one + (rate.all - rate.one) * share;
}

// Of kernels of one pixel, which make a convolution a matrix product.
bool is_pointwise(const Node& node) {
  Types types = node.input_types();
  types.push_back(node.output().type());
  return std::ranges::any_of(types, [](const Type& type) {
    const Shape& shape = type.shape;
    return shape.rank() == 4 && !shape.has_rows() && shape[0] == 1 && shape[1] == 1;
  });
}

const Rate& flops_of(const CostModel& model, const Node& node) {
  const std::string_view op = node.op().name();
  if (op.starts_with("matmul")) return model.matmul;
  if (op.starts_with("conv2d")) return is_pointwise(node) ? model.matmul : model.convolution;
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

const Rate& rate_of_bytes(const CostModel& model, double of_a_core) {
  if (of_a_core <= kCachedBytes) return model.cache;
  return of_a_core <= kNearBytes ? model.near : model.memory;
}

// `readers` threads read what is fixed, each all of it.
double run_ns(const CostModel& model, const Node& node, const StageWork& work, int64_t rows,
              int threads, int sharers, int readers) {
  const Cost cost = cost_at(node, rows);
  const double fixed =
      static_cast<double>(work.fixed_bytes) > kCachedBytes ? fixed_bytes(node, rows, cost) : 0.0;
  const double moved = cost.bytes - fixed;
  const Rate& bytes = rate_of_bytes(model, moved / sharers);
  const Rate& flops = flops_of(model, node);
  const double compute = cost.flops / on(model, flops, threads);
  const double move = moved / on(model, bytes, threads);
  // A product waits for its rows and its results where they are not in the cache; a loop over
  // elements is as fast as they come.
  return (&flops != &model.other ? compute + move : std::max(compute, move)) +
         readers * fixed / on(model, model.weights, threads);
}

// Kernels share out rows: a part of one row keeps one thread busy, unless it is the large picture
// of a convolution, which is shared out in bands.
int busy_threads(const Node& node, int64_t rows, int threads) {
  constexpr double kBandFlops = 8e6;
  double pieces = static_cast<double>(rows);
  if (node.op().name().starts_with("conv2d"))
    pieces = std::max(pieces, cost_at(node, rows).flops / kBandFlops);
  return static_cast<int>(std::clamp(pieces, 1.0, static_cast<double>(threads)));
}

// Of a product that threads share out, in times of what it takes in lanes: they wait for the last
// of them, and for the gradient of a convolution's kernel each goes through all rows (Zen 4, 16 to
// 64 channels: 1.1 to 1.2, and 1.35 to 1.4).
double shared_out(const Node& node) {
  constexpr double kProduct = 1.15, kKernelGradient = 1.37;
  return node.op().name().ends_with("kernel_gradient") ? kKernelGradient : kProduct;
}

// On so many threads. Products always take them, other kernels only where they have enough to do.
double whole_ns(const CostModel& model, const Node& node, const StageWork& work, int64_t rows,
                int threads) {
  const double alone = run_ns(model, node, work, rows, 1, 1, 1);
  if (threads == 1) return model.node_ns + alone;
  const double shared = model.fork_ns + run_ns(model, node, work, rows, threads, threads, threads);
  const bool is_product = &flops_of(model, node) != &model.other;
  return model.node_ns + (is_product ? shared_out(node) * shared : std::min(alone, shared));
}

}  // namespace

double pass_ns(const CostModel& model, int64_t bytes, int64_t of_stage, int threads) {
  const Rate& rate = rate_of_bytes(model, static_cast<double>(of_stage) / threads);
  return static_cast<double>(bytes) / on(model, rate, threads);
}

double move_ns(const CostModel& model, int64_t bytes, int threads) {
  return static_cast<double>(bytes) / on(model, model.memory, threads);
}

double node_ns(const CostModel& model, const Node& node, const StageWork& work) {
  if (work.parts == 1) return whole_ns(model, node, work, work.rows, work.threads);
  const int64_t rest = work.rows - work.part_rows * (work.parts - 1);
  const double full = work.parts - 1;
  if (work.lanes == 1) {
    const auto part_ns = [&](int64_t rows) {
      return whole_ns(model, node, work, rows, busy_threads(node, rows, work.threads));
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
