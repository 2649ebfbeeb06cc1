#pragma once

#include <span>
#include <vector>

#include "snug/base/error.h"
#include "snug/tensor/dtype.h"
#include "snug/tensor/shape.h"

namespace snug {

// What a value is made of: its element type and its shape.
struct Type {
  DType dtype = DType::float32;
  Shape shape;

  // Of a concrete type.
  size_t bytes() const { return static_cast<size_t>(shape.size()) * size_of(dtype); }
  Type at(int64_t rows) const { return {dtype, shape.at(rows)}; }
  std::string text() const;  // "float32[rows, 10]"
  friend bool operator==(const Type&, const Type&) = default;
};

using Types = std::vector<Type>;

// A view on elements that somebody else owns.
struct Tensor {
  Type type;
  void* data = nullptr;

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  int64_t size() const { return type.shape.size(); }
  size_t bytes() const { return type.bytes(); }

  template <typename T>
  std::span<T> as() const {
    SNUG_CHECK(kDType<T> == type.dtype, "a {} value read as {}", name_of(type.dtype),
               name_of(kDType<T>));
    return {static_cast<T*>(data), static_cast<size_t>(size())};
  }
};

}  // namespace snug
