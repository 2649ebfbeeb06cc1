// Seed 002, first snippet: a million rows of a thousand numbers in batches of 10,000. There it
// dies: 8 GB of rows, and copies of them. Here the rows stay in their file, a batch is cut into
// parts where the budget asks for it, and the update is the same at either budget, to rounding.
#include <filesystem>

#include "examples/seeds/seed.h"
#include "snug/data/npy_writer.h"

using namespace seed;

namespace {

struct Size {
  int64_t rows = 1000000, features = 1000, units = 1000, batch = 10000;
  int64_t budget = 256_MiB, tight = 64_MiB;
};

void write_rows(const Size& size, const Path& x, const Path& y) {
  NpyWriter rows(real_files(), x, {size.features}), labels(real_files(), y, {});
  const std::vector<float> numbers = random_numbers<float>(size.features * 997);
  for (int64_t row = 0; row < size.rows; ++row) {
    rows.append({numbers.data() + row % 997 * size.features, static_cast<size_t>(size.features)});
    const float label = row % 3 == 0 ? 1 : 0;
    labels.append({&label, 1});
  }
  rows.finish();
  labels.finish();
}

Sequential wide_model(const Size& size) {
  Sequential model({Input({size.features}), Dense(size.units, "relu"), Dense(1, "sigmoid")});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  return model;
}

// Three quarters of the arena that it would take at its fastest.
int64_t too_little(const Size& size, const SourcePtr& data) {
  const FitPlan plan = wide_model(size).plan(data, {.batch_size = size.batch});
  return plan.total_bytes() - plan.arena_bytes / 4;
}

std::vector<std::vector<float>> trained(const Size& size, const SourcePtr& data, int64_t memory) {
  Sequential model = wide_model(size);
  const int64_t before = resident_bytes();
  model.fit(data, {.batch_size = size.batch, .verbose = 2, .memory = memory});
  promise(peak_resident_bytes() - before <= memory,
          fmt::format("it trained within {}", bytes_text(memory)));
  return model.get_weights();
}

}  // namespace

int main(int argc, char** argv) {
  Size size;
  if (is_small(argc, argv))
    size = {
        .rows = 6000, .features = 100, .units = 1000, .batch = 2000, .budget = 32_MiB, .tight = 0};
  const Path folder =
      std::filesystem::temp_directory_path() / fmt::format("snug-seed-{}", ::getpid());
  std::filesystem::create_directory(folder);
  write_rows(size, folder / "x.npy", folder / "y.npy");
  const SourcePtr data = data::npy(folder / "x.npy", folder / "y.npy");

  if (size.tight == 0) size.tight = too_little(size, data);
  // The tight one first: the peak of a process never falls.
  const auto in_parts = trained(size, data, size.tight), whole = trained(size, data, size.budget);
  float most = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (size_t k = 0; k < whole[i].size(); ++k)
      most = std::max(most, std::abs(whole[i][k] - in_parts[i][k]));
  }
  std::filesystem::remove_all(folder);
  promise(most < 2e-3F, fmt::format("weights differ by at most {}", most));
}
