#include "snug/plan/problem_file.h"

#include <fmt/format.h>

#include <istream>
#include <ostream>
#include <sstream>

#include "snug/base/error.h"

namespace snug {
namespace {

class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  Problem read() {
    next_line();
    const auto nodes = number<int64_t>("the number of nodes"),
               values = number<int64_t>("the number of values");
    require(nodes >= 0 && values >= 0, "counts cannot be negative");
    problem_.stages = {{}};
    for (int64_t v = 0; v < values; ++v) read_value(v);
    made_.assign(values, 0);
    for (int64_t n = 0; n < nodes; ++n) read_node(n);
    return std::move(problem_);
  }

 private:
  void require(bool holds, const std::string& what) const {
    if (!holds) throw DataError("{}:{}: {}", name_, line_number_, what);
  }

  void next_line() {
    std::string text;
    ++line_number_;
    require(static_cast<bool>(std::getline(in_, text)), "the file ends too early");
    line_.clear();
    line_.str(text);
  }

  template <typename Number>
  Number number(const char* what) {
    Number result{};
    require(static_cast<bool>(line_ >> result), fmt::format("expected {}", what));
    return result;
  }

  void read_value(int64_t v) {
    next_line();
    ProblemValue value{.name = fmt::format("v{}", v), .bytes = number<int64_t>("bytes")};
    value.given = number<int>("constant (0 or 1)") != 0;
    value.pinned = number<int>("pinned (0 or 1)") != 0;
    const auto release = number<int64_t>("release");
    require(value.bytes >= 0, "bytes cannot be negative");
    value.pinned = value.pinned || (value.given && release < 0);
    problem_.values.push_back(std::move(value));
  }

  void read_node(int64_t n) {
    next_line();
    ProblemNode node{.name = fmt::format("n{}", n), .cost_ns = number<double>("cost_ns")};
    node.in = read_values("inputs");
    node.out = read_values("outputs");
    for (const int v : node.in) {
      require(problem_.values[v].given || made_[v],
              fmt::format("value {} is read before it is made", v));
    }
    for (const int v : node.out) {
      require(!problem_.values[v].given && !made_[v], fmt::format("value {} is made twice", v));
      made_[v] = 1;
    }
    problem_.nodes.push_back(std::move(node));
  }

  std::vector<int> read_values(const char* what) {
    std::vector<int> values(std::max<int64_t>(0, number<int64_t>(what)));
    for (int& v : values) {
      v = number<int>("a value");
      require(v >= 0 && v < static_cast<int>(problem_.values.size()),
              fmt::format("there is no value {}", v));
    }
    return values;
  }

  std::istream& in_;
  const std::string& name_;
  int line_number_ = 0;
  std::istringstream line_;
  std::vector<char> made_;
  Problem problem_;
};

void write_values(const std::vector<int>& values, std::ostream& out) {
  out << ' ' << values.size();
  for (const int v : values) out << ' ' << v;
}

}  // namespace

Problem read_problem(std::istream& in, const std::string& name) { return Reader(in, name).read(); }

void write_problem(const Problem& problem, std::ostream& out) {
  std::vector<int> release(problem.values.size(), -1);
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    for (const int v : problem.nodes[n].in) release[v] = static_cast<int>(n);
  }
  out << problem.nodes.size() << ' ' << problem.values.size() << '\n';
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const ProblemValue& value = problem.values[v];
    const bool never = value.given && value.pinned;
    out << fmt::format("{} {:d} {:d} {}\n", value.bytes, value.given, value.pinned,
                       never ? -1 : std::max(value.given ? 0 : -1, release[v]));
  }
  for (const ProblemNode& node : problem.nodes) {
    out << fmt::format("{}", node.cost_ns);
    write_values(node.in, out);
    write_values(node.out, out);
    out << '\n';
  }
}

}  // namespace snug
