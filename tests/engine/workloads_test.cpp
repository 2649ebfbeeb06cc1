// Every workload that the layers of today can express: its plan is valid and close to the least
// that any placement needs.

#include "bench/workloads/workloads.h"

#include <gtest/gtest.h>

#include "snug/exec/program.h"
#include "snug/plan/fuse.h"
#include "snug/train/step_graph.h"

namespace snug {
namespace {

Shape target_row(const bench::Workload& workload) {
  using Labels = bench::Workload::Labels;
  if (workload.labels == Labels::classes) return {};
  return workload.labels == Labels::pixels ? Shape{128, 128, 1} : Shape{1};
}

TEST(Workloads, ArenaIsWithinTwoPercentOfWhatLivesAtOnce) {
  for (const bench::Workload& workload : bench::workloads()) {
    Model model = workload.model();
    model.compile(workload.compile);
    const StepGraph step =
        training_step(model.network(), model.compiled(), {.target_rows = {target_row(workload)}});
    const std::unique_ptr<Graph> fused = fuse(*step.graph, step.results());
    const Program program = make_program(*fused, step.results(), workload.batch, {.threads = 2});
    const Plan& plan = program.plan();
    const double share =
        static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.max_live_bytes);
    std::printf("%-4s arena %9.2f MiB, %.4f of the bytes that live at once, %zu nodes\n",
                workload.name.c_str(), static_cast<double>(plan.arena_bytes) / (1 << 20), share,
                program.problem().nodes.size());
    EXPECT_LE(share, 1.02) << workload.name;
  }
}

// As torchvision counts them; Keras's has biases before its batch norms too.
TEST(Workloads, ResNet50HasItsParameters) {
  Model model = bench::workload("resnet50").model();
  int64_t trained = 0;
  for (const VariablePtr& weight : model.trainable_variables())
    trained += weight->type().shape.size();
  EXPECT_EQ(trained, 25'557'032);
}

}  // namespace
}  // namespace snug
