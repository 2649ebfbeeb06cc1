#include "snug/base/beside_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "snug/base/team.h"

namespace snug {
namespace {

// How long a job may lie before the thread sees it by itself.
constexpr std::chrono::milliseconds kLookEvery(25);

// The owner's threads are never to wait for this one's share of the cores. Where that is not
// allowed, all stay equal.
void step_back() {
  constexpr int kNiceness = 10;
  [[maybe_unused]] const int refused =
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  keep_off_the_team();
}

}  // namespace

BesideThread::~BesideThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BesideThread::run() {
  step_back();
  std::unique_lock lock(mutex_);
  while (true) {
    if (!busy_.load() && !ends_) changed_.wait_for(lock, kLookEvery);
    if (!busy_.load() && ends_) return;
    if (!busy_.load()) continue;
    lock.unlock();
    finish_job();
    lock.lock();
  }
}

void BesideThread::finish_job() {
  std::exception_ptr failure;
  try {
    job_();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  job_ = nullptr;
  failure_ = failure;
  has_failed_.store(failure != nullptr, std::memory_order_release);
  busy_.store(false, std::memory_order_release);
  changed_.notify_all();
}

void BesideThread::prepare() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
  }
}

void BesideThread::start(std::function<void()> job) {
  wait();
  prepare();
  if (!thread_.joinable()) return job();
  const std::lock_guard lock(mutex_);
  job_ = std::move(job);
  busy_.store(true, std::memory_order_release);
}

void BesideThread::wait() {
  if (!is_busy() && !has_failed_.load(std::memory_order_acquire)) return;
  std::unique_lock lock(mutex_);
  if (busy_.load()) changed_.notify_all();
  changed_.wait(lock, [&] { return !busy_.load(); });
  has_failed_.store(false, std::memory_order_release);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace snug
