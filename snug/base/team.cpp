#include "snug/base/team.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "snug/base/threads.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace snug {
namespace {

thread_local bool in_team = false;

void relax() {
#if defined(__SSE__)
  _mm_pause();
#endif
}

// Signals are for the threads of the host.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// Whether the value is another one before the time is over.
template <typename T>
bool changes_within(const std::atomic<T>& value, T old, std::chrono::nanoseconds time) {
  constexpr int kLooks = 32;  // Between two looks at the clock.
  const auto until = std::chrono::steady_clock::now() + time;
  do {
    for (int look = 0; look < kLooks; ++look) {
      if (value.load(std::memory_order_acquire) != old) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

}  // namespace

template <typename T>
T Team::Patience::await_change(const std::atomic<T>& value, T old) {
  if (changes_within(value, old, awake_)) {
    awake_ = std::min<std::chrono::nanoseconds>(2 * awake_, kMostAwake);
  } else {
    awake_ = std::max<std::chrono::nanoseconds>(awake_ / 2, kLeastAwake);
    value.wait(old, std::memory_order_acquire);
  }
  return value.load(std::memory_order_acquire);
}

Team& Team::instance() {
  static Team& team = *new Team;
  return team;
}

bool Team::runs_here() { return in_team; }

void Team::Job::run(int thread, int threads) const {
  for (int part = thread; part < parts; part += threads) body(context, part);
}

bool Team::run(int parts, int threads, Body body, void* context) {
  const std::unique_lock lock(taken_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  while (threads_ < std::min<int>(threads, kThreadsMask) && add_thread()) {
  }
  const int count = std::min(threads, threads_);
  job_ = {parts, body, context};
  left_.store(count - 1, std::memory_order_relaxed);
  const uint32_t number = (round_.load(std::memory_order_relaxed) | kThreadsMask) + 1;
  round_.store(number | static_cast<uint32_t>(count), std::memory_order_release);
  round_.notify_all();
  in_team = true;
  job_.run(0, count);
  in_team = false;
  for (int left = left_.load(std::memory_order_acquire); left != 0;)
    left = patience_.await_change(left_, left);
  return true;
}

// Without exceptions: kernels are in the middle of a step.
bool Team::add_thread() {
  born_[threads_] = round_.load(std::memory_order_relaxed);
  const NoSignals while_starting;  // A thread has the signals of the one that starts it.
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &Team::start, &born_[threads_]) != 0) return false;
  pthread_detach(thread);
  ++threads_;
  return true;
}

void* Team::start(void* place) {
  Team& team = instance();
  const auto* born = static_cast<const uint32_t*>(place);
  team.work(static_cast<int>(born - team.born_.data()), *born);
  return nullptr;
}

// Only who takes part in a round reads its job: the others may look when it is over.
void Team::work(int thread, uint32_t round) {
  in_team = true;
  ask_for_short_slices();
  omp_set_num_threads(1);
  const FlushDenormals flush;
  Patience patience;
  while (true) {
    round = patience.await_change(round_, round);
    const int count = static_cast<int>(round & kThreadsMask);
    if (thread >= count) continue;
    job_.run(thread, count);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
  }
}

}  // namespace snug
