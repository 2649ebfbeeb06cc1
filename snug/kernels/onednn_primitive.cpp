#include "snug/kernels/onednn_primitive.h"

#include <array>
#include <optional>
#include <string_view>

#include "snug/base/error.h"
#include "snug/base/threads.h"

namespace snug {
namespace {

constexpr size_t kMaxArguments = 5;  // Four operands and the scratch.

using Primitive = std::unique_ptr<dnnl_primitive, OnednnDestroy<dnnl_primitive_destroy>>;

}  // namespace

// Written in every run, so that lanes must not share a cache line.
struct alignas(64) OnednnPrimitive::Lane {
  OnednnStream stream;
  int count = 0;
  std::array<dnnl_exec_arg_t, kMaxArguments> arguments{};
  std::array<const void*, kMaxArguments> pointers{};
  std::array<OnednnMemory, kMaxArguments> memories;

  void add(int name, const OnednnFormat& format) {
    memories[count] = onednn_memory(format);
    arguments[count] = {name, memories[count].get()};
    ++count;
  }

  // Version 2 zero-fills the padding of a blocked format whenever its pointer is set.
  bool point(size_t index, const void* to) {
    if (pointers[index] == to) return true;
    pointers[index] = to;
    return dnnl_memory_set_data_handle(memories[index].get(), const_cast<void*>(to)) ==
           dnnl_success;
  }
};

struct OnednnPrimitive::Compiled {
  Primitive primitive;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::optional<OpenmpRegions> regions;  // That a run opens, with several threads, while awake.
};

OnednnPrimitive::OnednnPrimitive(OnednnDescriptor descriptor, std::vector<Argument> arguments,
                                 int threads)
    : descriptor_(std::move(descriptor)), arguments_(std::move(arguments)), threads_(threads) {
  SNUG_CHECK(arguments_.size() < kMaxArguments);
  const OnednnFormat scratch = OnednnFormat::chosen(descriptor_.get(), dnnl_query_scratchpad_md);
  scratch_bytes_ = scratch.bytes();
  if (scratch_bytes_ > 0) arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratch});
  check_onednn(
      dnnl_primitive_desc_query(descriptor_.get(), dnnl_query_impl_info_str, 0, &implementation_),
      "primitive_desc_query");
}

OnednnPrimitive::~OnednnPrimitive() = default;
OnednnPrimitive::OnednnPrimitive(OnednnPrimitive&&) noexcept = default;
OnednnPrimitive& OnednnPrimitive::operator=(OnednnPrimitive&&) noexcept = default;

// "gemm:jit" and "x64:gemm:jit" call it; "brgemm:..." is another thing.
bool OnednnPrimitive::allocates() const {
  const std::string_view name = implementation_;
  return name.find("gemm") != name.npos && name.find("brgemm") == name.npos;
}

void OnednnPrimitive::compile(int lanes) {
  SNUG_CHECK(compiled_ == nullptr && lanes >= 1 && (threads_ == 1 || lanes == 1));
  const OnednnThreads guard(threads_);
  auto compiled = std::make_unique<Compiled>();
  dnnl_primitive_t primitive = nullptr;
  check_onednn(dnnl_primitive_create(&primitive, descriptor_.get()), "primitive_create");
  compiled->primitive.reset(primitive);
  for (int i = 0; i < lanes; ++i) {
    auto lane = std::make_unique<Lane>();
    dnnl_stream_t stream = nullptr;
    check_onednn(dnnl_stream_create(&stream, onednn_engine(), dnnl_stream_default_flags),
                 "stream_create");
    lane->stream.reset(stream);
    for (const Argument& argument : arguments_) lane->add(argument.name, argument.format);
    compiled->lanes.push_back(std::move(lane));
  }
  compiled_ = std::move(compiled);
  descriptor_.reset();
  wake();
}

int64_t OnednnPrimitive::compiled_bytes() const {
  constexpr int64_t kOfAPrimitive = 64 << 10, kOfALane = 4 << 10;
  return kOfAPrimitive + kOfALane * static_cast<int64_t>(compiled_->lanes.size());
}

void OnednnPrimitive::rest() noexcept { compiled_->regions.reset(); }

void OnednnPrimitive::wake() noexcept {
  if (threads_ > 1) compiled_->regions.emplace();
}

// No wait on the stream: on the CPU with OpenMP, execute returns when the work is done.
bool OnednnPrimitive::run(int lane_number, std::initializer_list<const void*> pointers,
                          void* scratch) const noexcept {
  if (threads_ > 1 && in_parallel_region()) return false;
  Lane& lane = *compiled_->lanes[lane_number];
  const OnednnThreads guard(threads_);
  size_t index = 0;
  bool pointed = true;
  for (const void* pointer : pointers) pointed &= lane.point(index++, pointer);
  if (scratch_bytes_ > 0) pointed &= lane.point(index, scratch);
  return pointed && dnnl_primitive_execute(compiled_->primitive.get(), lane.stream.get(),
                                           lane.count, lane.arguments.data()) == dnnl_success;
}

}  // namespace snug
