// Which thread trains or measures a model: one at a time.
#pragma once

#include <atomic>
#include <string_view>

#include "snug/base/error.h"

namespace snug {

class OneThread {
 public:
  // While it lives, other threads are refused. Those of one thread nest, as in a callback.
  class Hold {
   public:
    // Throws Error, which begins with the name of the call, where another thread holds it.
    Hold(OneThread& thread, std::string_view call)
        : thread_(thread), is_first_(thread.take(call)) {}
    ~Hold() {
      if (is_first_) thread_.holder_.store(nullptr, std::memory_order_release);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    OneThread& thread_;
    bool is_first_;
  };

  // The same refusal, for what takes nothing itself.
  void expect_free(std::string_view call) const {
    refuse_other(holder_.load(std::memory_order_acquire), call);
  }

 private:
  // An address that each thread has of its own.
  static const void* this_thread() {
    thread_local const char place = 0;
    return &place;
  }

  bool take(std::string_view call) {
    const void* holder = nullptr;
    if (holder_.compare_exchange_strong(holder, this_thread(), std::memory_order_acq_rel))
      return true;
    refuse_other(holder, call);
    return false;
  }

  static void refuse_other(const void* holder, std::string_view call) {
    if (holder == nullptr || holder == this_thread()) return;
    throw Error(
        "{}: another thread trains or evaluates this model; wait until it is done, or give each "
        "thread a model of its own",
        call);
  }

  std::atomic<const void*> holder_ = nullptr;
};

}  // namespace snug
