#include "snug/nn/target_types.h"

#include "snug/base/error.h"

namespace snug {
namespace {

Shape row_of(const Type& type) { return type.shape.part(1, type.shape.rank()); }

bool ends_with_one(const Shape& shape) { return shape.rank() > 0 && shape.extent(-1) == Extent(1); }

Shape without_last_one(const Shape& shape) {
  return ends_with_one(shape) ? shape.without(-1) : shape;
}

// "categorical_accuracy" of "sparse_categorical_accuracy".
std::string_view dense_form(std::string_view who) {
  constexpr std::string_view kSparse = "sparse_";
  return who.starts_with(kSparse) ? who.substr(kSparse.size()) : "categorical_crossentropy";
}

// What the shapes tell of a mistake.
std::string advice(const Shape& row, const Shape& target_row) {
  const bool classes =
      row.rank() > 0 && !ends_with_one(row) && without_last_one(target_row) == row.without(-1);
  if (classes)
    return "numbers of classes go with sparse_categorical_crossentropy and "
           "sparse_categorical_accuracy, amounts with a last layer of 1 unit";
  if (target_row.rank() > 0 && target_row.rank() == row.rank() &&
      target_row.without(-1) == row.without(-1))
    return fmt::format("give the last layer {} units, or change the targets", target_row[-1]);
  return "change the units of the last layer, or the targets";
}

}  // namespace

Type matching_targets(const Type& predictions, const Shape& target_row, std::string_view who) {
  const Shape row = row_of(predictions);
  if (without_last_one(row) != without_last_one(target_row)) {
    throw Error(
        "{}: a row of targets has the shape {}, a row of predictions {}; they must be the same, as "
        "targets are not broadcast: {}",
        who, target_row.text(), row.text(), advice(row, target_row));
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
        one_hot ? fmt::format(", or use {} for one-hot rows", dense_form(who)) : "");
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
