#include "snug/plan/moment.h"

#include <algorithm>

namespace snug {
namespace {

// Whether each unit of the program runs before the given one in every order: what leads to it, and
// whatever lies on the other side of a unit that is not pure.
std::vector<char> before(const UnitGraph& graph, int unit) {
  std::vector<char> result(graph.program_size, 0), wanted(graph.bytes.size(), 0);
  const Unit& target = graph.units[unit];
  for (int u = unit; u >= 0; --u) {
    const Unit& other = graph.units[u];
    const auto is_wanted = [&](int v) { return wanted[v] != 0; };
    const bool across =
        other.section < target.section || (!target.pure && other.section == target.section);
    const bool leads = u == unit || std::any_of(other.out.begin(), other.out.end(), is_wanted);
    result[u] = u != unit && (across || leads);
    if (leads || across)
      for (const int v : other.in) wanted[v] = 1;
  }
  return result;
}

// The same for the units that run after it.
std::vector<char> after(const UnitGraph& graph, int unit) {
  std::vector<char> result(graph.program_size, 0), made(graph.bytes.size(), 0);
  const Unit& source = graph.units[unit];
  for (int u = unit; u < graph.program_size; ++u) {
    const Unit& other = graph.units[u];
    const auto is_made = [&](int v) { return made[v] != 0; };
    const bool across =
        other.section > source.section || (!other.pure && other.section == source.section);
    const bool follows = u == unit || std::any_of(other.in.begin(), other.in.end(), is_made);
    result[u] = u != unit && (across || follows);
    if (follows || across)
      for (const int v : other.out) made[v] = 1;
  }
  return result;
}

}  // namespace

int64_t working_bytes(const UnitGraph& graph, const Unit& unit) {
  int64_t bytes = unit.extra_bytes;
  for (const int v : unit.in) bytes += graph.bytes[v];
  std::vector<char> shared(unit.out.size(), 0);
  for (const Overwrite& o : unit.overwrites) shared[o.output] = 1;
  for (size_t i = 0; i < unit.out.size(); ++i) bytes += shared[i] ? 0 : graph.bytes[unit.out[i]];
  return bytes;
}

Moment moment_at(const Timeline& timeline, int position) {
  const size_t values = timeline.graph().bytes.size();
  Moment moment{.unit = timeline.sequence()[position],
                .exists = std::vector<char>(values, 0),
                .needed_after = std::vector<char>(values, 0)};
  for (size_t v = 0; v < values; ++v) {
    const auto touches = timeline.touches(static_cast<int>(v));
    moment.exists[v] = !touches.empty() && touches.front().position <= position;
    moment.needed_after[v] = moment.exists[v] && touches.back().position > position;
  }
  return moment;
}

Moment moment_of(const UnitGraph& graph, int unit) {
  Moment moment{.unit = unit,
                .exists = graph.given,
                .needed_after = std::vector<char>(graph.bytes.size(), 0)};
  const std::vector<char> earlier = before(graph, unit), later = after(graph, unit);
  for (int u = 0; u < graph.program_size; ++u) {
    if (!earlier[u] && u != unit) continue;
    for (const int v : graph.units[u].out) moment.exists[v] = 1;
  }
  for (int u = 0; u < graph.program_size; ++u) {
    for (const int v : graph.units[u].in)
      moment.needed_after[v] |= later[u] && moment.exists[v] ? 1 : 0;
  }
  for (size_t v = 0; v < graph.bytes.size(); ++v)
    moment.needed_after[v] |= graph.pinned[v] && moment.exists[v] ? 1 : 0;
  return moment;
}

int64_t crossing_bytes(const UnitGraph& graph, const Moment& moment) {
  int64_t bytes = 0;
  for (size_t v = 0; v < graph.bytes.size(); ++v)
    bytes += moment.needed_after[v] ? graph.bytes[v] : 0;
  const Unit& unit = graph.units[moment.unit];
  for (const int v : unit.in) bytes -= moment.needed_after[v] ? graph.bytes[v] : 0;
  for (const int v : unit.out) bytes -= moment.needed_after[v] ? graph.bytes[v] : 0;
  return bytes;
}

}  // namespace snug
