// A thread that does one job at a time, beside what its owner does meanwhile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace snug {

// The owner is one thread. What a job throws is kept and thrown again in the owner's thread.
class BesideThread {
 public:
  BesideThread() = default;
  // Waits for the job; what it throws is lost.
  ~BesideThread();
  BesideThread(const BesideThread&) = delete;
  BesideThread& operator=(const BesideThread&) = delete;

  // Makes the thread now, so that the first start() need not. Where the system has no more threads
  // nothing happens.
  void prepare();
  // Whether a job runs or is about to. Cheap: meant for every step.
  bool is_busy() const { return busy_.load(std::memory_order_acquire); }
  // Waits for the job before, throws what it threw, and leaves this one for the thread, which looks
  // for it some dozens of times a second: to wake it would cost the owner a system call. It begins
  // at once when somebody waits for it. Where the system has no more threads, the job is done
  // before it returns.
  void start(std::function<void()> job);
  // Returns when nothing runs. Throws what the last job threw, once.
  void wait();
  // The same for a job that has ended already; returns at once where one still runs.
  void look() {
    if (has_failed_.load(std::memory_order_acquire)) wait();
  }

 private:
  void run();
  void finish_job();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  std::exception_ptr failure_;
  std::atomic<bool> busy_ = false, has_failed_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace snug
