#include "snug/train/fit_machine.h"

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/random.h"
#include "snug/kernels/isa.h"

namespace snug {

void FitMachine::visit(StateVisitor& visitor) {
  visitor.visit("seed", seed);
  visitor.visit("batch_size", batch_size);
  visitor.visit("rows", rows);
  visitor.visit("shuffle", shuffle);
  visitor.visit("threads", threads);
  visitor.visit("instruction_set", instruction_set);
  visitor.visit("partition", partition);
}

void FitMachine::compare(const FitMachine& saved) const {
  const auto refuse = [](const char* what, auto here, auto there) {
    throw Error(
        "resume: {} is {}, but the checkpoint is of a run with {}; give the same, or start "
        "anew without resume",
        what, here, there);
  };
  if (seed != saved.seed) refuse("the seed", seed, saved.seed);
  if (rows != saved.rows) refuse("the number of rows", rows, saved.rows);
  if (shuffle != saved.shuffle) refuse("shuffle", shuffle, saved.shuffle);
  std::string differs;
  const auto add = [&](const std::string& text) {
    differs += (differs.empty() ? "" : ", ") + text;
  };
  if (batch_size != saved.batch_size)
    add(fmt::format("batches of {} rows instead of {}", batch_size, saved.batch_size));
  const bool reproducible = partition == "reproducible" && saved.partition == partition;
  if (threads != saved.threads && !reproducible)
    add(fmt::format("{} threads instead of {}", threads, saved.threads));
  if (instruction_set != saved.instruction_set)
    add(fmt::format("{} instead of {}", instruction_set, saved.instruction_set));
  // A machine can do without what it has, not with what it has not.
  const bool can_be_capped = saved.instruction_set == "AVX2" && instruction_set == "AVX-512";
  if (differs.empty() && partition != saved.partition)
    add("another cut of the step into parts (another budget)");
  if (differs.empty()) return;
  log_message(LogLevel::warning,
              "this run goes on with {}: no row is left out or seen twice, but its numbers may "
              "differ in the last bits from those of a run on one machine{}",
              differs,
              can_be_capped ? "; start it with ONEDNN_MAX_CPU_ISA=AVX2 to keep to AVX2" : "");
}

std::string partition_of(const Runner& runner) {
  std::string text;
  for (const auto& program : runner.programs()) {
    text += fmt::format("{}:", program->rows());
    for (const PlanStage& stage : program->plan().stages)
      text += fmt::format("{}/{} ", stage.parts, stage.lanes);
  }
  return fmt::format("{:016x}", hash_text(text));
}

std::string instruction_set() {
  switch (isa()) {
    case Isa::avx512:
      return "AVX-512";
    case Isa::avx2:
      return "AVX2";
    case Isa::baseline:
      break;
  }
  return "baseline";
}

}  // namespace snug
