#include "snug/base/page_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

namespace snug {
namespace {

const Mapping* mapping_of(const std::vector<Mapping>& mappings, const void* address) {
  const uint64_t page = reinterpret_cast<uint64_t>(address) / kSystemPageBytes;
  const auto found = std::ranges::find_if(
      mappings, [&](const Mapping& m) { return m.first <= page && page < m.end; });
  return found == mappings.end() ? nullptr : &*found;
}

TEST(PageMap, TellsWhatIsMapped) {
  const std::vector<Mapping> mappings = own_mappings();
  const Mapping* code = mapping_of(mappings, reinterpret_cast<const void*>(&own_mappings));
  ASSERT_NE(code, nullptr);
  EXPECT_TRUE(code->is_of_file && code->is_private && !code->is_writable);
  EXPECT_FALSE(code->name.empty());
  const Mapping* stack = mapping_of(mappings, &mappings);
  ASSERT_NE(stack, nullptr);
  EXPECT_TRUE(stack->is_writable && !stack->is_of_file);
}

TEST(PageMap, TellsWhichPagesAreThere) {
  constexpr size_t kPages = 1000;  // More than are read at once.
  void* memory = mmap(nullptr, kPages * kSystemPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  static_cast<char*>(memory)[7 * kSystemPageBytes] = 1;
  static_cast<char*>(memory)[900 * kSystemPageBytes + 5] = 1;
  const uint64_t first = reinterpret_cast<uint64_t>(memory) / kSystemPageBytes;
  std::vector<uint64_t> own;
  EXPECT_TRUE(
      visit_pages({.first = first, .end = first + kPages}, [&](uint64_t page, PageState state) {
        EXPECT_NE(state, PageState::of_file);
        if (state == PageState::own) own.push_back(page - first);
      }));
  munmap(memory, kPages * kSystemPageBytes);
  EXPECT_EQ(own, (std::vector<uint64_t>{7, 900}));
}

}  // namespace
}  // namespace snug
