#include "snug/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"

namespace snug {

Optimizer make_optimizer(std::string_view name) {
  std::string word(name);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "adadelta") return Adadelta();
  if (word == "adagrad") return Adagrad();
  if (word == "adam") return Adam();
  if (word == "adamax") return Adamax();
  if (word == "adamw") return AdamW();
  if (word == "lion") return Lion();
  if (word == "nadam") return Nadam();
  if (word == "rmsprop") return RMSprop();
  if (word == "sgd") return SGD();
  constexpr std::array<std::string_view, 9> words = {
      "adam", "adamw", "adamax", "adadelta", "adagrad", "lion", "nadam", "rmsprop", "sgd"};
  throw Error("there is no optimizer \"{}\"; did you mean \"{}\"? There are {}", name,
              nearest_word(name, words), fmt::join(words, ", "));
}

Optimizer::Optimizer(const char* name) : Optimizer(make_optimizer(name)) {}
Optimizer::Optimizer(const std::string& name) : Optimizer(make_optimizer(name)) {}

}  // namespace snug
