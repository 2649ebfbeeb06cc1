#include "snug/plan/moment.h"

#include <algorithm>

namespace snug {
namespace {

// Whether each unit of the program runs, in every order, after the first of some that are in order.
std::vector<char> units_after(const UnitGraph& graph, const std::vector<int>& sources) {
  std::vector<char> result(graph.program_size, 0), made(graph.bytes.size(), 0);
  const Unit& first = graph.units[sources[0]];
  auto source = sources.begin();
  for (int u = sources[0]; u < graph.program_size; ++u) {
    const Unit& other = graph.units[u];
    const bool is_source = source != sources.end() && *source == u;
    source += is_source ? 1 : 0;
    const auto is_made = [&](int v) { return made[v] != 0; };
    const bool across =
        other.section > first.section || (!other.pure && other.section == first.section);
    result[u] = is_source || across || std::any_of(other.in.begin(), other.in.end(), is_made);
    if (!result[u]) continue;
    for (const int v : other.out) made[v] = 1;
  }
  return result;
}

}  // namespace

// What leads to it, and whatever lies on the other side of a unit that is not pure.
std::vector<char> units_before(const UnitGraph& graph, int unit) {
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
                .needed_after = std::vector<char>(values, 0),
                .may_wait = std::vector<char>(timeline.graph().units.size(), 0)};
  for (size_t v = 0; v < values; ++v) {
    const auto touches = timeline.touches(static_cast<int>(v));
    moment.exists[v] = !touches.empty() && touches.front().position <= position;
    moment.needed_after[v] = timeline.lives_before(static_cast<int>(v), position + 1);
  }
  return moment;
}

namespace {

// Nothing is needed yet.
Moment moment_between(const UnitGraph& graph, int unit, const std::vector<char>& later) {
  Moment moment{.unit = unit,
                .exists = graph.given,
                .needed_after = std::vector<char>(graph.bytes.size(), 0),
                .may_wait = std::vector<char>(graph.units.size(), 0)};
  const std::vector<char> earlier = units_before(graph, unit);
  for (int u = 0; u < graph.program_size; ++u) {
    if (later[u]) continue;
    moment.may_wait[u] = !earlier[u] && u != unit;
    // A stage in parts may be known by pieces, which do not read all that it reads.
    for (const int v : graph.units[u].out)
      moment.exists[v] = !moment.may_wait[u] || graph.producer[v] == u;
  }
  return moment;
}

// What the units read.
void need(const UnitGraph& graph, const std::vector<char>& units, Moment& moment) {
  for (int u = 0; u < graph.program_size; ++u) {
    if (!units[u]) continue;
    for (const int v : graph.units[u].in) moment.needed_after[v] = moment.exists[v];
  }
}

std::vector<char> units_later(const UnitGraph& graph, int unit, const std::vector<int>& waiting) {
  std::vector<int> sources = waiting;
  sources.insert(std::ranges::lower_bound(sources, unit), unit);
  std::vector<char> later = units_after(graph, sources);
  later[unit] = 0;
  return later;
}

}  // namespace

Moment moment_of(const UnitGraph& graph, int unit, const std::vector<int>& waiting) {
  const std::vector<char> later = units_later(graph, unit, waiting);
  Moment moment = moment_between(graph, unit, later);
  need(graph, later, moment);
  for (size_t v = 0; v < graph.bytes.size(); ++v)
    moment.needed_after[v] |= graph.pinned[v] && moment.exists[v] ? 1 : 0;
  return moment;
}

Moment moment_until(const UnitGraph& graph, int unit, int last) {
  std::vector<char> later = units_later(graph, unit, {});
  Moment moment = moment_between(graph, unit, later);
  std::vector<char> until = units_before(graph, last);
  until[last] = 1;
  for (int u = 0; u < graph.program_size; ++u) later[u] = later[u] && until[u];
  need(graph, later, moment);
  return moment;
}

bool Moment::can_be_made(const UnitGraph& graph, int value) const {
  const int producer = graph.producer[value];
  return producer >= 0 && (graph.units[producer].pure || may_wait[producer]);
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
