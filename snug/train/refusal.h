// Why a fit does not fit, and what would.
#pragma once

#include <ctime>
#include <optional>
#include <string>

#include "snug/base/error.h"
#include "snug/train/fit_setup.h"

namespace snug {

// How the place that the user wrote names what can be changed.
struct RefusalWords {
  std::string memory = "memory = ", batch_size = "batch_size = ", sgd = "optimizer = SGD()";
};

struct Refusal {
  int64_t budget_bytes = 0;
  int64_t batch_size = 0;
  int64_t fastest_bytes = 0;  // Without a limit.
  std::string largest_part;
  // The least budget that works, to a thousandth and what processes differ by from run to run.
  int64_t least_bytes = 0;
  // The machine has too little memory to find that: it is one that works, and nothing else is said.
  bool is_rough = false;
  int64_t machine_bytes = 0;  // The most that a budget can be on this machine; 0: not known.
  // Changes that fit the budget: each was tried, as far as there was time.
  std::optional<int64_t> smaller_batch;
  bool fits_with_sgd = false;

  std::string text(const RefusalWords& words = {}) const;
};

class FitRefused : public BudgetError {
 public:
  explicit FitRefused(Refusal refusal, const std::string& call = "fit")
      : BudgetError(call + ": " + refusal.text()), refusal_(std::move(refusal)) {}
  const Refusal& refusal() const { return refusal_; }

 private:
  Refusal refusal_;
};

// Plans the fit at other budgets, batch sizes and with another optimizer, in some seconds since it
// was `begun` (std::clock) to plan it at this one.
Refusal explain_refusal(Model& model, const SourcePtr& data, const FitOptions& options,
                        const Budget& budget, std::clock_t begun = std::clock());
// Where nothing could be tried: so many bytes are enough, as far as it is known.
Refusal rough_refusal(const Budget& budget, int64_t enough_bytes);

}  // namespace snug
