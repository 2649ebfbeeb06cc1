#include "snug/train/refusal.h"

#include <bit>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/optim/optimizer.h"
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
constexpr double kForLeast = 3, kForAll = 5;

// The largest batch that fits, of the halves, quarters and so on of this one. The half is tried
// first, which is nearest to what was asked for, then a single row, which fits if any does; then
// those between.
std::optional<int64_t> smaller_batch(FitTrials& trials, int64_t bytes) {
  const int64_t rows = trials.batch_size();
  const auto fits = [&](int halvings) {
    return trials.within(bytes, {.batch_size = rows >> halvings}).has_value();
  };
  const int most = std::bit_width(static_cast<uint64_t>(rows)) - 1;
  if (most == 0 || trials.seconds() > kForAll) return std::nullopt;
  if (fits(1)) return rows / 2;
  if (most == 1 || !fits(most)) return std::nullopt;
  int too_few = 1, enough = most;
  while (enough - too_few > 1 && trials.seconds() < kForAll) {
    const int middle = (too_few + enough) / 2;
    (fits(middle) ? enough : too_few) = middle;
  }
  return rows >> enough;
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
  try {
    refusal.smaller_batch = smaller_batch(trials, refusal.budget_bytes);
    refusal.fits_with_sgd = fits_with_sgd(trials, model, refusal.budget_bytes);
  } catch (const NoRoomError&) {
  }
}

}  // namespace

std::string Refusal::text(const RefusalWords& words) const {
  if (is_rough) {
    return fmt::format(
        "it does not fit the budget of {}, which is too little even to find out what would; it "
        "fits with {}{}, and where there is more memory `snug plan` says with how much less",
        bytes_text(budget_bytes), words.memory, typed_bytes(least_bytes));
  }
  std::vector<std::string> changes = {words.memory + typed_bytes(least_bytes)};
  if (smaller_batch) changes.push_back(fmt::format("{}{}", words.batch_size, *smaller_batch));
  if (fits_with_sgd) changes.push_back(words.sgd);
  return fmt::format(
      "it does not fit the budget of {}: batches of {} rows need {} at their fastest, and the "
      "largest part is {}; it fits with {}",
      bytes_text(budget_bytes), batch_size, bytes_text(fastest_bytes, Rounding::up), largest_part,
      fmt::join(changes, ", or with "));
}

Refusal explain_refusal(Model& model, const SourcePtr& data, const FitOptions& options,
                        const Budget& budget, int64_t missing_bytes) {
  int64_t enough_bytes = 0;
  try {
    FitTrials trials(model, data, options, budget);
    Refusal refusal{.budget_bytes = budget.bytes,
                    .batch_size = trials.batch_size(),
                    .fastest_bytes = trials.fastest_bytes(),
                    .largest_part = trials.largest_part(),
                    .least_bytes = trials.least(missing_bytes, kForLeast)};
    add_changes(refusal, trials, model);
    return refusal;
  } catch (const NoRoomError& error) {
    enough_bytes = error.enough_bytes();
  }
  forget_tries(budget);
  const ResidentLimit limit(room_of_machine().bytes);
  const int64_t most = most_bytes(model, data, options, budget);
  return rough_refusal(budget.bytes, enough_bytes > 0 ? std::min(enough_bytes, most) : most);
}

Refusal rough_refusal(int64_t budget_bytes, int64_t enough_bytes) {
  constexpr int64_t kPart = 8;  // Is added: what others take is not known to more.
  return {.budget_bytes = budget_bytes,
          .least_bytes = enough_bytes + enough_bytes / kPart,
          .is_rough = true};
}

}  // namespace snug
