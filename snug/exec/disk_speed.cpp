#include "snug/exec/disk_speed.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <sstream>

#include "snug/base/bytes.h"
#include "snug/base/threads.h"
#include "snug/exec/spill_file.h"
#include "snug/tensor/arena.h"

namespace snug {
namespace {

constexpr int kVersion = 5;
// As much as a step moves: a disk takes the first few MiB in no time.
constexpr int64_t kTripBytes = 4_MiB, kPage = 4096;
constexpr int64_t kTrips = 16;
constexpr double kMeasureNs = 200e6;  // Of one direction,
constexpr double kTurnNs = 100e6;     // and of a turn of it, at most: a slow disk moves less.
constexpr size_t kLoadBytes = 4_MiB;  // That a thread goes through beside the transfers.

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// What is computed beside the transfers: threads that go through memory, as a step's do.
class Load {
 public:
  explicit Load(int threads) {
    for (int i = 0; i < threads; ++i) arenas_.emplace_back(kLoadBytes);
    for (Arena& arena : arenas_) arena.touch();
    run();
  }

  void run() const {
    const int threads = static_cast<int>(arenas_.size());
    parallel_parts(threads, threads, [&](int thread) {
      auto* const numbers = reinterpret_cast<float*>(arenas_[thread].data());
      for (size_t i = 0; i < kLoadBytes / sizeof(float); ++i) numbers[i] = numbers[i] * 0.5F + 1.0F;
    });
  }

  // So many runs, with the queue looked after between them, as between the stages of a step.
  double ns(int runs, SpillQueue& queue) const {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < runs; ++i) {
      run();
      queue.poll();
    }
    return ns_since(start);
  }

 private:
  std::vector<Arena> arenas_;
};

// One time in so many is less.
double at_share(std::vector<double> times, size_t of) {
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(times.size() / of);
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

// One time in four is less: the least is a moment that a run will not have, and what other programs
// take of the processor while this is measured would be kept for all runs to come (it was up to
// twenty times as much).
double fourth_of(std::vector<double> times) { return at_share(std::move(times), 4); }

// Of differences, which others make smaller as often as larger.
double middle_of(std::vector<double> times) { return at_share(std::move(times), 2); }

// Of transfers.
struct TransferTime {
  double ns = 0;
  double drag_ns = 0;  // That the computation beside them takes longer.
};

class DiskSample {
 public:
  // A small part of what is free.
  DiskSample(FileSystem& files, const Path& folder, int threads)
      : trips_(static_cast<int>(
            std::clamp<int64_t>(files.free_bytes(folder) / 8 / kTripBytes, 1, kTrips))),
        arena_(2 * kTripBytes),
        file_(files, folder, trips_ * kTripBytes),
        load_(threads) {
    fill();
    file_.queue().reserve(trips_);
    alone_ns(true, 1, kTripBytes);  // Blocks that were never written take longer.
    const double trip_ns = alone_ns(true, 1, kTripBytes);
    trips_ = std::clamp(static_cast<int>(kTurnNs / trip_ns), 1, trips_);
  }

  int64_t bytes() const { return trips_ * kTripBytes; }

  // Of one page, with nothing beside it.
  double page_ns() {
    return measured([&] { return TransferTime{alone_ns(false, 1, kPage)}; }).ns;
  }

  // Of all trips, beside a computation on all threads that takes as long: it takes from the disk's
  // speed (both go through the same memory and cores), and the disk from its own.
  TransferTime beside_load(bool writes) {
    const double trip_ns = alone_ns(writes, trips_, kTripBytes) / trips_;
    const double load_ns = load_.ns(kWarm, file_.queue()) / kWarm;
    const int runs = std::max(1, static_cast<int>(trip_ns / load_ns));
    return measured([&] { return turn(writes, runs); });
  }

 private:
  static constexpr int kWarm = 8;

  // The first time is left out: it finds blocks that were never written.
  template <typename Turn>
  static TransferTime measured(const Turn& turn) {
    std::vector<double> times, drags;
    const Clock::time_point begin = Clock::now();
    turn();
    for (int i = 0; i < 4 || (i < 50 && ns_since(begin) < kMeasureNs); ++i) {
      const TransferTime time = turn();
      times.push_back(time.ns);
      drags.push_back(time.drag_ns);
    }
    return {fourth_of(times), std::max(0.0, middle_of(drags))};
  }

  TransferTime turn(bool writes, int runs) {
    const double alone_ns = load_.ns(trips_ * runs, file_.queue());
    double load_ns = 0;
    const Clock::time_point start = Clock::now();
    move(writes, trips_, kTripBytes, [&] { load_ns += load_.ns(runs, file_.queue()); });
    return {ns_since(start), load_ns - alone_ns};
  }

  double alone_ns(bool writes, int trips, int64_t bytes) {
    const Clock::time_point start = Clock::now();
    move(writes, trips, bytes, [] {});
    return ns_since(start);
  }

  // Two at a time, as a step has them: with more on their way a disk is faster than a step finds
  // it.
  template <typename Beside>
  void move(bool writes, int trips, int64_t bytes, const Beside& beside) {
    for (int trip = 0; trip < trips; ++trip) {
      file_.queue().start(trip, {.writes = writes,
                                 .memory = arena_.data() + trip % 2 * kTripBytes,
                                 .bytes = bytes,
                                 .offset = trip * kTripBytes});
      beside();
      if (trip > 0) file_.queue().wait(trip - 1);
    }
    file_.queue().wait(trips - 1);
  }

  // With noise, as a step's values are: a host may keep pages of zeros in no time (twice as fast on
  // a virtual disk).
  void fill() {
    std::minstd_rand noise(1);
    std::span words(reinterpret_cast<uint32_t*>(arena_.data()), arena_.bytes() / sizeof(uint32_t));
    std::generate(words.begin(), words.end(), std::ref(noise));
  }

  int trips_;
  Arena arena_;
  SpillFile file_;
  Load load_;
};

template <typename Speed, typename Visit>
void visit_numbers(Speed& speed, const Visit& visit) {
  visit("read", speed.read);
  visit("write", speed.write);
  visit("start_ns", speed.start_ns);
  visit("drag", speed.drag);
}

// A file for each disk and number of threads.
Path path_of(const Path& cache, const Path& folder, int threads) {
  struct stat status {};
  if (cache.empty() || ::stat(folder.c_str(), &status) != 0) return {};
  return cache / fmt::format("disk-{:x}-{}.txt", static_cast<uint64_t>(status.st_dev), threads);
}

}  // namespace

DiskSpeed measure_disk(FileSystem& files, const Path& folder, int threads) {
  DiskSample sample(files, folder, threads);
  const auto bytes = static_cast<double>(sample.bytes());
  const TransferTime write = sample.beside_load(true), read = sample.beside_load(false);
  DiskSpeed speed;
  speed.start_ns = std::min({sample.page_ns(), write.ns / 2, read.ns / 2});
  speed.write = bytes / (write.ns - speed.start_ns);
  speed.read = bytes / (read.ns - speed.start_ns);
  speed.drag = (write.drag_ns + read.drag_ns) / (2 * bytes);
  return speed;
}

std::string text_of(const DiskSpeed& speed) {
  std::string text = fmt::format("version: {}\n", kVersion);
  visit_numbers(speed, [&](const char* name, double number) {
    text += fmt::format("{}: {}\n", name, number);
  });
  return text;
}

std::optional<DiskSpeed> disk_in(const std::string& text) {
  std::map<std::string, std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) lines[line.substr(0, colon)] = line.substr(colon + 2);
  }
  if (lines["version"] != std::to_string(kVersion)) return {};
  DiskSpeed speed;
  bool whole = true;
  visit_numbers(speed, [&](const char* name, double& number) {
    number = lines.contains(name) ? std::atof(lines[name].c_str()) : -1;
    const bool counts = std::string_view(name) != "drag";
    whole = whole && std::isfinite(number) && (counts ? number > 0 : number >= 0);
  });
  return whole ? std::optional(speed) : std::nullopt;
}

std::optional<DiskSpeed> stored_disk(FileSystem& files, const Path& cache, const Path& folder,
                                     int threads) {
  constexpr int64_t kMostBytes = 64 << 10;
  try {
    const Path path = path_of(cache, folder, threads);
    const std::optional<int64_t> size = path.empty() ? std::nullopt : files.size(path);
    if (!size || *size > kMostBytes) return {};
    std::string text(static_cast<size_t>(*size), '\0');
    files.open(path, OpenMode::read)->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
    return disk_in(text);
  } catch (const FileError&) {
    return {};
  }
}

DiskSpeed calibrated_disk(FileSystem& files, const Path& cache, const Path& folder, int threads) {
  if (const auto stored = stored_disk(files, cache, folder, threads)) return *stored;
  const std::string text = text_of(measure_disk(files, folder, threads));
  try {
    const Path path = path_of(cache, folder, threads);
    if (!path.empty()) {
      files.create_directories(path.parent_path());
      write_atomically(files, path,
                       [&](File& file) { file.append(std::as_bytes(std::span(text))); });
    }
  } catch (const FileError&) {
    // Not worth a run: it is measured again next time.
  }
  // As it will be read back, so that this plan is the one of every later run.
  return disk_in(text).value_or(DiskSpeed());
}

}  // namespace snug
