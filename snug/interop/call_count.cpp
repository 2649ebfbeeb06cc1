#include "snug/interop/call_count.h"

#include "snug/base/error.h"
#include "snug/nn/network.h"

namespace snug {
namespace {

// Takes as long as its result is large, which was counted when the inner models were read.
int64_t flat_calls(const LayerDefinition& layer) {
  const auto* network = dynamic_cast<const Network*>(&layer);
  if (network == nullptr) return 1;
  int64_t calls = 1;
  for (const LayerCall& call : network->calls()) calls += flat_calls(*call.layer);
  return calls;
}

}  // namespace

void CallCount::add(const LayerDefinition& layer) {
  calls_ += flat_calls(layer);
  if (calls_ <= kMost) return;
  throw Error(
      "with its models in models the network calls more than {} layers; call them less often",
      kMost);
}

}  // namespace snug
