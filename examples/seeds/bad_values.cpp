// Seed 002, second snippet: an array with a letter among its numbers. There: "Unsupported object
// type", without a place. Here the row, the column, the value and what was expected are named,
// before anything is trained on: of a file with the letter, and of an array with what a reader made
// of it.
#include <filesystem>
#include <fstream>

#include "examples/seeds/seed.h"

using namespace seed;

namespace {

// [[1, 2, 'a'], [4, 5, 6]] in a file, with the labels behind.
void promise_the_letter_is_named() {
  const Path path =
      std::filesystem::temp_directory_path() / fmt::format("snug-seed-{}.csv", ::getpid());
  std::ofstream(path.string()) << "a,b,c,y\n1,2,a,0\n4,5,6,1\n";
  data::CsvOptions options{.files = {path}};
  options.wishes.labels = {"y"};
  std::string text = "nothing was thrown";
  try {
    data::csv(options);
  } catch (const DataError& error) {
    text = error.what();
  }
  std::filesystem::remove(path);
  promise(text.find("line 2, column c is \"a\", but a number was expected") != text.npos, text);
}

}  // namespace

int main() {
  promise_the_letter_is_named();
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<int32_t> y = {0, 1};
  x[2] = std::nanf("");  // What a reader makes of 'a'.
  Sequential model({Input({3}), Dense(2, "relu"), Dense(1, "sigmoid")});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const auto weights = model.get_weights();
  try {
    model.fit(data::arrays(Array(x.data(), {2, 3}), Array(y)), {.verbose = 0, .memory = 16_MiB});
    promise(false, "a row that cannot be trained on is named");
  } catch (const DataError& error) {
    const std::string_view text = error.what();
    promise(text.find("row 0") != text.npos && text.find("nan") != text.npos, error.what());
  }
  promise(model.get_weights() == weights, "the weights are as they were");
}
