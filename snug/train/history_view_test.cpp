#include "snug/train/history_view.h"

#include <gtest/gtest.h>

#include "snug/train/state_bytes.h"

namespace snug {
namespace {

template <typename Write>
std::vector<std::byte> bytes_of(const Write& write) {
  StateWriter writer;
  write(writer);
  return writer.take();
}

TEST(HistoryView, IsOfTheMomentItWasTaken) {
  constexpr int kEpochs = 20;
  History history;
  HistoryView view;
  view.take(history);
  EXPECT_EQ(bytes_of([&](StateVisitor& v) { view.write(v); }),
            bytes_of([&](StateVisitor& v) { visit_history(history, v); }));
  for (int epoch = 0; epoch < kEpochs; epoch += 2) {
    // Some epochs validate.
    const Logs logs =
        epoch % 3 == 0 ? Logs{{"loss", epoch}, {"val_loss", 2 * epoch}} : Logs{{"loss", epoch}};
    history.add(epoch, logs, kEpochs);
    view.take(history);
    const auto then = bytes_of([&](StateVisitor& v) { visit_history(history, v); });
    EXPECT_FALSE(HistoryView::may_move(history, kEpochs));
    history.add(epoch + 1, {{"accuracy", 0.5}, {"loss", -1}}, kEpochs);
    EXPECT_EQ(bytes_of([&](StateVisitor& v) { view.write(v); }), then) << epoch;
  }
  EXPECT_TRUE(HistoryView::may_move(history, kEpochs)) << "it has as many as there is room for";
}

// One that was read from a file has the room that it needs, or a little more.
TEST(HistoryView, MayMoveWhenMoreRoomIsMade) {
  History history;
  EXPECT_FALSE(HistoryView::may_move(history, 9));
  history.add(0, {{"loss", 1}}, 4);
  EXPECT_FALSE(HistoryView::may_move(history, 4));
  EXPECT_TRUE(HistoryView::may_move(history, 9));
}

// The plan of a fit counts the section once, however often it was written before.
TEST(HistoryView, TakesLittleMoreThanItWrites) {
  History history;
  HistoryView view;
  std::vector<std::byte> section;
  for (int epoch = 0; epoch < 1000; ++epoch) {
    history.add(epoch, {{"loss", 1}, {"val_loss", 2}}, 1000);
    view.take(history);
    if (epoch % 300 != 299) continue;
    StateWriter writer(std::move(section));
    view.write(writer);
    section = writer.take();
    EXPECT_LE(section.capacity(), section.size() + 256) << epoch;
    EXPECT_GT(section.size(), 3 * sizeof(double) * static_cast<size_t>(epoch));
  }
}

TEST(HistoryView, IsReadBack) {
  History history;
  for (int epoch = 3; epoch < 6; ++epoch) history.add(epoch, {{"loss", 0.5 * epoch}});
  StateReader reader(bytes_of([&](StateVisitor& v) { visit_history(history, v); }), "test");
  History again;
  again.add(7, {{"other", 1}});
  visit_history(again, reader);
  EXPECT_EQ(again.epoch, history.epoch);
  EXPECT_EQ(again.history, history.history);
}

}  // namespace
}  // namespace snug
