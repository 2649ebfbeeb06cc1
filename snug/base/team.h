// The threads behind run_parts.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace snug {

// The caller and threads that are started when they are first needed, and stay. Who waits stays
// awake for a moment, in which the next work costs about a microsecond, and then sleeps: on a busy
// machine whoever is waited for gets the core, instead of a loop that looks for it.
class Team {
 public:
  using Body = void (*)(void* context, int part);

  // The one of this process. Never destroyed: its threads wait in it when the process ends.
  static Team& instance();

  // Whether the caller is one of its threads, or in run().
  static bool runs_here();

  // Part p is called by thread p % threads, the caller being thread 0, so that the same part of two
  // calls is on the same thread; but the caller, once it has done its own, does not wait for
  // threads that have not begun: on a busy machine they may not get a core for milliseconds. False,
  // and nothing is called, if another thread is in here. With fewer threads where the system gives
  // no more.
  bool run(int parts, int threads, Body body, void* context);

 private:
  // In the low bits of a round stands how many threads take part in it.
  static constexpr uint32_t kThreadsMask = 255;

  struct Job {
    int parts = 0;
    Body body = nullptr;
    void* context = nullptr;
    void run(int thread, int threads) const;
  };

  // Staying awake costs a core, being woken some 10 us. The time doubles whenever it was enough,
  // and halves when it was not: where whoever is waited for has no core, soon nobody stays awake.
  class Patience {
   public:
    template <typename T>
    T await_change(const std::atomic<T>& value, T old);  // The value, which is not `old`.

   private:
    static constexpr std::chrono::microseconds kLeastAwake{2}, kMostAwake{100};
    std::chrono::nanoseconds awake_ = kMostAwake;
  };

  // The parts of a thread, unless somebody has them; whether they were the last of the round.
  bool run_seat(int thread, uint32_t round);
  static void* start(void* place);
  bool add_thread();
  void work(int thread);

  // A thread looks at its own only: who takes no part in a round sleeps on.
  struct alignas(64) Seat {
    std::atomic<uint32_t> round{0};
    std::atomic<uint32_t> open{0};  // The round whose parts nobody has taken, or 0.
  };

  std::mutex taken_;
  int threads_ = 1;
  bool is_refused_ = false;  // The system gave no further thread.
  uint32_t round_ = 0;
  std::array<Seat, kThreadsMask + 1> seats_;
  Job job_;
  Patience patience_;                     // Of the caller.
  alignas(64) std::atomic<int> left_{0};  // Threads that are still at work.
};

// From now on this thread's parts run on OpenMP threads of its own, with its priority, and leave
// the team to others.
void keep_off_the_team();

}  // namespace snug
