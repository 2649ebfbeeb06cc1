#include "snug/kernels/onednn.h"

#include <omp.h>

#include <algorithm>

#include "snug/base/error.h"
#include "snug/kernels/isa.h"

namespace snug {
namespace {

constexpr int kDefaultCacheCapacity = 1024;
// None: a descriptor that comes from the cache points into the one that was made first (2.6, matmul
// on AVX-512), and that one is gone; compiling it anew reads freed memory.
constexpr int kCacheCapacity = 0;

struct Dims {
  explicit Dims(std::span<const int64_t> from) : count(static_cast<int>(from.size())) {
    SNUG_CHECK(from.size() <= DNNL_MAX_NDIMS);
    std::copy(from.begin(), from.end(), values);
  }
  int count;
  dnnl_dims_t values{};
};

dnnl_engine_t make_engine() {
  int capacity = 0;
  check_onednn(dnnl_get_primitive_cache_capacity(&capacity), "get_primitive_cache_capacity");
  if (capacity == kDefaultCacheCapacity) {
    check_onednn(dnnl_set_primitive_cache_capacity(kCacheCapacity), "set_primitive_cache_capacity");
  }
  dnnl_engine_t engine = nullptr;
  check_onednn(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine_create");
  return engine;
}

bool has(dnnl_cpu_isa_t isa) {
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & isa) == static_cast<unsigned>(isa);
}

const char* isa_name() {
  if (has(dnnl_cpu_isa_avx512_core)) return "AVX-512";
  if (has(dnnl_cpu_isa_avx2)) return "AVX2";
  if (has(dnnl_cpu_isa_avx)) return "AVX";
  return "SSE4.1 or less";
}

const char* status_name(dnnl_status_t status) {
  switch (status) {
    case dnnl_success:
      return "success";
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "no such primitive for this CPU";
    case dnnl_runtime_error:
      return "runtime error";
    default:
      return "another status";
  }
}

}  // namespace

void check_onednn(dnnl_status_t status, const char* call) {
  if (status == dnnl_success) return;
  throw InternalError("oneDNN: dnnl_{} failed with {} ({}) in {}", call, status_name(status),
                      static_cast<int>(status), onednn_version());
}

// Never destroyed: programs may be destroyed after this file's statics are.
dnnl_engine_t onednn_engine() {
  static const dnnl_engine_t engine = make_engine();
  return engine;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}, {}", version->major, version->minor, version->patch,
                     isa_name());
}

// The host program may have capped oneDNN by a call, which isa() does not see.
bool onednn_wanted() { return isa() == Isa::avx512 && has(dnnl_cpu_isa_avx512_core); }

#if DNNL_VERSION_MAJOR >= 3
namespace {
std::shared_ptr<dnnl_memory_desc> shared(dnnl_memory_desc_t format) {
  return {format, OnednnDestroy<dnnl_memory_desc_destroy>()};
}
}  // namespace

OnednnFormat OnednnFormat::strided(std::span<const int64_t> sizes,
                                   std::span<const int64_t> strides) {
  const Dims dims(sizes), steps(strides);
  dnnl_memory_desc_t made = nullptr;
  check_onednn(
      dnnl_memory_desc_create_with_strides(&made, dims.count, dims.values, dnnl_f32, steps.values),
      "memory_desc_create_with_strides");
  OnednnFormat result;
  result.format_ = shared(made);
  return result;
}

OnednnFormat OnednnFormat::any(std::span<const int64_t> sizes) {
  const Dims dims(sizes);
  dnnl_memory_desc_t made = nullptr;
  check_onednn(dnnl_memory_desc_create_with_tag(&made, dims.count, dims.values, dnnl_f32,
                                                dnnl_format_tag_any),
               "memory_desc_create_with_tag");
  OnednnFormat result;
  result.format_ = shared(made);
  return result;
}

OnednnFormat OnednnFormat::chosen(const_dnnl_primitive_desc_t descriptor, dnnl_query_t operand) {
  dnnl_memory_desc_t made = nullptr;
  check_onednn(dnnl_memory_desc_clone(&made, dnnl_primitive_desc_query_md(descriptor, operand, 0)),
               "memory_desc_clone");
  OnednnFormat result;
  result.format_ = shared(made);
  return result;
}
#else
OnednnFormat OnednnFormat::strided(std::span<const int64_t> sizes,
                                   std::span<const int64_t> strides) {
  const Dims dims(sizes), steps(strides);
  OnednnFormat result;
  check_onednn(dnnl_memory_desc_init_by_strides(&result.format_, dims.count, dims.values, dnnl_f32,
                                                steps.values),
               "memory_desc_init_by_strides");
  return result;
}

OnednnFormat OnednnFormat::any(std::span<const int64_t> sizes) {
  const Dims dims(sizes);
  OnednnFormat result;
  check_onednn(dnnl_memory_desc_init_by_tag(&result.format_, dims.count, dims.values, dnnl_f32,
                                            dnnl_format_tag_any),
               "memory_desc_init_by_tag");
  return result;
}

OnednnFormat OnednnFormat::chosen(const_dnnl_primitive_desc_t descriptor, dnnl_query_t operand) {
  OnednnFormat result;
  result.format_ = *dnnl_primitive_desc_query_md(descriptor, operand, 0);
  return result;
}
#endif

size_t OnednnFormat::bytes() const {
  return get() == nullptr ? 0 : dnnl_memory_desc_get_size(get());
}

bool OnednnFormat::operator==(const OnednnFormat& other) const {
  return dnnl_memory_desc_equal(get(), other.get()) != 0;
}

OnednnMemory onednn_memory(const OnednnFormat& format) {
  dnnl_memory_t memory = nullptr;
  check_onednn(dnnl_memory_create(&memory, format.get(), onednn_engine(), DNNL_MEMORY_NONE),
               "memory_create");
  return OnednnMemory(memory);
}

OnednnThreads::OnednnThreads(int threads) : saved_(omp_get_max_threads()), threads_(threads) {
  if (threads_ != saved_) omp_set_num_threads(threads_);
}

OnednnThreads::~OnednnThreads() {
  if (threads_ != saved_) omp_set_num_threads(saved_);
}

}  // namespace snug
