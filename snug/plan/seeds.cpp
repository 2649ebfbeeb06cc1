#include "snug/plan/seeds.h"

#include <algorithm>

#include "snug/plan/demand.h"
#include "snug/plan/instant.h"

namespace snug {
namespace {

struct SeedSettings {
  int places = 0;      // Of the program that are held whole.
  double share = 1.0;  // Of the limit that is used at the fullest moment.
};

constexpr SeedSettings kSeeds[] = {{0, 1.0},  {4, 1.0},   {8, 1.0},  {16, 1.0}, {32, 1.0},
                                   {0, 0.85}, {12, 0.95}, {64, 1.0}, {4, 0.8},  {128, 0.9}};

class Places {
 public:
  // Of the positions up to `at`.
  Places(const Timeline& program, int at)
      : program_(program), graph_(program.graph()), at_(at), bytes_(at + 2, 0) {
    for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
      const auto [from, to] = crossed(v);
      if (from >= to) continue;
      bytes_[from] += graph_.bytes[v];
      bytes_[to] -= graph_.bytes[v];
    }
    for (int p = 1; p <= at_; ++p) bytes_[p] += bytes_[p - 1];
  }

  // The values that cross the narrowest place of each of so many stretches.
  std::vector<int> crossing(int count) const {
    std::vector<int> narrowest;
    for (int i = 0; i < count; ++i) {
      const int from = static_cast<int>(int64_t{at_} * i / count),
                to = static_cast<int>(int64_t{at_} * (i + 1) / count);
      if (from >= to) continue;
      const auto least = std::min_element(bytes_.begin() + from, bytes_.begin() + to);
      narrowest.push_back(static_cast<int>(least - bytes_.begin()));
    }
    std::vector<int> values;
    for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
      const auto [from, to] = crossed(v);
      const auto place = std::lower_bound(narrowest.begin(), narrowest.end(), from);
      if (place != narrowest.end() && *place < to) values.push_back(v);
    }
    return values;
  }

 private:
  // The places from where it is made to its last reader up to `at_`; none for what is given.
  std::pair<int, int> crossed(int v) const {
    const auto touches = program_.touches(v);
    if (touches.empty() || graph_.given[v] || touches[0].position > at_) return {0, 0};
    int last = touches[0].position;
    for (const Touch& touch : touches) last = touch.position <= at_ ? touch.position : last;
    return {touches[0].position, last};
  }

  const Timeline& program_;
  const UnitGraph& graph_;
  int at_;
  std::vector<int64_t> bytes_;  // By position: of what is made up to it and read after it.
};

}  // namespace

std::vector<std::vector<int>> seeds(const Timeline& program, int64_t limit, int64_t& work) {
  const UnitGraph& graph = program.graph();
  const int at = std::min(program.peak_position(), program.length() - 1);
  const Moment moment = moment_at(program, at);
  const int64_t own = working_bytes(graph, graph.units[moment.unit]);
  const Places places(program, at);
  std::vector<std::vector<int>> result;
  for (const SeedSettings& settings : kSeeds) {
    const std::vector<int> held = places.crossing(settings.places);
    int64_t bytes = 0;
    for (const int v : held) bytes += graph.bytes[v];
    const auto room = static_cast<int64_t>(settings.share * static_cast<double>(limit - own));
    if (bytes > room / 2 || work <= 0 || 4 * settings.places > at) continue;
    const Instant instant(graph, moment, own + room, held);
    work -= instant.work() / 10 + program.length();
    result.push_back(make_on_demand(program, at, instant.kept()));
  }
  return result;
}

std::vector<int> all_read_back(const Timeline& program, int64_t limit) {
  const UnitGraph& graph = program.graph();
  std::vector<int> above{0};  // Positions before p that are above the limit.
  for (const int64_t live : program.live()) above.push_back(above.back() + (live > limit ? 1 : 0));
  std::vector<std::pair<int, int>> reads;  // Position, unit.
  for (int v = 0; v < static_cast<int>(graph.bytes.size()); ++v) {
    const int unit = graph.producer[v];
    if (unit < 0 || !is_read(graph.units[unit])) continue;
    const std::span<const Touch> touches = program.touches(v);
    for (size_t i = 1; i < touches.size(); ++i) {
      const int from = touches[i - 1].position + 1, to = touches[i].position;
      const bool waits = !touches[i].write && to > from && above[to] > above[from];
      if (waits && program.section(to) == graph.units[unit].section) reads.push_back({to, unit});
    }
  }
  std::ranges::sort(reads);
  std::vector<int> sequence;
  auto read = reads.begin();
  for (int p = 0; p <= program.length(); ++p) {
    for (; read != reads.end() && read->first == p; ++read) sequence.push_back(read->second);
    if (p < program.length()) sequence.push_back(program.sequence()[p]);
  }
  return sequence;
}

}  // namespace snug
