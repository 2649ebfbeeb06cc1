// oneDNN behind one face: its engine, its status codes, and the formats of its memory. Versions 2.6
// and 3.x differ only in onednn.cpp and onednn_descriptors.cpp.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace snug {

// Throws InternalError, with the name of the call and of the status, unless the status is success.
void check_onednn(dnnl_status_t status, const char* call);

template <auto kDestroy>
struct OnednnDestroy {
  template <typename Object>
  void operator()(Object* object) const {
    kDestroy(object);
  }
};
using OnednnMemory = std::unique_ptr<dnnl_memory, OnednnDestroy<dnnl_memory_destroy>>;
using OnednnStream = std::unique_ptr<dnnl_stream, OnednnDestroy<dnnl_stream_destroy>>;

// The one CPU engine, made at the first call. That call also lowers the library's own cache of
// primitives, since a plan keeps its primitives itself, unless the host program has set a capacity.
dnnl_engine_t onednn_engine();

// The version that is loaded, for instance "oneDNN 2.6.3, AVX2".
std::string onednn_version();

// Whether matmul should run on oneDNN: it has AVX-512 here and is not capped below it. Without it,
// its matmul allocates megabytes in a call, and a row's bits change with the number of rows.
bool onednn_wanted();

// How float32 numbers with some logical sizes stand in memory. A default one means "no such
// operand".
class OnednnFormat {
 public:
  OnednnFormat() = default;

  // `strides` in elements, one for each size.
  static OnednnFormat strided(std::span<const int64_t> sizes, std::span<const int64_t> strides);
  // The primitive descriptor shall choose.
  static OnednnFormat any(std::span<const int64_t> sizes);
  // What the descriptor has chosen for one of its operands.
  static OnednnFormat chosen(const_dnnl_primitive_desc_t descriptor, dnnl_query_t operand);

  size_t bytes() const;
  bool operator==(const OnednnFormat& other) const;

#if DNNL_VERSION_MAJOR >= 3
  using Pointer = const_dnnl_memory_desc_t;
  Pointer get() const { return format_.get(); }

 private:
  std::shared_ptr<dnnl_memory_desc> format_;
#else
  using Pointer = const dnnl_memory_desc_t*;
  Pointer get() const { return format_.ndims == 0 ? nullptr : &format_; }

 private:
  dnnl_memory_desc_t format_{};
#endif
};

// A memory object of that format that points nowhere yet.
OnednnMemory onednn_memory(const OnednnFormat& format);

// While it lives, OpenMP gives this thread's next region this many threads; the host's number is
// put back after. oneDNN reads that number when a primitive is made and when it runs.
class OnednnThreads {
 public:
  explicit OnednnThreads(int threads);
  ~OnednnThreads();
  OnednnThreads(const OnednnThreads&) = delete;
  OnednnThreads& operator=(const OnednnThreads&) = delete;

 private:
  int saved_;
  int threads_;
};

}  // namespace snug
