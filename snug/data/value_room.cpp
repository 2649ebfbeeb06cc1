#include "snug/data/value_room.h"

#include <algorithm>
#include <array>

namespace snug {

std::vector<size_t> value_rooms(std::span<const ValueUse> uses) {
  constexpr size_t kAll = size_t{8} << 20, kMost = size_t{256} << 10, kTexts = 4;
  const auto count = [&](ValueUse use) {
    return static_cast<size_t>(std::ranges::count(uses, use));
  };
  const size_t numbers = count(ValueUse::numbers), texts = count(ValueUse::texts);
  const size_t labels = count(ValueUse::label);
  const size_t label = std::min(kMost, kAll / 4 / std::max<size_t>(1, labels));
  size_t unit = kMost;
  if ((numbers + texts + labels) * kMost > kAll)
    unit = (kAll - labels * label) / std::max<size_t>(1, numbers + kTexts * texts);
  const std::array<size_t, 4> rooms = {0, std::min(kMost, unit), std::min(kMost, kTexts * unit),
                                       label};
  std::vector<size_t> result;
  for (const ValueUse use : uses) result.push_back(rooms[static_cast<size_t>(use)]);
  return result;
}

}  // namespace snug
