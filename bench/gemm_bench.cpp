// GFLOP/s of Gemm on one thread, beside oneDNN's matmul: forward, dX and dW of dense layers.
// Run it with ONEDNN_MAX_CPU_ISA=AVX2 for the other path.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "snug/kernels/gemm.h"

namespace {

using snug::Gemm;
using snug::GemmShape;

struct Layer {
  int64_t batch, units, features;
};

struct Floats {
  explicit Floats(size_t size)
      : data(static_cast<float*>(std::aligned_alloc(64, (size * 4 + 127) / 64 * 64))) {
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<float>(i % 17) / 16 - 0.5f;
  }
  ~Floats() { std::free(data); }
  float* data;
};

// The time of this thread on its core, which other jobs do not lengthen.
double thread_microseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

// The best of many short stretches of calls, in microseconds a call.
template <typename Body>
double best_microseconds(double flops, const Body& body) {
  const int calls = std::max(1, static_cast<int>(2e7 / std::max(flops, 1e4)));
  const int stretches = flops > 1e8 ? 8 : 60;
  double best = 1e30;
  for (int stretch = 0; stretch < stretches; ++stretch) {
    const double start = thread_microseconds();
    for (int call = 0; call < calls; ++call) body();
    best = std::min(best, (thread_microseconds() - start) / calls);
  }
  return best;
}

double onednn_microseconds(const GemmShape& s, Floats& a, Floats& b, Floats& c) {
  using dnnl::memory;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto f32 = memory::data_type::f32;
  const memory::dims a_strides = s.transpose_a ? memory::dims{1, s.lda} : memory::dims{s.lda, 1};
  const memory::dims b_strides = s.transpose_b ? memory::dims{1, s.ldb} : memory::dims{s.ldb, 1};
  const memory::desc a_desc({s.m, s.k}, f32, a_strides), b_desc({s.k, s.n}, f32, b_strides);
  const memory::desc c_desc({s.m, s.n}, f32, memory::dims{s.ldc, 1});
#if DNNL_VERSION_MAJOR >= 3
  dnnl::matmul::primitive_desc descriptor(engine, a_desc, b_desc, c_desc);
#else
  dnnl::matmul::primitive_desc descriptor({a_desc, b_desc, c_desc}, engine);
#endif
  dnnl::matmul matmul(descriptor);
  memory a_memory(a_desc, engine, a.data), b_memory(b_desc, engine, b.data);
  memory c_memory(c_desc, engine, c.data);
  return best_microseconds(2.0 * s.m * s.n * s.k, [&] {
    matmul.execute(
        stream, {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
  });
}

void report(const char* form, const GemmShape& shape) {
  Floats a(shape.m * shape.k), b(shape.k * shape.n), c(shape.m * shape.n);
  const Gemm gemm(shape, 1);
  Floats scratch(gemm.scratch_bytes() / 4), packed(gemm.packed_bytes() / 4);
  const double flops = 2.0 * shape.m * shape.n * shape.k;
  const double own = best_microseconds(
      flops, [&] { gemm.run({.a = a.data, .b = b.data, .c = c.data}, scratch.data); });
  gemm.pack(b.data, packed.data);
  const double own_packed = best_microseconds(
      flops, [&] { gemm.run({.a = a.data, .packed_b = packed.data, .c = c.data}, scratch.data); });
  const double other = onednn_microseconds(shape, a, b, c);
  std::printf("%-3s %5ld x %4ld x %5ld  own %9.2f us %6.1f GF/s | B packed %9.2f us %6.1f GF/s | ",
              form, shape.m, shape.n, shape.k, own, flops / own / 1e3, own_packed,
              flops / own_packed / 1e3);
  std::printf("oneDNN %9.2f us %6.1f GF/s | scratch %zu KB\n", other, flops / other / 1e3,
              gemm.scratch_bytes() / 1024);
}

}  // namespace

int main() {
  for (const auto& [batch, units, features] :
       {Layer{32, 64, 100}, Layer{64, 512, 200}, Layer{1024, 256, 429}, Layer{2048, 1024, 256},
        Layer{2048, 96, 256}, Layer{128, 10, 1600}, Layer{64, 1, 256}, Layer{32, 1, 64},
        Layer{256, 3, 512}, Layer{1, 512, 512}}) {
    report("fwd", snug::dense_gemm(batch, units, features));
    report("dX", snug::dense_gemm(batch, features, units, false, true));
    report("dW", snug::dense_gemm(features, units, batch, true, false));
  }
}
