#include "snug/train/state_numbers.h"

#include <cstring>

#include "snug/base/error.h"
#include "snug/train/state_bytes.h"

namespace snug {

static constexpr size_t aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

class StateNumbers::Lister final : public StateVisitor {
 public:
  Lister(StateNumbers& numbers, size_t section) : numbers_(numbers), section_(section) {}

  void visit(std::string_view name, int64_t& value) override { add(name, value, Kind::whole); }
  void visit(std::string_view name, double& value) override { add(name, value, Kind::whole); }
  void visit(std::string_view name, uint64_t& value) override { add(name, value, Kind::whole); }
  void visit(std::string_view name, int& value) override { add(name, value, Kind::integer); }
  void visit(std::string_view name, bool& value) override { add(name, value, Kind::truth); }
  void visit(std::string_view name, std::vector<double>& values) override {
    writer_.visit(name, values);
    list(values.data(), values.size() * sizeof(double), Kind::whole);
  }
  void visit(std::string_view name, std::string&) override { refuse(name); }
  void visit_values(std::string_view name, const Tensor&) override { refuse(name); }
  bool reads() const override { return false; }
  void sync_first(std::shared_ptr<File>) override { refuse("a file"); }

  std::vector<std::byte> take() { return writer_.take(); }

 private:
  template <typename T>
  void add(std::string_view name, T& value, Kind kind) {
    writer_.visit(name, value);
    list(&value, sizeof(value), kind);
  }
  // The number that was written last.
  void list(const void* from, size_t bytes, Kind kind) {
    if (bytes == 0) return;
    numbers_.sources_.push_back({from, bytes});
    numbers_.targets_.push_back({section_, writer_.size() - aligned(bytes), kind});
    numbers_.copy_.resize(numbers_.copy_.size() + aligned(bytes));
  }
  [[noreturn]] static void refuse(std::string_view name) {
    throw InternalError("{} is no number that stays where it is", name);
  }

  StateNumbers& numbers_;
  size_t section_;
  StateWriter writer_;
};

void StateNumbers::clear() {
  sources_.clear();
  targets_.clear();
  copy_.clear();
}

std::vector<std::byte> StateNumbers::add(size_t section,
                                         const std::function<void(StateVisitor&)>& visit) {
  Lister lister(*this, section);
  visit(lister);
  return lister.take();
}

void StateNumbers::take() noexcept {
  std::byte* to = copy_.data();
  for (const Source& source : sources_) {
    if (source.bytes == 8) {
      std::memcpy(to, source.from, 8);  // Nearly all: one move.
    } else {
      std::memcpy(to, source.from, source.bytes);
    }
    to += aligned(source.bytes);
  }
}

void StateNumbers::put_into(std::vector<CheckpointSection>& sections) const {
  const std::byte* from = copy_.data();
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Target& target = targets_[i];
    std::byte* to = sections[target.section].bytes.data() + target.offset;
    int64_t number = 0;
    if (target.kind == Kind::truth) {
      number = static_cast<int64_t>(*from != std::byte{0});
    } else if (target.kind == Kind::integer) {
      int value;
      std::memcpy(&value, from, sizeof(value));
      number = value;
    }
    if (target.kind == Kind::whole) {
      std::memcpy(to, from, sources_[i].bytes);
    } else {
      std::memcpy(to, &number, sizeof(number));
    }
    from += aligned(sources_[i].bytes);
  }
}

}  // namespace snug
