#include "snug/plan/branching.h"

#include <algorithm>
#include <vector>

#include "snug/plan/instant.h"

namespace snug {
namespace {

struct Branch {
  double bound = 0;
  int undecided = -1;
  std::vector<int> held, dropped;
};

class Branching {
 public:
  Branching(const UnitGraph& graph, const Moment& moment, int64_t limit)
      : graph_(graph), moment_(moment), limit_(limit) {
    add({});
  }

  // The least of all that are open is what none of them beats.
  double run(int looks) {
    for (; looks > 0; --looks) {
      const auto least = std::ranges::min_element(open_, {}, &Branch::bound);
      if (least->undecided < 0) break;
      Branch held = *least, dropped = std::move(*least);
      open_.erase(least);
      held.held.push_back(held.undecided);
      dropped.dropped.push_back(dropped.undecided);
      add(std::move(held));
      add(std::move(dropped));
    }
    return std::ranges::min_element(open_, {}, &Branch::bound)->bound;
  }

 private:
  void add(Branch branch) {
    const Instant instant(graph_, moment_, limit_, branch.held, branch.dropped);
    branch.bound = std::max(branch.bound, instant.bound());
    branch.undecided = instant.undecided();
    open_.push_back(std::move(branch));
  }

  const UnitGraph& graph_;
  const Moment& moment_;
  int64_t limit_;
  std::vector<Branch> open_;
};

}  // namespace

double branched_bound(const UnitGraph& graph, const Moment& moment, int64_t limit, int looks) {
  return Branching(graph, moment, limit).run(looks);
}

}  // namespace snug
