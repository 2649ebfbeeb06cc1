// ResNet-50 on images of noise, with Adam, in a fifth of the memory that it takes elsewhere: the
// budget holds for the whole process, and what it costs in time is in the plan.
//
//   build/examples/resnet50 [MEMORY [SIDE [BATCH [STEPS]]]]     744MiB 224 32 2
#include "examples/resnet50.h"

#include <cstdlib>
#include <random>

#include "snug/base/memory.h"
#include "snug/snug.h"

using namespace snug;

namespace {

struct Settings {
  int64_t memory = 744_MiB, side = 224, batch = 32, steps = 2;
};

// One batch of images, held once.
struct Images {
  explicit Images(const Settings& s) : pixels(s.batch * s.side * s.side * 3), labels(s.batch) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& pixel : pixels) pixel = normal(random);
    for (int32_t& label : labels) label = static_cast<int32_t>(random() % 1000);
    source = data::arrays(
        {.x = {Array(pixels.data(), {s.batch, s.side, s.side, 3})}, .y = {Array(labels)}});
  }
  std::vector<float> pixels;
  std::vector<int32_t> labels;
  SourcePtr source;
};

void train(const Settings& settings) {
  const Images images(settings);
  Model model = examples::resnet50(settings.side);
  int64_t parameters = 0;
  for (const VariablePtr& weight : model.weights()) parameters += weight->type().shape.size();
  fmt::print("{} parameters\n", parameters);
  model.compile({.optimizer = Adam(), .loss = "sparse_categorical_crossentropy"});
  const FitOptions options{.batch_size = settings.batch,
                           .epochs = static_cast<int>(settings.steps),
                           .verbose = 2,
                           .memory = settings.memory,
                           .whole_process = true};
  {
    const FitPlan plan = model.plan(images.source, options);
    const Plan& step = plan.training->programs()[0]->plan();
    fmt::print("planned {}; predicted step {:.2f} s, {:.2f} x the fastest\n",
               bytes_text(plan.total_bytes()), step.step_ns / 1e9,
               step.fastest_ns > 0 ? step.step_ns / step.fastest_ns : 1.0);
  }
  model.fit(images.source, options);
  fmt::print("at most {} of {} resident\n", bytes_text(peak_resident_bytes()),
             bytes_text(settings.memory));
}

}  // namespace

int main(int argc, char** argv) {
  set_log_sink([](LogLevel, std::string_view message) { fmt::print("{}", message); });
  Settings settings;
  int64_t* const numbers[] = {&settings.side, &settings.batch, &settings.steps};
  try {
    if (argc > 1) settings.memory = parse_bytes(argv[1]);
    for (int i = 2; i < argc && i < 5; ++i) *numbers[i - 2] = std::atoll(argv[i]);
    train(settings);
  } catch (const Error& error) {
    fmt::print(stderr, "resnet50: {}\n", error.what());
    return error.exit_code();
  }
}
