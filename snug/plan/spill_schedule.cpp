#include "snug/plan/spill_schedule.h"

#include <algorithm>
#include <array>

#include "snug/plan/lifetimes.h"
#include "snug/plan/packer.h"
#include "snug/plan/range_max.h"
#include "snug/plan/transfers.h"

namespace snug {
namespace {

// One way to the file or back. Positions are those before which something happens.
struct Trip {
  bool writes = false;
  int value = 0;
  int start = 0, end = 0;
  int least = 0, most = 0;  // A write ends from `least` on; a read starts from `least` to `most`.
  int64_t file_offset = 0;
  double ns = 0, drag_ns = 0;
};

class Scheduler {
 public:
  Scheduler(const Problem& problem, const Timeline& timeline, int64_t room_limit,
            const DiskSpeed& disk)
      : problem_(problem),
        timeline_(timeline),
        graph_(timeline.graph()),
        limit_(room_limit),
        disk_(disk),
        live_(timeline.live()) {
    double now = 0;
    for (const int u : timeline.sequence()) {
      time_.push_back(now);
      now += is_read(graph_.units[u]) ? 0 : graph_.units[u].cost_ns;
    }
    time_.push_back(now);
    while (last_ < timeline.length() && timeline.section(last_) == 0 && is_pure(last_)) ++last_;
  }

  bool find_trips() {
    for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
      if (!add_trips(v)) return false;
    }
    return true;
  }

  void set_times() {
    let_writes_end();
    let_reads_start();
  }

  SpillSchedule result() {
    emit();
    place_in_file();
    return std::move(result_);
  }

 private:
  bool is_pure(int position) const { return graph_.units[timeline_.sequence()[position]].pure; }
  bool reads_at(int position) const {
    return position >= 0 && position < timeline_.length() &&
           is_read(graph_.units[timeline_.sequence()[position]]);
  }

  // The value's write, where it is read back, and its reads. False: it is read before it is made.
  bool add_trips(int value) {
    const std::span<const Touch> touches = timeline_.touches(value);
    const auto is_return = [&](const Touch& t) { return t.write && reads_at(t.position); };
    if (std::ranges::none_of(touches, is_return)) return true;
    if (is_return(touches[0]) || touches[0].position < 0) return false;
    bool is_written = false;
    for (size_t i = 1; i < touches.size(); ++i) {
      if (!is_return(touches[i])) continue;
      if (touches[i].position > last_) return false;
      if (!std::exchange(is_written, true)) add_write(value, touches, i);
      add_read(value, touches, i);
    }
    return true;
  }

  // Of its first copy, whose last reader may write over it: so the write ends before that one runs,
  // or the copy lives on behind it.
  void add_write(int value, std::span<const Touch> touches, size_t first_return) {
    const int made = touches[0].position;
    size_t last = 0;
    while (!touches[last + 1].write) ++last;
    const int64_t bytes = whole_pages(problem_.values[value].bytes);
    writes_.push_back({.writes = true,
                       .value = value,
                       .start = made + 1,
                       .least = std::max(made + 1, touches[last].position),
                       .most = std::min(touches[first_return].position, last_),
                       .ns = disk_.write_ns(bytes),
                       .drag_ns = disk_.drag_ns(bytes)});
  }

  void add_read(int value, std::span<const Touch> touches, size_t at) {
    const int64_t bytes = whole_pages(problem_.values[value].bytes);
    const bool is_used = at + 1 < touches.size() && !touches[at + 1].write;
    reads_.push_back({.value = value,
                      .end = is_used ? touches[at + 1].position : touches[at].position,
                      .least = touches[at - 1].position + 1,
                      .most = touches[at].position,
                      .ns = disk_.read_ns(bytes),
                      .drag_ns = disk_.drag_ns(bytes)});
    reads_.back().end = std::min(reads_.back().end, last_);
  }

  bool overwrites(int position, int value) const {
    if (position >= timeline_.length()) return false;
    const Unit& unit = graph_.units[timeline_.sequence()[position]];
    return std::ranges::any_of(unit.overwrites,
                               [&](const Overwrite& o) { return unit.in[o.input] == value; });
  }

  bool fits(int from, int to, int64_t bytes) const {
    return to <= from || live_.most(from, to) + bytes <= limit_;
  }

  int position_at(double time) const {
    return static_cast<int>(std::ranges::lower_bound(time_, time) - time_.begin());
  }

  // One after the other, each as late as it takes, where there is room for that.
  void let_writes_end() {
    std::ranges::stable_sort(writes_, {}, &Trip::start);
    double late = 0, disk = 0;
    for (Trip& trip : writes_) {
      disk = std::max(disk, time_[trip.start] + late) + trip.ns;
      const int wanted = std::clamp(position_at(disk - late), trip.least, trip.most);
      // At `least` stands the last reader, unless nobody reads this copy.
      const bool is_kept = uses(trip.least, trip.value) && !overwrites(trip.least, trip.value);
      const int from = trip.least + (is_kept ? 1 : 0);
      trip.end = std::max(trip.least, std::min(from, wanted));
      const int64_t bytes = graph_.bytes[trip.value];
      int low = trip.end, high = wanted;
      while (low < high) {
        const int middle = (low + high + 1) / 2;
        fits(from, middle, bytes) ? low = middle : high = middle - 1;
      }
      trip.end = low;
      if (low > from) live_.add(from, low, bytes);
      late += std::max(0.0, disk - late - time_[trip.end]);
    }
  }

  bool uses(int position, int value) const {
    if (position >= timeline_.length()) return false;
    return std::ranges::count(graph_.units[timeline_.sequence()[position]].in, value) > 0;
  }

  // From the last one back: each is to end when its reader, or the next read, begins.
  void let_reads_start() {
    std::ranges::stable_sort(reads_, std::greater<>(), &Trip::end);
    double next = HUGE_VAL;
    for (Trip& trip : reads_) {
      next = std::min(next, time_[trip.end]) - trip.ns;
      const int after_write = written_before(trip.value);
      const int least = std::max(trip.least, after_write);
      const int wanted = std::clamp(position_at(next) - 1, least, trip.most);
      const int64_t bytes = graph_.bytes[trip.value];
      int low = wanted, high = trip.most;
      while (low < high) {
        const int middle = (low + high) / 2;
        fits(middle, trip.most, bytes) ? high = middle : low = middle + 1;
      }
      trip.start = low;
      if (low < trip.most) live_.add(low, trip.most, bytes);
    }
  }

  int written_before(int value) const {
    return std::ranges::find(writes_, value, &Trip::value)->end;
  }

  // What happens before each position: starts of writes, their ends, starts of reads, their ends.
  void emit() {
    using Slot = std::array<std::vector<int>, 4>;
    std::vector<Slot> slots(timeline_.length() + 1);
    trips_ = std::move(writes_);
    std::ranges::stable_sort(reads_, {}, &Trip::start);
    trips_.insert(trips_.end(), reads_.begin(), reads_.end());
    for (int t = 0; t < static_cast<int>(trips_.size()); ++t) {
      slots[trips_[t].start][trips_[t].writes ? 0 : 2].push_back(t);
      slots[trips_[t].end][trips_[t].writes ? 1 : 3].push_back(t);
    }
    static constexpr std::array kWhat = {Transfer::start_write, Transfer::end_write,
                                         Transfer::start_read, Transfer::end_read};
    for (int p = 0; p <= timeline_.length(); ++p) {
      for (size_t k = 0; k < kWhat.size(); ++k) {
        for (const int t : slots[p][k]) emit(kWhat[k], t);
      }
      if (p < timeline_.length() && !reads_at(p)) emit(graph_.units[timeline_.sequence()[p]]);
    }
  }

  void emit(Transfer what, int trip) {
    const int node = static_cast<int>(problem_.nodes.size() + result_.transfers.size());
    result_.transfers.push_back({.what = what,
                                 .value = trips_[trip].value,
                                 .trip = trip,
                                 .ns = trips_[trip].ns,
                                 .drag_ns = trips_[trip].drag_ns});
    result_.schedule.push_back({static_cast<int>(problem_.stages.size()), {node}});
  }

  void emit(const Unit& unit) {
    Schedule& schedule = result_.schedule;
    const bool joins = !schedule.empty() && schedule.back().stage == unit.stage && !unit.parts &&
                       schedule.back().nodes.back() < unit.nodes[0];
    if (!joins) schedule.push_back({unit.stage, {}});
    schedule.back().nodes.insert(schedule.back().nodes.end(), unit.nodes.begin(), unit.nodes.end());
  }

  // A value has its stretch of the file from the start of its write to the end of its last read.
  void place_in_file() {
    std::vector<Item> items;
    std::vector<int> item_of(problem_.values.size(), -1), order;
    for (int i = 0; i < static_cast<int>(result_.transfers.size()); ++i) {
      const int value = result_.transfers[i].value;
      if (item_of[value] < 0) {
        item_of[value] = static_cast<int>(items.size());
        order.push_back(item_of[value]);
        items.push_back({.first = i, .bytes = whole_pages(problem_.values[value].bytes)});
      }
      items[item_of[value]].last = i;
    }
    const Placement placement = Packer(items).pack(order, Fit::first, kUnlimited);
    for (PlanTransfer& transfer : result_.transfers)
      transfer.file_offset = placement.offsets[item_of[transfer.value]];
    result_.file_bytes = placement.height;
  }

  const Problem& problem_;
  const Timeline& timeline_;
  const UnitGraph& graph_;
  int64_t limit_;
  DiskSpeed disk_;
  RangeMax live_;             // By position.
  std::vector<double> time_;  // At which each position begins, without waiting.
  int last_ = 0;              // Nothing happens behind it: state is written there.
  std::vector<Trip> writes_, reads_, trips_;
  SpillSchedule result_;
};

}  // namespace

UnitGraph with_reads(const Problem& problem, UnitGraph graph, const std::vector<double>& price_ns) {
  std::vector<char> spilled(problem.values.size(), 0);
  for (size_t v = 0; v < price_ns.size(); ++v) {
    if (price_ns[v] <= 0) continue;
    spilled[v] = 1;
    graph.producer[v] = static_cast<int>(graph.units.size());
    graph.units.push_back({.out = {static_cast<int>(v)}, .cost_ns = price_ns[v]});
  }
  const std::vector<char> paged = paged_values(problem, spilled);
  for (size_t v = 0; v < paged.size(); ++v)
    graph.bytes[v] = place_bytes(problem, problem.values[v].bytes, paged[v] != 0);
  return graph;
}

std::optional<SpillSchedule> spill_schedule(const Problem& problem, const Timeline& timeline,
                                            int64_t room_limit, const DiskSpeed& disk) {
  Scheduler scheduler(problem, timeline, room_limit, disk);
  if (!scheduler.find_trips()) return {};
  scheduler.set_times();
  return scheduler.result();
}

}  // namespace snug
