#include "snug/optim/optimizer.h"

#include <algorithm>
#include <cctype>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/optim/optimizer_list.h"

namespace snug {
namespace {

struct Entry {
  std::string_view word;
  Optimizer (*make)();
};

constexpr Entry kOptimizers[] = {
    {"adam", [] { return Adam(); }},       {"adamw", [] { return AdamW(); }},
    {"adamax", [] { return Adamax(); }},   {"adadelta", [] { return Adadelta(); }},
    {"adagrad", [] { return Adagrad(); }}, {"lion", [] { return Lion(); }},
    {"nadam", [] { return Nadam(); }},     {"rmsprop", [] { return RMSprop(); }},
    {"sgd", [] { return SGD(); }},
};

}  // namespace

std::vector<std::string_view> optimizer_words() {
  std::vector<std::string_view> words;
  for (const Entry& entry : kOptimizers) words.push_back(entry.word);
  return words;
}

Optimizer make_optimizer(std::string_view name) {
  std::string word(name);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const Entry& entry : kOptimizers) {
    if (word == entry.word) return entry.make();
  }
  const std::vector<std::string_view> words = optimizer_words();
  throw Error("there is no optimizer \"{}\"; {}", name, did_you_mean(name, words));
}

Optimizer::Optimizer(const char* name) : Optimizer(make_optimizer(name)) {}
Optimizer::Optimizer(const std::string& name) : Optimizer(make_optimizer(name)) {}

}  // namespace snug
