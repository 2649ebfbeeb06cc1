// docs/run_file.md against the program: what it lists is what there is, with the defaults, and its
// examples are run files.
#include <gtest/gtest.h>

#include <cctype>
#include <map>

#include "snug/cli/arguments.h"
#include "snug/cli/document_testing.h"
#include "snug/cli/fit_words.h"
#include "snug/cli/run_file.h"
#include "snug/cli/session.h"
#include "snug/cli/setting_text_testing.h"
#include "snug/nn/activation.h"
#include "snug/nn/dense.h"
#include "snug/nn/layer_list.h"
#include "snug/nn/loss_list.h"
#include "snug/nn/weight_words.h"
#include "snug/optim/optimizer.h"
#include "snug/optim/optimizer_list.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callback_list.h"
#include "snug/train/callbacks.h"

namespace snug::cli {
namespace {

const std::string& document() {
  static const std::string text = file_text(RUN_FILE_DOCUMENT);
  return text;
}

YamlValue parsed(const DocumentBlock& block) {
  return parse_yaml(block.text, fmt::format("docs/run_file.md, block at line {}", block.line));
}

// A name as run files compare it: capitals and underscores do not count.
std::string bare(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// Names with their settings, from all blocks of a kind: a list of them, or a map.
std::map<std::string, std::string> listed(const std::string& kind) {
  std::map<std::string, std::string> settings;
  const auto add = [&](const std::string& name, const std::string& text) {
    EXPECT_TRUE(settings.emplace(bare(name), text).second) << name << " is listed twice";
  };
  for (const DocumentBlock& block : blocks_of(document())) {
    if (block.kind != "yaml " + kind) continue;
    const YamlValue root = parsed(block);
    for (const YamlItem& item : root.items) add(item.key, flow_text(item.value));
    for (const YamlValue& element : root.list) {
      if (element.is_scalar()) add(element.text, "{}");
      for (const YamlItem& item : element.items) add(item.key, flow_text(item.value));
    }
  }
  return settings;
}

using Objects = std::vector<std::pair<std::string, ConfigurablePtr>>;

void expect_meanings(const std::string& name, Configurable& object) {
  for (const auto& [setting, value] : settings_of(object)) {
    EXPECT_NE(document().find(fmt::format("| `{}` |", setting)), std::string::npos)
        << "docs/run_file.md does not say what " << setting << " of " << name << " means";
  }
}

void expect_listed(const std::string& kind, const Objects& objects) {
  const std::map<std::string, std::string> lines = listed(kind);
  for (const auto& [name, object] : objects) {
    const auto found = lines.find(bare(name));
    EXPECT_EQ(found == lines.end() ? "nothing" : found->second, settings_text(*object))
        << "docs/run_file.md, yaml " << kind << ", " << name;
    expect_meanings(name, *object);
  }
  EXPECT_EQ(lines.size(), objects.size()) << "yaml " << kind << " lists what there is not";
}

template <typename Names, typename Make>
Objects objects_of(const Names& names, const Make& make) {
  Objects objects;
  for (const std::string_view name : names) objects.emplace_back(snake_case(name), make(name));
  return objects;
}

TEST(RunFileDocument, ListsEveryLayer) {
  Objects layers;
  for (const LayerEntry& entry : layer_list()) {
    layers.emplace_back(snake_case(entry.class_name), entry.make().definition());
  }
  expect_listed("layers", layers);
}

TEST(RunFileDocument, ListsEveryLossAndMetric) {
  expect_listed("losses", objects_of(loss_classes(), default_loss));
  Objects metrics = objects_of(metric_classes(), default_metric);
  // The word is for what the shapes say, so the class has none.
  std::erase_if(metrics, [](const auto& metric) { return metric.first == "accuracy"; });
  expect_listed("metrics", metrics);
}

TEST(RunFileDocument, ListsEveryOptimizerAndSchedule) {
  expect_listed("optimizers", objects_of(optimizer_words(), [](std::string_view word) {
                  return make_optimizer(word).definition();
                }));
  expect_listed("schedules", objects_of(schedule_classes(), make_schedule));
}

TEST(RunFileDocument, ListsEveryInitializerRegularizerAndCallback) {
  expect_listed("initializers", objects_of(initializer_words(), make_initializer));
  expect_listed("regularizers", objects_of(regularizer_words(), make_regularizer));
  expect_listed("callbacks", objects_of(callback_classes(), make_callback));
}

TEST(RunFileDocument, NamesEverySettingOfFit) {
  for (const ConfigurablePtr& object : plain_fit_settings()) {
    expect_listed(std::string(object->class_name()), {{std::string(object->class_name()), object}});
  }
  for (const std::string_view setting : other_fit_settings()) {
    EXPECT_NE(document().find(fmt::format("| `{}` |", setting)), std::string::npos) << setting;
  }
  for (const std::string_view name : activation_names()) {
    EXPECT_NE(document().find(fmt::format("`{}`", name)), std::string::npos) << name;
  }
}

// What is listed can be read, too.
TEST(RunFileDocument, ListedLayersAreRead) {
  for (const DocumentBlock& block : blocks_of(document())) {
    if (block.kind == "yaml layers") {
      EXPECT_FALSE(read_layers(parsed(block)).empty());
    }
  }
}

void write(const Path& path, const std::string& text) {
  real_files().create_directories(path.parent_path());
  real_files().open(path, OpenMode::write)->write_at(std::as_bytes(std::span(text)), 0);
}

// 20 rows of zeros, in NumPy's format.
std::string npy(const std::string& type, const std::string& row, int64_t bytes) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (20,{}), }}", type, row);
  header.resize(117, ' ');
  std::string text = std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + header;
  return text + "\n" + std::string(static_cast<size_t>(20 * bytes), '\0');
}

// The files that the examples name.
void make_files(const Path& folder) {
  write(folder / "x.npy", npy("<f4", "4", 16));
  write(folder / "y.npy", npy("<i8", "", 8));
  write(folder / "numbers.npy", npy("<f4", "1", 4));
  write(folder / "pictures.npy", npy("|u1", "28, 28, 1", 28 * 28));
  std::string rows = "age,city,hours,id,income\n", texts, labels;
  for (int i = 0; i < 20; ++i) {
    rows += fmt::format("{},{},{},{},{}\n", 20 + i, i % 3 ? "Rome" : "Oslo", i, i,
                        i % 2 ? "high" : "low");
    texts += i % 2 ? "a good film\n" : "not a good film\n";
    labels += i % 2 ? "1\n" : "0\n";
  }
  write(folder / "rows.csv", rows);
  write(folder / "texts.txt", texts);
  write(folder / "labels.txt", labels);
  Sequential({Input({4}), Dense(1)}, "net").save(folder / "model.keras");
}

TEST(RunFileDocument, ExamplesAreRunFiles) {
  const testing::TempDir folder;
  make_files(folder / "data");
  int runs = 0;
  for (const DocumentBlock& block : blocks_of(document())) {
    if (block.kind != "yaml run") continue;
    SCOPED_TRACE(block.text);
    const Path file = folder / fmt::format("data/run{}.yaml", ++runs);
    write(file, block.text);
    const std::vector<std::string> words = {"fit", file.string(), "--runs", folder / "runs"};
    EXPECT_NO_THROW(open_session(parse_arguments(words).arguments.value()));
  }
  EXPECT_GE(runs, 5);
}

// Shorter examples are pieces of run files.
TEST(RunFileDocument, PiecesAreRead) {
  const testing::TempDir folder;
  for (const DocumentBlock& block : blocks_of(document())) {
    if (block.kind != "yaml") continue;
    SCOPED_TRACE(block.text);
    write(folder / "run.yaml", block.text);
    const RunFile run = read_run_file((folder / "run.yaml").string(), {});
    if (run.section("fit") != nullptr) {
      EXPECT_NO_THROW(fit_options(run));
      if (run.section("fit")->find("loss") != nullptr) {
        EXPECT_NO_THROW(compile_options(run));
      }
    }
    if (run.section("model") != nullptr && run.section("model")->is_list()) {
      EXPECT_NO_THROW(make_model(run));
    }
  }
}

}  // namespace
}  // namespace snug::cli
