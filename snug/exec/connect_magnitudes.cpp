#include "snug/exec/connect_magnitudes.h"

#include <algorithm>
#include <map>

#include "snug/graph/magnitude_notes.h"

namespace snug {
namespace {

// By the value that it makes: each kernel that notes, where one run of it makes the whole.
std::map<int, NotesMagnitudes*> noting_kernels(const Instance& instance) {
  std::map<int, NotesMagnitudes*> makers;
  for (const Task& task : instance.tasks) {
    if (task.what != Task::What::run || instance.stages[task.stage].parts > 1) continue;
    if (auto* maker = dynamic_cast<NotesMagnitudes*>(task.kernel.get()))
      makers[task.out[0].value] = maker;
  }
  return makers;
}

void connect(TakesMagnitudes& taker, const Task& task,
             const std::map<int, NotesMagnitudes*>& makers) {
  for (size_t i = 0; i < task.in.size(); ++i) {
    const auto maker = makers.find(task.in[i].value);
    if (maker == makers.end() || !taker.takes_magnitudes(static_cast<int>(i))) continue;
    const std::span<const NotedMagnitude> notes = maker->second->note_magnitudes();
    if (!notes.empty()) taker.take_magnitudes(static_cast<int>(i), notes);
  }
}

}  // namespace

// Not in a plan whose sums are in blocks: its bits are those of any number of threads.
void connect_magnitudes(const Instance& instance) {
  const auto in_blocks = [](const StageShape& stage) { return stage.block_rows > 0; };
  if (std::ranges::any_of(instance.stages, in_blocks)) return;
  const std::map<int, NotesMagnitudes*> makers = noting_kernels(instance);
  for (const Task& task : instance.tasks) {
    auto* taker = dynamic_cast<TakesMagnitudes*>(task.kernel.get());
    if (taker != nullptr && task.what == Task::What::run) connect(*taker, task, makers);
  }
}

}  // namespace snug
