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
#include "snug/exec/spill_file.h"
#include "snug/tensor/arena.h"

namespace snug {
namespace {

constexpr int kVersion = 4;
// As much as a step moves: a disk takes the first few MiB in no time.
constexpr int64_t kTripBytes = 4_MiB, kPage = 4096;
constexpr int64_t kTrips = 16;
constexpr double kMeasureNs = 200e6;  // Of one direction.

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

class DiskSample {
 public:
  // A small part of what is free.
  DiskSample(FileSystem& files, const Path& folder)
      : trips_(static_cast<int>(
            std::clamp<int64_t>(files.free_bytes(folder) / 8 / kTripBytes, 1, kTrips))),
        arena_(kTripBytes),
        file_(files, folder, trips_ * kTripBytes) {
    fill();
    file_.queue().reserve(trips_);
  }

  int trips() const { return trips_; }

  // Of so many transfers at once, the first time left out: it finds blocks that were never written.
  // One time in four is less: the least is a moment that a run will not have, and what other
  // programs take of the processor while this is measured would be kept for all runs to come (it
  // was up to twenty times as much).
  double ns(bool writes, int trips, int64_t bytes) {
    std::vector<double> times;
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < 5 || (i < 50 && ns_since(begin) < kMeasureNs); ++i) {
      const Clock::time_point start = Clock::now();
      for (int trip = 0; trip < trips; ++trip) {
        file_.queue().start(trip, {.writes = writes,
                                   .memory = arena_.data(),
                                   .bytes = bytes,
                                   .offset = trip * kTripBytes});
      }
      for (int trip = 0; trip < trips; ++trip) file_.queue().wait(trip);
      if (i > 0) times.push_back(ns_since(start));
    }
    const auto fourth = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::nth_element(times.begin(), fourth, times.end());
    return *fourth;
  }

 private:
  // With noise, as a step's values are: a host may keep pages of zeros in no time (twice as fast on
  // a virtual disk).
  void fill() {
    std::minstd_rand noise(1);
    std::span words(reinterpret_cast<uint32_t*>(arena_.data()), kTripBytes / sizeof(uint32_t));
    std::generate(words.begin(), words.end(), std::ref(noise));
  }

  int trips_;
  Arena arena_;
  SpillFile file_;
};

template <typename Speed, typename Visit>
void visit_numbers(Speed& speed, const Visit& visit) {
  visit("read", speed.read);
  visit("write", speed.write);
  visit("start_ns", speed.start_ns);
}

// A file for each disk.
Path path_of(const Path& cache, const Path& folder) {
  struct stat status {};
  if (cache.empty() || ::stat(folder.c_str(), &status) != 0) return {};
  return cache / fmt::format("disk-{:x}.txt", static_cast<uint64_t>(status.st_dev));
}

}  // namespace

DiskSpeed measure_disk(FileSystem& files, const Path& folder) {
  DiskSample sample(files, folder);
  DiskSpeed speed;
  const int trips = sample.trips();
  const auto bytes = static_cast<double>(trips * kTripBytes);
  const double write_ns = sample.ns(true, trips, kTripBytes);
  const double read_ns = sample.ns(false, trips, kTripBytes);
  speed.start_ns = std::min({sample.ns(false, 1, kPage), write_ns / 2, read_ns / 2});
  speed.write = bytes / (write_ns - speed.start_ns);
  speed.read = bytes / (read_ns - speed.start_ns);
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
    number = std::atof(lines[name].c_str());
    whole = whole && std::isfinite(number) && number > 0;
  });
  return whole ? std::optional(speed) : std::nullopt;
}

std::optional<DiskSpeed> stored_disk(FileSystem& files, const Path& cache, const Path& folder) {
  constexpr int64_t kMostBytes = 64 << 10;
  try {
    const Path path = path_of(cache, folder);
    const std::optional<int64_t> size = path.empty() ? std::nullopt : files.size(path);
    if (!size || *size > kMostBytes) return {};
    std::string text(static_cast<size_t>(*size), '\0');
    files.open(path, OpenMode::read)->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
    return disk_in(text);
  } catch (const FileError&) {
    return {};
  }
}

DiskSpeed calibrated_disk(FileSystem& files, const Path& cache, const Path& folder) {
  if (const auto stored = stored_disk(files, cache, folder)) return *stored;
  const std::string text = text_of(measure_disk(files, folder));
  try {
    const Path path = path_of(cache, folder);
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
