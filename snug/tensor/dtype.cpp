#include "snug/tensor/dtype.h"

namespace snug {

size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 4;
    case DType::float64:
      return 8;
    case DType::int32:
      return 4;
    case DType::int64:
      return 8;
    case DType::uint8:
      return 1;
    case DType::boolean:
      return 1;
  }
  return 0;
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::uint8:
      return "uint8";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

}  // namespace snug
