// The network of mnist.yaml as a program: about 99 of 100 handwritten digits right after five
// epochs, within 64 MiB.
//
//   build/examples/mnist [FOLDER [EPOCHS [STEPS]]]     FOLDER has the four files of MNIST
#include <cstdlib>

#include "snug/snug.h"

using namespace snug;

namespace {

SourcePtr digits(const Path& folder, const std::string& part) {
  return data::idx({.x = {folder / (part + "-images-idx3-ubyte.gz")},
                    .y = {folder / (part + "-labels-idx1-ubyte.gz")},
                    .cache = "runs/.cache"});
}

Sequential digit_model(int64_t steps_of_epoch) {
  Sequential model({Input({28, 28, 1}), Rescaling(1.0 / 255),
                    Conv2D(16, {3, 3}, {.activation = "relu"}), MaxPooling2D({2, 2}),
                    Conv2D(32, {3, 3}, {.activation = "relu"}), MaxPooling2D({2, 2}), Flatten(),
                    Dense(128, "relu"), Dropout(0.3), Dense(10, "softmax")});
  // The rate falls to six tenths with every epoch.
  model.compile({.optimizer = Adam({.learning_rate = ExponentialDecay(0.003, steps_of_epoch, 0.6)}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

void train(const Path& folder, int epochs, std::optional<int64_t> steps) {
  const SourcePtr train = digits(folder, "train"), test = digits(folder, "t10k");
  Sequential model = digit_model(469);
  fmt::print("{}", model.summary());
  FitOptions options{.batch_size = 128,
                     .epochs = epochs,
                     .validation_data = test,
                     .steps_per_epoch = steps,
                     .verbose = 2,
                     .memory = 64_MiB,
                     .whole_process = true};
  if (steps) options.validation_steps = *steps;
  fmt::print("It will need {}.\n", bytes_text(model.plan(train, options).total_bytes()));
  const History history = model.fit(train, options);
  fmt::print("{:.2f} % of the test digits are right.\n",
             100 * history.history.at("val_accuracy").back());
}

}  // namespace

int main(int argc, char** argv) {
  set_log_sink([](LogLevel, std::string_view message) { fmt::print("{}", message); });
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  try {
    train(argc > 1 ? argv[1] : "examples/data/mnist", number(2, 5),
          argc > 3 ? std::optional<int64_t>(number(3, 1)) : std::nullopt);
  } catch (const Error& error) {
    fmt::print(stderr, "mnist: {}\n", error.what());
    return error.exit_code();
  }
}
