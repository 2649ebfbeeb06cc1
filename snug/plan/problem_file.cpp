#include "snug/plan/problem_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <istream>
#include <ostream>
#include <span>

#include "snug/base/error.h"
#include "snug/plan/unit_graph.h"

namespace snug {
namespace {

// Enough for any machine, and sums over many copies still fit 64 bits.
constexpr int64_t kMostBytes = int64_t{1} << 53;
constexpr double kMostCost = 1e18;

class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  Problem read() {
    next_line();
    const auto nodes = number<int64_t>("the number of nodes"),
               values = number<int64_t>("the number of values");
    require(nodes >= 0 && values >= 0, "counts cannot be negative");
    end_line();
    problem_.stages = {{}};
    problem_.alignment = 1;
    for (int64_t v = 0; v < values; ++v) read_value(v);
    made_.assign(problem_.values.size(), 0);
    for (int64_t n = 0; n < nodes; ++n) read_node(n);
    end_file();
    return std::move(problem_);
  }

 private:
  void require(bool holds, const std::string& what) const {
    if (!holds) throw Error("{}:{}: {}", name_, line_number_, what);
  }

  void next_line() {
    ++line_number_;
    require(static_cast<bool>(std::getline(in_, line_)), "the file ends too early");
    at_ = line_.data();
  }

  void skip_blanks() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
  }

  bool is_at_end() {
    skip_blanks();
    return at_ == line_.data() + line_.size();
  }

  template <typename Number>
  Number number(const char* what) {
    Number result{};
    skip_blanks();
    const auto [end, error] = std::from_chars(at_, line_.data() + line_.size(), result);
    require(error == std::errc() && end != at_, fmt::format("expected {}", what));
    at_ = end;
    return result;
  }

  bool flag(const char* what) {
    const int number = this->number<int>(what);
    require(number == 0 || number == 1, fmt::format("expected {}, got {}", what, number));
    return number == 1;
  }

  void end_line() {
    const bool is_end = is_at_end();
    require(is_end, fmt::format("there is more on the line than expected: '{}'", at_));
  }

  // Nothing may follow but blank lines; and what must be there at the end must have a maker.
  void end_file() {
    while (std::getline(in_, line_)) {
      ++line_number_;
      at_ = line_.data();
      require(is_at_end(), "the file goes on after its last node");
    }
    for (size_t v = 0; v < made_.size(); ++v) {
      const ProblemValue& value = problem_.values[v];
      if (value.pinned && !value.given && !made_[v])
        throw Error("{}: value {} is pinned, but no node makes it", name_, v);
    }
  }

  void read_value(int64_t v) {
    next_line();
    ProblemValue value{.name = fmt::format("v{}", v), .bytes = number<int64_t>("bytes")};
    value.given = flag("constant (0 or 1)");
    value.pinned = flag("pinned (0 or 1)");
    const auto release = number<int64_t>("release");
    end_line();
    require(value.bytes >= 0, "bytes cannot be negative");
    require(value.bytes <= kMostBytes - total_bytes_,
            fmt::format("the values up to here have more than {} bytes", kMostBytes));
    total_bytes_ += value.bytes;
    value.pinned = value.pinned || (value.given && release < 0);
    problem_.values.push_back(std::move(value));
  }

  void read_node(int64_t n) {
    next_line();
    ProblemNode node{.name = fmt::format("n{}", n), .cost_ns = number<double>("cost_ns")};
    require(node.cost_ns >= 0 && node.cost_ns <= kMostCost,
            fmt::format("a cost is between 0 and {:g} ns, got {:g}", kMostCost, node.cost_ns));
    node.in = read_values("the number of inputs");
    node.out = read_values("the number of outputs");
    end_line();
    for (const int v : node.in) {
      require(problem_.values[v].given || made_[v],
              fmt::format("value {} is read before it is made", v));
    }
    for (const int v : node.out) {
      require(!problem_.values[v].given, fmt::format("value {} is constant, but is made", v));
      require(!made_[v], fmt::format("value {} is made twice", v));
      made_[v] = 1;
    }
    problem_.nodes.push_back(std::move(node));
  }

  std::vector<int> read_values(const char* what) {
    const auto count = number<int64_t>(what);
    require(count >= 0, fmt::format("{} cannot be negative", what));
    std::vector<int> values;
    for (int64_t i = 0; i < count; ++i) {
      const auto v = number<int64_t>("a value");
      require(v >= 0 && v < static_cast<int64_t>(problem_.values.size()),
              fmt::format("there is no value {}", v));
      values.push_back(static_cast<int>(v));
    }
    return values;
  }

  std::istream& in_;
  const std::string& name_;
  std::string line_;
  const char* at_ = nullptr;  // In the line.
  int line_number_ = 0;
  int64_t total_bytes_ = 0;
  std::vector<char> made_;
  Problem problem_;
};

// The units of a problem as nodes. What a unit takes beside its values becomes a value that nobody
// reads, and that therefore lives only while the unit runs.
class Writer {
 public:
  explicit Writer(const Problem& problem) : graph_(problem) {
    const int values = static_cast<int>(graph_.bytes.size());
    std::vector<char> exists(graph_.given);
    release_.assign(values, -1);
    for (int u = 0; u < graph_.program_size; ++u) {
      for (const int v : graph_.units[u].out) exists[v] = 1;
      for (const int v : graph_.units[u].in) release_[v] = u;
    }
    number_.assign(values, -1);
    for (int v = 0; v < values; ++v) {
      if (exists[v]) number_[v] = count_++;
    }
  }

  void write(std::ostream& out) {
    const auto has_scratch = [](const Unit& unit) { return unit.extra_bytes > 0; };
    const std::span units(graph_.units.data(), graph_.program_size);
    const auto scratches = std::count_if(units.begin(), units.end(), has_scratch);
    out << fmt::format("{} {}\n", units.size(), count_ + scratches);
    for (size_t v = 0; v < number_.size(); ++v) {
      if (number_[v] >= 0) write_value(v, out);
    }
    for (const Unit& unit : units) {
      if (has_scratch(unit)) out << fmt::format("{} 0 0 -1\n", unit.extra_bytes);
    }
    for (const Unit& unit : units) {
      out << fmt::format("{} {}", unit.cost_ns, unit.in.size());
      for (const int v : unit.in) out << ' ' << number_[v];
      out << ' ' << unit.out.size() + (has_scratch(unit) ? 1 : 0);
      for (const int v : unit.out) out << ' ' << number_[v];
      if (has_scratch(unit)) out << ' ' << count_++;
      out << '\n';
    }
  }

 private:
  void write_value(size_t v, std::ostream& out) const {
    const bool never = graph_.given[v] && graph_.pinned[v];
    const int release = never ? -1 : std::max(graph_.given[v] ? 0 : -1, release_[v]);
    out << fmt::format("{} {:d} {:d} {}\n", graph_.bytes[v], graph_.given[v] != 0,
                       graph_.pinned[v] != 0, release);
  }

  UnitGraph graph_;
  std::vector<int> number_;   // By value: its number in the file, or -1.
  std::vector<int> release_;  // By value: its last reader.
  int count_ = 0;             // Numbers given so far.
};

}  // namespace

Problem read_problem(std::istream& in, const std::string& name) { return Reader(in, name).read(); }

void write_problem(const Problem& problem, std::ostream& out) { Writer(problem).write(out); }

}  // namespace snug
