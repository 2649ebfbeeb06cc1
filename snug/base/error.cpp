#include "snug/base/error.h"

namespace snug {

void fail_check(const char* file, int line, const char* condition, const std::string& detail) {
  throw InternalError("{}:{}: {} does not hold{}{}; this is a mistake in Snug, please report it",
                      file, line, condition, detail.empty() ? "" : ": ", detail);
}

}  // namespace snug
