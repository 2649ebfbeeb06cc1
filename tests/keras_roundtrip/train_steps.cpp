// train_steps IN OUT [STEPS BATCH X...npy -- Y...npy]: loads a model, trains it for so many batches
// in the order of the rows, and saves it. Without STEPS it only loads and saves.

#include <cstdio>
#include <cstdlib>

#include "snug/base/error.h"
#include "snug/data/npy.h"
#include "snug/train/model.h"

namespace {

void train(snug::Model& model, int count, char** words) {
  snug::data::NpyOptions files;
  bool targets = false;
  for (int i = 2; i < count; ++i) {
    if (std::string_view(words[i]) == "--")
      targets = true;
    else
      (targets ? files.y : files.x).emplace_back(words[i]);
  }
  model.fit(snug::data::npy(files), {.batch_size = std::atoll(words[1]),
                                     .epochs = 1,
                                     .shuffle = false,
                                     .steps_per_epoch = std::atoll(words[0]),
                                     .verbose = 0});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    snug::Model model = snug::load_model(argv[1]);
    if (argc > 4) train(model, argc - 3, argv + 3);
    model.save(argv[2]);
  } catch (const snug::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
  return 0;
}
