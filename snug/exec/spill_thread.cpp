// The spill queue where there is no io_uring: one thread that reads and writes.

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <vector>

#include "snug/base/error.h"
#include "snug/exec/spill_queue.h"

namespace snug {
namespace {

constexpr size_t kStackBytes = 256 << 10;

class ThreadQueue final : public SpillQueue {
 public:
  explicit ThreadQueue(File& file) : file_(file) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    // Signals are for the threads that the program knows.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(
        &thread_, &attributes,
        [](void* queue) -> void* {
          static_cast<ThreadQueue*>(queue)->work();
          return nullptr;
        },
        this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (failure != 0) throw file_error(file.path(), "start a thread for it", failure);
  }

  ~ThreadQueue() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    started_.notify_one();
    pthread_join(thread_, nullptr);
  }

  void reserve(int trips) override {
    settle();
    const std::lock_guard lock(mutex_);
    trips_.resize(std::max<size_t>(trips_.size(), static_cast<size_t>(trips)));
    line_.resize(trips_.size() + 1);
    first_ = last_ = 0;
  }

  void start(int trip, const SpillOp& op) override {
    {
      const std::lock_guard lock(mutex_);
      SNUG_CHECK(trips_.at(trip).state == State::idle, "trip {} starts twice", trip);
      trips_[trip] = {.op = op, .state = State::under_way};
      line_[last_] = trip;
      last_ = next(last_);
    }
    started_.notify_one();
  }

  void wait(int trip) override {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return trips_.at(trip).state != State::under_way; });
    trips_[trip].state = State::idle;
    const std::exception_ptr error = std::exchange(trips_[trip].error, nullptr);
    if (error) std::rethrow_exception(error);
  }

  void settle() override {
    std::unique_lock lock(mutex_);
    for (Trip& trip : trips_) {
      ended_.wait(lock, [&] { return trip.state != State::under_way; });
      trip = {};
    }
  }

 private:
  enum class State { idle, under_way, ended };
  struct Trip {
    SpillOp op;
    State state = State::idle;
    std::exception_ptr error;
  };

  size_t next(size_t at) const { return at + 1 == line_.size() ? 0 : at + 1; }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      started_.wait(lock, [&] { return ends_ || first_ != last_; });
      if (first_ == last_) return;
      const int trip = line_[first_];
      first_ = next(first_);
      const SpillOp op = trips_[trip].op;
      lock.unlock();
      const std::exception_ptr error = carry_out(op);
      lock.lock();
      trips_[trip].error = error;
      trips_[trip].state = State::ended;
      ended_.notify_one();
    }
  }

  std::exception_ptr carry_out(const SpillOp& op) const {
    try {
      const std::span memory(op.memory, static_cast<size_t>(op.bytes));
      op.writes ? file_.write_at(memory, op.offset) : file_.read_exactly_at(memory, op.offset);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  File& file_;
  pthread_t thread_{};
  std::mutex mutex_;
  std::condition_variable started_, ended_;
  std::vector<Trip> trips_;
  std::vector<int> line_ = {0};  // Of trips, in a circle: from first_ up to last_.
  size_t first_ = 0, last_ = 0;
  bool ends_ = false;
};

}  // namespace

std::unique_ptr<SpillQueue> make_thread_queue(File& file) {
  return std::make_unique<ThreadQueue>(file);
}

}  // namespace snug
