#include "snug/nn/loss_list.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/nn/metrics.h"
#include "snug/nn/network.h"

namespace snug {
namespace {

template <typename Pointer>
struct Entry {
  std::string_view class_name;
  Pointer (*make)();
};

const Entry<LossPtr> kLosses[] = {
    {"MeanSquaredError", [] { return MeanSquaredError().definition(); }},
    {"MeanAbsoluteError", [] { return MeanAbsoluteError().definition(); }},
    {"MeanAbsolutePercentageError", [] { return MeanAbsolutePercentageError().definition(); }},
    {"MeanSquaredLogarithmicError", [] { return MeanSquaredLogarithmicError().definition(); }},
    {"Huber", [] { return Huber().definition(); }},
    {"LogCosh", [] { return LogCosh().definition(); }},
    {"BinaryCrossentropy", [] { return BinaryCrossentropy().definition(); }},
    {"CategoricalCrossentropy", [] { return CategoricalCrossentropy().definition(); }},
    {"SparseCategoricalCrossentropy", [] { return SparseCategoricalCrossentropy().definition(); }},
    {"BinaryFocalCrossentropy", [] { return BinaryFocalCrossentropy().definition(); }},
    {"CategoricalFocalCrossentropy", [] { return CategoricalFocalCrossentropy().definition(); }},
    {"KLDivergence", [] { return KLDivergence().definition(); }},
    {"Poisson", [] { return Poisson().definition(); }},
    {"Hinge", [] { return Hinge().definition(); }},
    {"SquaredHinge", [] { return SquaredHinge().definition(); }},
    {"CategoricalHinge", [] { return CategoricalHinge().definition(); }},
    {"CosineSimilarity", [] { return CosineSimilarity().definition(); }},
};

const Entry<MetricPtr> kMetrics[] = {
    {"Mean", [] { return metrics::Mean().definition(); }},
    {"Sum", [] { return metrics::Sum().definition(); }},
    {"Accuracy", [] { return metrics::Accuracy().definition(); }},
    {"BinaryAccuracy", [] { return metrics::BinaryAccuracy().definition(); }},
    {"CategoricalAccuracy", [] { return metrics::CategoricalAccuracy().definition(); }},
    {"SparseCategoricalAccuracy", [] { return metrics::SparseCategoricalAccuracy().definition(); }},
    {"TopKCategoricalAccuracy", [] { return metrics::TopKCategoricalAccuracy().definition(); }},
    {"SparseTopKCategoricalAccuracy",
     [] { return metrics::SparseTopKCategoricalAccuracy().definition(); }},
    {"MeanSquaredError", [] { return metrics::MeanSquaredError().definition(); }},
    {"RootMeanSquaredError", [] { return metrics::RootMeanSquaredError().definition(); }},
    {"MeanAbsoluteError", [] { return metrics::MeanAbsoluteError().definition(); }},
    {"MeanAbsolutePercentageError",
     [] { return metrics::MeanAbsolutePercentageError().definition(); }},
    {"MeanSquaredLogarithmicError",
     [] { return metrics::MeanSquaredLogarithmicError().definition(); }},
    {"CosineSimilarity", [] { return metrics::CosineSimilarity().definition(); }},
    {"LogCoshError", [] { return metrics::LogCoshError().definition(); }},
    {"Poisson", [] { return metrics::Poisson().definition(); }},
    {"KLDivergence", [] { return metrics::KLDivergence().definition(); }},
    {"Hinge", [] { return metrics::Hinge().definition(); }},
    {"SquaredHinge", [] { return metrics::SquaredHinge().definition(); }},
    {"CategoricalHinge", [] { return metrics::CategoricalHinge().definition(); }},
    {"BinaryCrossentropy", [] { return metrics::BinaryCrossentropy().definition(); }},
    {"CategoricalCrossentropy", [] { return metrics::CategoricalCrossentropy().definition(); }},
    {"SparseCategoricalCrossentropy",
     [] { return metrics::SparseCategoricalCrossentropy().definition(); }},
    {"TruePositives", [] { return metrics::TruePositives().definition(); }},
    {"FalsePositives", [] { return metrics::FalsePositives().definition(); }},
    {"TrueNegatives", [] { return metrics::TrueNegatives().definition(); }},
    {"FalseNegatives", [] { return metrics::FalseNegatives().definition(); }},
    {"Precision", [] { return metrics::Precision().definition(); }},
    {"Recall", [] { return metrics::Recall().definition(); }},
    {"AUC", [] { return metrics::AUC().definition(); }},
    {"F1Score", [] { return metrics::F1Score().definition(); }},
    {"R2Score", [] { return metrics::R2Score().definition(); }},
    {"MeanIoU", [] { return metrics::MeanIoU(2).definition(); }},
};

struct ShortForm {
  std::string_view word, class_name;
};
const ShortForm kShortForms[] = {
    {"mse", "MeanSquaredError"},
    {"mae", "MeanAbsoluteError"},
    {"mape", "MeanAbsolutePercentageError"},
    {"msle", "MeanSquaredLogarithmicError"},
    {"bce", "BinaryCrossentropy"},
    {"kld", "KLDivergence"},
};

std::string_view long_form(std::string_view word) {
  for (const ShortForm& form : kShortForms) {
    if (same_word(word, form.word)) return form.class_name;
  }
  return word;
}

template <typename Entries>
std::vector<std::string_view> classes(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.class_name);
  return names;
}

template <typename Pointer, typename Entries>
Pointer by_class(const Entries& entries, std::string_view class_name) {
  for (const auto& entry : entries) {
    if (entry.class_name == class_name) return entry.make();
  }
  return nullptr;
}

template <typename Pointer, typename Entries>
Pointer by_word(const Entries& entries, std::string_view word, std::string_view what,
                std::string_view more) {
  const std::string_view wanted = long_form(word);
  for (const auto& entry : entries) {
    if (same_word(entry.class_name, wanted)) return entry.make();
  }
  std::vector<std::string_view> words = classes(entries);
  for (const ShortForm& form : kShortForms) words.push_back(form.word);
  words.push_back(more);
  throw Error("there is no {} \"{}\"; {}", what, word,
              suggested(nearest_class(word, words), words));
}

}  // namespace

LossPtr default_loss(std::string_view class_name) { return by_class<LossPtr>(kLosses, class_name); }
MetricPtr default_metric(std::string_view class_name) {
  return by_class<MetricPtr>(kMetrics, class_name);
}
std::vector<std::string_view> loss_classes() { return classes(kLosses); }
std::vector<std::string_view> metric_classes() { return classes(kMetrics); }

LossPtr loss_by_word(std::string_view word) {
  if (same_word(word, "crossentropy") || same_word(word, "ce"))
    return crossentropy_by_shape().definition();
  return by_word<LossPtr>(kLosses, word, "loss", "crossentropy");
}
MetricPtr metric_by_word(std::string_view word) {
  return by_word<MetricPtr>(kMetrics, word, "metric", "accuracy");
}

}  // namespace snug
