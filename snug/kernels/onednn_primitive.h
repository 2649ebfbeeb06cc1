#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "snug/kernels/onednn_descriptors.h"

namespace snug {

// One oneDNN computation: chosen when it is constructed, compiled once, then only run.
//
// `threads` is fixed for life. With 1, up to `lanes` threads may run it at the same time, each with
// its own lane number and its own scratch; with more, it is run from outside any parallel region.
class OnednnPrimitive {
 public:
  struct Argument {
    int name;  // DNNL_ARG_SRC and so on.
    OnednnFormat format;
  };

  // The descriptor must have been made under OnednnThreads(threads).
  OnednnPrimitive(OnednnDescriptor descriptor, std::vector<Argument> arguments, int threads);
  ~OnednnPrimitive();
  OnednnPrimitive(OnednnPrimitive&&) noexcept;
  OnednnPrimitive& operator=(OnednnPrimitive&&) noexcept;

  // What each run needs, aligned to 64 bytes; may be 0.
  size_t scratch_bytes() const { return scratch_bytes_; }

  // oneDNN's own name for what it chose, for instance "jit:avx2".
  const char* implementation() const { return implementation_; }

  // Whether a run takes kilobytes or megabytes from malloc, beside the few hundred bytes that every
  // run takes: oneDNN's GEMM, which it chooses for matmul and some convolutions without AVX-512.
  bool allocates() const;

  const OnednnFormat& format(int argument) const { return arguments_[argument].format; }

  // Makes the machine code and what each lane needs. Called once, before the first run.
  void compile(int lanes);

  // At most about what compile() took: the library's objects and machine code.
  int64_t compiled_bytes() const;

  // Between two runs that are far apart: its own threads, if it has several, count for nobody's
  // choice of a team (OpenmpRegions). wake() before the next run.
  void rest() noexcept;
  void wake() noexcept;

  // `pointers` in the order of the arguments; neither they nor the scratch may overlap. False when
  // oneDNN refuses, or when this has several threads but is called inside a parallel region.
  bool run(int lane, std::initializer_list<const void*> pointers, void* scratch) const noexcept;

 private:
  struct Lane;
  struct Compiled;

  OnednnDescriptor descriptor_;
  std::vector<Argument> arguments_;
  int threads_;
  size_t scratch_bytes_;
  const char* implementation_ = "";
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace snug
