#include "snug/nn/target_types.h"

#include "snug/base/error.h"

namespace snug {
namespace {

Shape row_of(const Type& type) { return type.shape.part(1, type.shape.rank()); }

bool ends_with_one(const Shape& shape) { return shape.rank() > 0 && shape.extent(-1) == Extent(1); }

Shape without_last_one(const Shape& shape) {
  return ends_with_one(shape) ? shape.without(-1) : shape;
}

}  // namespace

Type matching_targets(const Type& predictions, const Shape& target_row, std::string_view who) {
  const Shape row = row_of(predictions);
  if (without_last_one(row) != without_last_one(target_row)) {
    throw Error(
        "{}: a row of targets has the shape {}, a row of predictions {}; they must be the same, as "
        "targets are not broadcast: change the units of the last layer, or the targets",
        who, target_row.text(), row.text());
  }
  return {DType::float32, predictions.shape};
}

Type label_targets(const Type& predictions, const Shape& target_row, std::string_view who) {
  const Shape row = row_of(predictions);
  if (row.rank() == 0) {
    throw Error("{}: predictions of shape {} have no axis of classes; give the last layer units",
                who, predictions.shape.text());
  }
  const Shape wanted = row.without(-1);
  Shape with_one = wanted;
  with_one.push_back(1);
  if (target_row != wanted && target_row != with_one) {
    const bool one_hot = target_row == row;
    throw Error(
        "{}: a row of labels has the shape {}, a row of predictions {}; give whole numbers of "
        "shape {}{}",
        who, target_row.text(), row.text(), wanted.text(),
        one_hot ? ", or use the categorical form for one-hot rows" : "");
  }
  return {DType::int32, predictions.shape.without(-1)};
}

TargetKind target_kind(const Type& predictions, const Shape& target_row) {
  const Shape row = row_of(predictions);
  if (row.rank() == 0 || ends_with_one(row)) return TargetKind::binary;
  const bool sparse = target_row.rank() < row.rank() || ends_with_one(target_row);
  return sparse ? TargetKind::sparse : TargetKind::categorical;
}

}  // namespace snug
