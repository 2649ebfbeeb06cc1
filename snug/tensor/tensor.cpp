#include "snug/tensor/tensor.h"

namespace snug {

std::string Type::text() const { return fmt::format("{}{}", name_of(dtype), shape.text()); }

}  // namespace snug
