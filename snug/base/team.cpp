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

// Signals are for the threads of the host, but for faults, which are for whoever makes them.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
      sigdelset(&all, fault);
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
  while (!is_refused_ && threads_ < std::min<int>(threads, kThreadsMask))
    is_refused_ = !add_thread();
  const int count = std::min(threads, threads_);
  job_ = {parts, body, context};
  left_.store(count - 1, std::memory_order_relaxed);
  round_ = ((round_ | kThreadsMask) + 1) | static_cast<uint32_t>(count);
  for (int thread = 1; thread < count; ++thread) {
    seats_[thread].open.store(round_, std::memory_order_relaxed);
    // Not release: notify_one looks whether the thread sleeps, which must not happen before.
    seats_[thread].round.store(round_, std::memory_order_seq_cst);
    seats_[thread].round.notify_one();
  }
  in_team = true;
  job_.run(0, count);
  for (int thread = 1; thread < count; ++thread) run_seat(thread, round_);
  in_team = false;
  for (int left = left_.load(std::memory_order_acquire); left != 0;)
    left = patience_.await_change(left_, left);
  return true;
}

// The thread of the seat, or the caller, whoever is first. While a round is open to nobody else its
// job stays: the caller waits for whoever has it.
bool Team::run_seat(int thread, uint32_t round) {
  uint32_t open = round;
  if (!seats_[thread].open.compare_exchange_strong(open, 0, std::memory_order_acq_rel))
    return false;
  job_.run(thread, static_cast<int>(round & kThreadsMask));
  return left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// Without exceptions: kernels are in the middle of a step.
bool Team::add_thread() {
  const NoSignals while_starting;  // A thread has the signals of the one that starts it.
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &Team::start, &seats_[threads_]) != 0) return false;
  pthread_detach(thread);
  ++threads_;
  return true;
}

void* Team::start(void* place) {
  Team& team = instance();
  team.work(static_cast<int>(static_cast<const Seat*>(place) - team.seats_.data()));
  return nullptr;
}

void Team::work(int thread) {
  in_team = true;
  ask_for_short_slices();
  omp_set_num_threads(1);
  const FlushDenormals flush;
  Patience patience;
  uint32_t round = 0;  // No seat is given this one: two threads at least take part.
  while (true) {
    round = patience.await_change(seats_[thread].round, round);
    if (run_seat(thread, round)) left_.notify_one();
  }
}

}  // namespace snug
