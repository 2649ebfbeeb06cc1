#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// Writes logs of its own instead of a model's.
void write(const CallbackPtr& logger, const std::vector<Logs>& epochs, bool validates = false) {
  logger->set_params({.epochs = static_cast<int>(epochs.size()), .validates = validates});
  logger->on_train_begin();
  for (size_t i = 0; i < epochs.size(); ++i) {
    Logs logs = epochs[i];
    logger->on_epoch_end(static_cast<int>(i), logs);
  }
  logger->on_train_end({});
}

TEST(CSVLogger, WritesEveryEpoch) {
  MemoryFiles files;
  write(CSVLogger("log.csv", {}, files), {{{"loss", 0.5}, {"accuracy", 1}}, {{"loss", 1e-7}}});
  EXPECT_EQ(read_text(files, "log.csv"), "epoch,accuracy,loss\n0,1.0,0.5\n1,NA,1e-07\n");
  write(CSVLogger("log.csv", {.separator = "; "}, files), {{{"loss", 2}}});
  EXPECT_EQ(read_text(files, "log.csv"), "epoch; loss\n0; 2.0\n");
}

TEST(CSVLogger, AppendsWithoutASecondHeader) {
  MemoryFiles files;
  const CallbackPtr logger = CSVLogger("log.csv", {.append = true}, files);
  write(logger, {{{"loss", 3}}});
  write(logger, {{{"loss", 2}}});
  EXPECT_EQ(read_text(files, "log.csv"), "epoch,loss\n0,3.0\n0,2.0\n");
}

// Rows stand under the names of the header that is there.
TEST(CSVLogger, AppendsByTheColumnsOfTheFile) {
  MemoryFiles files;
  write_text(files, "log.csv", "epoch,val_loss,loss\r\n0,2.0,1.0\r\n1,2");
  LogText log;
  write(CSVLogger("log.csv", {.append = true}, files), {{{"accuracy", 9}, {"loss", 3}}});
  EXPECT_EQ(read_text(files, "log.csv"), "epoch,val_loss,loss\r\n0,2.0,1.0\r\n1,2\n0,NA,3.0\n");
  EXPECT_NE(log.messages.find("no column \"accuracy\""), std::string::npos) << log.messages;
}

TEST(CSVLogger, HasColumnsForValidationThatComesLater) {
  MemoryFiles files;
  write(CSVLogger("log.csv", {}, files), {{{"loss", 3}}, {{"loss", 2}, {"val_loss", 4}}},
        /*validates=*/true);
  EXPECT_EQ(read_text(files, "log.csv"), "epoch,loss,val_loss\n0,3.0,NA\n1,2.0,4.0\n");
}

TEST(CSVLogger, OfAFit) {
  MemoryFiles files;
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const History history =
      model.fit(rows.regression(), {.epochs = 2,
                                    .validation_split = 0.5,
                                    .callbacks = {CSVLogger("log.csv", {}, files)},
                                    .verbose = 0});
  const std::string text = read_text(files, "log.csv");
  const std::string expected =
      fmt::format("epoch,loss,val_loss\n0,{},{}\n1,{},{}\n", history.history.at("loss")[0],
                  history.history.at("val_loss")[0], history.history.at("loss")[1],
                  history.history.at("val_loss")[1]);
  EXPECT_EQ(text, expected);
}

TEST(CSVLogger, NamesAFileThatCannotBeWritten) {
  MemoryFiles files;
  try {
    write(CSVLogger("none/log.csv", {}, files), {{{"loss", 3}}});
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("none/log.csv"), std::string::npos) << error.what();
  }
  EXPECT_THROW(CSVLogger(""), Error);
  EXPECT_THROW(CSVLogger("log.csv", {.separator = ""}), Error);
}

// Sets every number to 7, every text to "sum", and writes down the names.
class Sevens final : public SettingVisitor {
 public:
  std::string names;
  void visit(std::string_view name, bool& value) override { note(name), value = true; }
  void visit(std::string_view name, int64_t& value) override { note(name), value = 7; }
  void visit(std::string_view name, double& value) override { note(name), value = 0.7; }
  void visit(std::string_view name, std::string& value) override {
    note(name);
    value = name == "mode" ? "max" : "sum";
  }
  void visit(std::string_view name, std::optional<double>& value) override {
    note(name), value = 7;
  }
  void visit(std::string_view, std::vector<int64_t>&) override {}
  void visit(std::string_view, std::vector<double>&) override {}
  void visit(std::string_view, std::optional<bool>&) override {}
  void visit(std::string_view, std::optional<int64_t>&) override {}
  void visit(std::string_view, std::optional<std::vector<int64_t>>&) override {}
  void visit(std::string_view, std::vector<std::vector<int64_t>>&) override {}
  void visit(std::string_view, Family, ConfigurablePtr&) override {}

 private:
  void note(std::string_view name) { names += (names.empty() ? "" : " ") + std::string(name); }
};

TEST(MakeCallback, HasKerasSettings) {
  const auto names = [](std::string_view callback) {
    Sevens sevens;
    make_callback(callback)->settings(sevens);
    return sevens.names;
  };
  EXPECT_EQ(names("early_stopping"),
            "monitor min_delta patience verbose mode baseline restore_best_weights "
            "start_from_epoch");
  EXPECT_EQ(names("ReduceLROnPlateau"),
            "monitor factor patience verbose mode min_delta cooldown min_lr");
  EXPECT_EQ(names("reduce_lr_on_plateau"), names("ReduceLROnPlateau"));
  EXPECT_EQ(names("csv_logger"), "filename separator append");
  EXPECT_EQ(names("terminate_on_nan"), "raise_error");
}

TEST(MakeCallback, SuggestsTheNearest) {
  try {
    make_callback("early_stoping");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "there is no callback \"early_stoping\"; did you mean \"early_stopping\"?");
  }
}

}  // namespace
}  // namespace snug::testing
