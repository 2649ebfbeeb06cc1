#pragma once

#include "snug/tensor/tensor.h"

namespace snug {

// Calls body with the elements, as a span of their own type.
template <typename Body>
void with_elements(const Tensor& tensor, const Body& body) {
  switch (tensor.dtype()) {
    case DType::float32:
      return body(tensor.as<float>());
    case DType::float64:
      return body(tensor.as<double>());
    case DType::int32:
      return body(tensor.as<int32_t>());
    case DType::int64:
      return body(tensor.as<int64_t>());
    case DType::uint8:
      return body(tensor.as<uint8_t>());
    case DType::boolean:
      return body(tensor.as<bool>());
  }
}

}  // namespace snug
