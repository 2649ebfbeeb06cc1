#include "snug/train/refusal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/optim/optimizer.h"
#include "snug/plan/planning_deadline.h"
#include "snug/train/fit_trials.h"
#include "snug/train/room.h"

namespace snug {
namespace {

// As it can be typed: no space between number and unit, and not more than half a thousandth above.
std::string typed_bytes(int64_t bytes) {
  if (bytes >= 1024_MiB) return fmt::format("{}MiB", (bytes + 1_MiB - 1) / 1_MiB);
  const int64_t hundredths = (bytes * 100 + 1_MiB - 1) / 1_MiB;
  return fmt::format("{}.{:02}MiB", hundredths / 100, hundredths % 100);
}

// Refusals come within seconds. The least budget that works comes first, then changes that fit this
// one, as far as there is time.
constexpr double kForLeast = 5, kForAll = 6;

// What a run takes beside its arena stays, the rest goes about by its rows.
int64_t guessed_batch(const FitTrials& trials, const Refusal& refusal) {
  constexpr double kRatherLess = 0.9;
  const auto rows = static_cast<double>(refusal.batch_size);
  const int64_t others = refusal.fastest_bytes - trials.fastest_arena_bytes();
  const auto given = static_cast<double>(refusal.budget_bytes - others);
  const auto wanted = static_cast<double>(refusal.least_bytes - others);
  if (given <= 0 || wanted <= given) return 1;
  return std::max<int64_t>(1, static_cast<int64_t>(kRatherLess * rows * given / wanted));
}

int64_t middle(int64_t low, int64_t high) {
  return static_cast<int64_t>(std::sqrt(static_cast<double>(low) * static_cast<double>(high)));
}

// The largest batch of those that were tried and fit: a guess, then a single row, which fits if any
// does, then those between, until there is no time left or little to gain.
std::optional<int64_t> smaller_batch(FitTrials& trials, const Refusal& refusal) {
  int64_t fits = 0, fails = refusal.batch_size;
  for (int64_t tried = guessed_batch(trials, refusal);
       fails - fits > std::max<int64_t>(1, fits / 8) && trials.seconds() < kForAll;
       tried = fits == 0 ? 1 : std::max(fits + 1, middle(fits, fails))) {
    const bool works = trials.within(refusal.budget_bytes, {.batch_size = tried}).has_value();
    (works ? fits : fails) = tried;
  }
  return fits > 0 ? std::optional(fits) : std::nullopt;
}

// An optimizer without moments keeps one or two numbers less for each weight.
bool fits_with_sgd(FitTrials& trials, const Model& model, int64_t bytes) {
  CompileOptions options = model.compiled().options();
  if (options.optimizer->class_name() == "SGD" || trials.seconds() > kForAll) return false;
  options.optimizer = SGD();
  Compiled compiled(model.network(), std::move(options));
  return trials.within(bytes, {.compiled = &compiled}).has_value();
}

// Where the machine has too little memory to try them, none is offered.
void add_changes(Refusal& refusal, FitTrials& trials, const Model& model) {
  const PlanningDeadline deadline(kForAll - trials.seconds());
  try {
    refusal.smaller_batch = smaller_batch(trials, refusal);
    refusal.fits_with_sgd = fits_with_sgd(trials, model, refusal.budget_bytes);
  } catch (const NoRoomError&) {
  }
}

// A budget that this machine does not have is one for another.
std::string memory_text(const Refusal& refusal, const RefusalWords& words) {
  const std::string text = words.memory + typed_bytes(refusal.least_bytes);
  if (refusal.machine_bytes == 0 || refusal.least_bytes <= refusal.machine_bytes) return text;
  return fmt::format("{} on a machine that has so much (this one leaves {})", text,
                     bytes_text(refusal.machine_bytes));
}

}  // namespace

std::string Refusal::text(const RefusalWords& words) const {
  if (is_rough) {
    return fmt::format(
        "it does not fit the budget of {}, which is too little even to find out what would; it "
        "fits with {}, and where there is more memory `snug plan` says with how much less",
        bytes_text(budget_bytes), memory_text(*this, words));
  }
  std::vector<std::string> changes = {memory_text(*this, words)};
  if (smaller_batch) changes.push_back(fmt::format("{}{}", words.batch_size, *smaller_batch));
  if (fits_with_sgd) changes.push_back(words.sgd);
  return fmt::format(
      "it does not fit the budget of {}: batches of {} rows need {} at their fastest, and the "
      "largest part is {}; it fits with {}",
      bytes_text(budget_bytes), batch_size, bytes_text(fastest_bytes, Rounding::up), largest_part,
      fmt::join(changes, ", or with "));
}

Refusal explain_refusal(Model& model, const SourcePtr& data, const FitOptions& options,
                        const Budget& budget, std::clock_t begun) {
  int64_t enough_bytes = 0;
  try {
    FitTrials trials(model, data, options, budget, begun);
    Refusal refusal{.budget_bytes = budget.bytes,
                    .batch_size = trials.batch_size(),
                    .fastest_bytes = trials.fastest_bytes(),
                    .largest_part = trials.largest_part(),
                    .least_bytes = trials.least(kForLeast)};
    add_changes(refusal, trials, model);
    refusal.machine_bytes = machine_bytes(budget);
    return refusal;
  } catch (const NoRoomError& error) {
    enough_bytes = error.enough_bytes();
  }
  forget_tries(budget);
  const ResidentLimit limit(room_of_machine().bytes);
  const int64_t most = most_bytes(model, data, options, budget);
  return rough_refusal(budget, enough_bytes > 0 ? std::min(enough_bytes, most) : most);
}

Refusal rough_refusal(const Budget& budget, int64_t enough_bytes) {
  constexpr int64_t kPart = 8;  // Is added: what others take is not known to more.
  return {.budget_bytes = budget.bytes,
          .least_bytes = enough_bytes + enough_bytes / kPart,
          .is_rough = true,
          .machine_bytes = machine_bytes(budget)};
}

}  // namespace snug
