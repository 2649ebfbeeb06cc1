// What must hold between the data and the model before a fit is planned.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/train/fit.h"

namespace snug {
namespace {

// The shape without trailing axes of one: [28, 28, 1] and [28, 28] hold the same row.
Shape bare(Shape shape) {
  while (shape.rank() > 0 && shape.extent(-1) == Extent(1)) shape = shape.without(-1);
  return shape;
}

std::vector<const Field*> fields_of(const Source& data, FieldRole role) {
  std::vector<const Field*> found;
  for (const Field& field : data.fields()) {
    if (field.role == role) found.push_back(&field);
  }
  return found;
}

}  // namespace

void fit_network_to(Network& network, const Source& data) {
  const std::vector<const Field*> inputs = fields_of(data, FieldRole::input);
  if (!network.is_defined()) {
    Types types;
    for (const Field* field : inputs) {
      Shape shape{kRows};
      for (const Extent extent : field->row.extents()) shape.push_back(extent);
      types.push_back({DType::float32, shape});
    }
    network.ensure_built(types);
  }
  const Types wanted = network.input_types();
  if (inputs.size() != wanted.size()) {
    throw Error(
        "the model has {} inputs, but the data has {}; give one array (or column) for each input",
        wanted.size(), inputs.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Shape row = wanted[i].shape.part(1, wanted[i].shape.rank());
    if (bare(row) != bare(inputs[i]->row)) {
      throw ShapeError(
          "{}: a row has the shape {}, but the model's input \"{}\" wants {}; reshape the data, or "
          "train a model with an Input for it",
          inputs[i]->name, inputs[i]->row.text(), network.input_names()[i], row.text());
    }
  }
}

DataError no_rows(const std::string& what, const Source& source) {
  return DataError("{}; {}", what,
                   source.access() == Access::once
                       ? "rows that are gone over more than once need a generator with `.restart`"
                       : "see where its rows come from");
}

TargetTypes target_types(const Source& data, const Network& network, bool weighted) {
  const std::vector<const Field*> targets = fields_of(data, FieldRole::target);
  const size_t outputs = network.output_calls().size();
  if (targets.empty()) {
    throw Error(
        "the data has no targets, so there is no loss of it: give them (y, labels, or the column "
        "of a table that `label` names; beside \"{}\" there is none); rows without them are for "
        "predict",
        data.fields()[0].name);
  }
  if (targets.size() != outputs) {
    throw Error("outputs of the model: {}, but targets of the data: {}; give one for each output",
                outputs, targets.size());
  }
  TargetTypes types;
  if (weighted) {
    const std::vector<const Field*> weights = fields_of(data, FieldRole::weight);
    types.weight_row = weights.empty() ? Shape() : weights[0]->row;
  }
  for (const Field* field : targets) types.target_rows.push_back(field->row);
  return types;
}

}  // namespace snug
