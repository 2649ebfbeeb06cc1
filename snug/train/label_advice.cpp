#include "snug/train/label_advice.h"

#include <fmt/format.h>

#include <cmath>

namespace snug {

std::string advice_on_label(int64_t label, int64_t classes) {
  if (label < 0)
    return fmt::format(
        "labels are numbers of classes, from 0 on: mend the row, or give the loss ignore_class: {} "
        "to leave out what has no label",
        label);
  if (label == classes)
    return fmt::format(
        "classes count from 0: where your labels are 1 to {}, take 1 off each (of a table: "
        "`columns: {{NAME: index}}` with the label's name); else mend the row, or give the last "
        "layer more units",
        classes);
  return "mend the row, or give the last layer more units";
}

std::string advice_on_probability(double label) {
  if (label == -1)
    return "for labels of -1 and 1 use hinge and activation tanh, or make them 0 and 1; else mend "
           "the row";
  if (label != std::round(label))
    return "mend the row, or, for amounts, use mse and a last layer without activation";
  return "mend the row, or, for more than two classes, give the last layer a unit for each, "
         "softmax, and sparse_categorical_crossentropy";
}

}  // namespace snug
