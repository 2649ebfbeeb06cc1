#include "snug/plan/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "snug/base/bytes.h"

namespace snug {
namespace {

constexpr double kWidth = 720, kHeight = 420, kLeft = 80, kRight = 30, kTop = 50, kBottom = 60;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

// With as many digits as it takes to tell budgets apart that are so far from each other.
std::string budget_text(int64_t bytes, int64_t apart, Rounding rounding = Rounding::nearest) {
  double unit = 1;
  const char* name = "bytes";
  for (const char* larger : {"KiB", "MiB", "GiB"}) {
    if (static_cast<double>(bytes) < 1024 * unit) break;
    unit *= 1024;
    name = larger;
  }
  int digits = unit > 1 ? 1 : 0;
  double last = std::pow(0.1, digits);
  for (; digits < 6 && static_cast<double>(apart) < 2 * last * unit && unit > 1; last /= 10)
    ++digits;
  const double number = static_cast<double>(bytes) / unit / last;
  const double shown = rounding == Rounding::up ? std::ceil(number - 1e-9) : std::round(number);
  return fmt::format("{:.{}f} {}", shown * last, digits, name);
}

int64_t distance(std::span<const CurvePoint> curve) {
  const auto points = static_cast<int64_t>(curve.size());
  return (curve.back().budget_bytes - curve.front().budget_bytes) /
         std::max<int64_t>(1, points - 1);
}

std::string way_text(const CurvePoint& point) {
  std::vector<std::string> texts;
  if (point.part_rows > 0) texts.push_back(fmt::format("parts of {} rows", point.part_rows));
  if (point.node_by_node) texts.push_back("node by node");
  if (point.again > 0) texts.push_back(fmt::format("{} nodes computed again", point.again));
  if (point.spilled_bytes > 0)
    texts.push_back(fmt::format("{} to the disk and back", bytes_text(point.spilled_bytes)));
  return texts.empty() ? "as it runs best" : fmt::format("{}", fmt::join(texts, ", "));
}

// Maps budgets and times to the picture.
class Frame {
 public:
  explicit Frame(std::span<const CurvePoint> curve) {
    low_ = curve.front().budget_bytes;
    high_ = std::max(low_ + 1, curve.back().budget_bytes);
    for (const CurvePoint& point : curve) slowest_ = std::max(slowest_, point.step_ns);
  }

  double x(const CurvePoint& point) const {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(point.budget_bytes - low_) /
                       static_cast<double>(high_ - low_);
  }
  double y(double ns) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * ns / (1.05 * slowest_);
  }

  std::string axes() const {
    std::string text = fmt::format("<path d='M{0} {1}V{2}H{3}' fill='none' stroke='#888'/>\n",
                                   kLeft, kTop, kHeight - kBottom, kWidth - kRight);
    constexpr int kTicks = 5;
    for (int i = 0; i < kTicks; ++i) {
      const CurvePoint at{.budget_bytes = low_ + (high_ - low_) * i / (kTicks - 1)};
      text += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n", x(at),
                          kHeight - kBottom + 20,
                          budget_text(at.budget_bytes, (high_ - low_) / (kTicks - 1)));
      const double ns = slowest_ * i / (kTicks - 1);
      text += fmt::format(
          "<path d='M{0} {1:.1f}H{2}' stroke='#eee'/>"
          "<text x='{3}' y='{4:.1f}' text-anchor='end'>{5:.3g} ms</text>\n",
          kLeft, y(ns), kWidth - kRight, kLeft - 8, y(ns) + 4, ns / 1e6);
    }
    return text;
  }

 private:
  int64_t low_ = 0, high_ = 1;
  double slowest_ = 1;
};

}  // namespace

size_t knee_of(std::span<const CurvePoint> curve) {
  size_t knee = 0;
  double farthest = -1;
  for (size_t i = 0; i < curve.size(); ++i) {
    const auto [first, last] = std::pair(curve.front(), curve.back());
    const double along =
        static_cast<double>(curve[i].budget_bytes - first.budget_bytes) /
        static_cast<double>(std::max<int64_t>(1, last.budget_bytes - first.budget_bytes));
    const double line = first.step_ns + (last.step_ns - first.step_ns) * along;
    const double below = line - curve[i].step_ns;
    if (below <= farthest) continue;
    farthest = below;
    knee = i;
  }
  return knee;
}

std::string curve_text(std::span<const CurvePoint> curve) {
  if (curve.empty()) return "no budget works\n";
  const size_t knee = knee_of(curve);
  const double fastest = curve.back().step_ns;
  const int64_t apart = distance(curve);
  std::string text = fmt::format("{:>12}  {:>10}  {:>7}\n", "budget", "step", "times");
  for (size_t i = 0; i < curve.size(); ++i) {
    const CurvePoint& point = curve[i];
    text += fmt::format("{:>12}  {:>7.3g} ms  {:>7.3f}  {}{}\n",
                        budget_text(point.budget_bytes, apart, Rounding::up),
                        point.step_ns / 1e6, point.step_ns / fastest, way_text(point),
                        i == knee ? "  <- the knee" : "");
  }
  return text;
}

std::string curve_svg(std::span<const CurvePoint> curve, const std::string& title) {
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "font-family='sans-serif' font-size='12'>\n<rect width='{0}' height='{1}' fill='white'/>\n"
      "<text x='{2}' y='28' font-size='16'>{3}</text>\n",
      kWidth, kHeight, kLeft, escaped(title));
  if (curve.empty()) return svg + "</svg>\n";
  const Frame frame(curve);
  svg += frame.axes();
  std::string line;
  for (const CurvePoint& point : curve)
    line += fmt::format("{:.1f},{:.1f} ", frame.x(point), frame.y(point.step_ns));
  svg +=
      fmt::format("<polyline points='{}' fill='none' stroke='#2166ac' stroke-width='2'/>\n", line);
  const size_t knee = knee_of(curve);
  for (size_t i = 0; i < curve.size(); ++i) {
    const CurvePoint& point = curve[i];
    svg += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='{}'><title>{}: {:.3g} ms, "
        "{}</title></circle>\n",
        frame.x(point), frame.y(point.step_ns), i == knee ? 6 : 4,
        i == knee ? "#b2182b" : "#2166ac",
        budget_text(point.budget_bytes, distance(curve)), point.step_ns / 1e6,
        way_text(point));
  }
  const CurvePoint& at = curve[knee];
  svg += fmt::format(
      "<text x='{:.1f}' y='{:.1f}' fill='#b2182b'>knee: {}, {:.3g} ms</text>\n"
      "<text x='{}' y='{}' text-anchor='middle'>budget of the process</text>\n</svg>\n",
      std::min(frame.x(at) + 8, kWidth - 190), frame.y(at.step_ns) - 12,
      budget_text(at.budget_bytes, distance(curve)), at.step_ns / 1e6,
      (kLeft + kWidth - kRight) / 2, kHeight - 14);
  return svg;
}

}  // namespace snug
