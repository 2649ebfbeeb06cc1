#include "snug/plan/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "snug/base/bytes.h"

namespace snug {
namespace {

// By Kind, then scratch and lanes.
constexpr std::array kNames = {"input",   "weight", "state",   "activation", "gradient",
                               "partial", "result", "scratch", "lanes"};
constexpr int kScratch = 7, kLanes = 8;

// The page draws on a canvas: thousands of boxes stay quick, and it has nothing to load.
constexpr const char* kPage = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title>
<style>
body { font: 14px sans-serif; margin: 16px; color: #222; }
h1 { font-size: 18px; margin: 0 0 4px; }
#legend span { display: inline-block; margin-right: 14px; }
#legend i { display: inline-block; width: 12px; height: 12px; margin-right: 4px; }
#map { width: 100%; height: 70vh; border: 1px solid #bbb; display: block; margin-top: 8px; }
#tip { position: fixed; background: #fffd; border: 1px solid #888; padding: 4px 8px;
       pointer-events: none; display: none; max-width: 60vw; }
</style></head><body>
<h1>@TITLE@</h1>
<p>@SUMMARY@</p>
<p>Across: the steps of the plan. Up: addresses in the arena. Point at a box for its name; turn the
wheel to zoom along the steps, drag to move, click twice to see all.</p>
<div id="legend"></div><canvas id="map"></canvas><div id="tip"></div>
<script>
const kinds = @KINDS@, colours = ["#1f78b4", "#b2df8a", "#33a02c", "#a6cee3", "#fb9a99", "#fdbf6f",
  "#e31a1c", "#cab2d6", "#ffe3c4"], dark = new Set([0, 2, 6]);
const steps = @STEPS@, arena = @ARENA@, peak = @PEAK@;
const nodes = @NODES@;
// Name, kind, first step, last step, offset, bytes.
const boxes = @BOXES@;
const canvas = document.getElementById("map"), tip = document.getElementById("tip");
let from = 0, to = steps;
const used = new Set(boxes.map(b => b[1]));
document.getElementById("legend").innerHTML = kinds.map((kind, i) => used.has(i) ?
  `<span><i style="background:${colours[i]}"></i>${kind}</span>` : "").join("");
function bytes(n) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit == "GiB") return (unit == "bytes" ? n : n.toFixed(1)) + " " + unit;
    n /= 1024;
  }
}
const x = step => (step - from) / (to - from) * canvas.width;
const y = offset => canvas.height * (1 - offset / arena);
function draw() {
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  const pen = canvas.getContext("2d");
  pen.fillStyle = "white";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  for (const [name, kind, first, last, offset, size] of boxes) {
    const left = x(first), right = x(last + 1), top = y(offset + size), bottom = y(offset);
    if (right < 0 || left > canvas.width) continue;
    pen.fillStyle = colours[kind];
    pen.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
    if (right - left > 4 && bottom - top > 4) {
      pen.strokeStyle = "#fff";
      pen.strokeRect(left, top, right - left, bottom - top);
    }
    if (right - left > 70 && bottom - top > 14) {
      pen.fillStyle = dark.has(kind) ? "#fff" : "#222";
      pen.font = 11 * devicePixelRatio + "px sans-serif";
      pen.save();
      pen.beginPath();
      pen.rect(left, top, right - left, bottom - top);
      pen.clip();
      pen.fillText(name, Math.max(0, left) + 4, Math.min(bottom - 4, (top + bottom) / 2 + 4));
      pen.restore();
    }
  }
  pen.strokeStyle = "#c00";
  pen.lineWidth = 2 * devicePixelRatio;
  pen.setLineDash([6, 4]);
  pen.beginPath();
  pen.moveTo(x(peak + 0.5), 0);
  pen.lineTo(x(peak + 0.5), canvas.height);
  pen.stroke();
  scale(pen);
}
// Addresses at the right edge and steps at the lower one, on a light ground.
function scale(pen) {
  const em = 11 * devicePixelRatio;
  pen.font = em + "px sans-serif";
  const label = (text, left, base) => {
    pen.fillStyle = "#fffc";
    pen.fillRect(left - 3, base - em, pen.measureText(text).width + 6, em + 4);
    pen.fillStyle = "#444";
    pen.fillText(text, left, base);
  };
  for (let i = 1; i < 4; ++i) {
    const text = bytes(Math.round(arena * i / 4));
    label(text, canvas.width - pen.measureText(text).width - 6, y(arena * i / 4) + em / 3);
  }
  for (let i = 1; i < 8; ++i) {
    const step = Math.round(from + (to - from) * i / 8);
    label("step " + step, x(step), canvas.height - 6);
  }
}
function at(event) {
  const area = canvas.getBoundingClientRect();
  return [from + (event.clientX - area.left) / area.width * (to - from),
          (1 - (event.clientY - area.top) / area.height) * arena];
}
let drag = null;
canvas.onmousedown = event => { drag = at(event)[0]; };
window.onmouseup = () => { drag = null; };
canvas.onmousemove = event => {
  const [step, address] = at(event);
  if (drag !== null) {
    const move = drag - step;
    from += move;
    to += move;
    draw();
    return;
  }
  const hit = boxes.findLast(b => b[2] <= step && step < b[3] + 1 && b[4] <= address &&
                                  address < b[4] + b[5]);
  const node = nodes[Math.floor(step)] || "the end of the step";
  tip.style.display = "block";
  tip.style.left = Math.min(event.clientX + 14, innerWidth - 380) + "px";
  tip.style.top = event.clientY + 14 + "px";
  tip.textContent = (hit ? `${hit[0]}: ${kinds[hit[1]]}, ${bytes(hit[5])} at ${hit[4]}, steps ` +
    `${hit[2]} to ${hit[3]}; ` : "nothing here; ") + `step ${Math.floor(step)}: ${node}`;
};
canvas.onmouseleave = () => { tip.style.display = "none"; };
canvas.onwheel = event => {
  event.preventDefault();
  const step = at(event)[0], factor = event.deltaY > 0 ? 1.25 : 0.8;
  from = Math.max(0, step - (step - from) * factor);
  to = Math.min(steps, step + (to - step) * factor);
  if (to - from < 4) to = from + 4;
  draw();
};
canvas.ondblclick = () => { from = 0; to = steps; draw(); };
window.onresize = draw;
draw();
</script></body></html>
)";

// As a JSON string that can stand inside a page's script.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '<')
      result += "\\u003c";
    else if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      result += c;
  }
  return result + '"';
}

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

void replace_all(std::string& text, const std::string& mark, const std::string& with) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size()))
    text.replace(at, mark.size(), with);
}

struct Box {
  std::string name;
  int kind = 0, first = 0, last = 0;
  int64_t offset = 0, bytes = 0;
  bool inside = false;  // Of another box, whose bytes it shares.
};

// All lanes hold the same at the same time: it is drawn in the first.
Box in_first_lane(const Problem& problem, const PlanStage& stage, const Buffer& buffer) {
  const ProblemValue& value = problem.values[buffer.value];
  return {value.name + " (first lane)",
          static_cast<int>(value.kind),
          buffer.first_step,
          buffer.last_step,
          stage.lane_offset + buffer.offset,
          buffer.bytes,
          /*inside=*/true};
}

std::vector<Box> boxes_of(const Problem& problem, const Plan& plan) {
  const int steps = static_cast<int>(plan.steps.size());
  std::vector<int> stage_of(steps);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    for (int t = plan.stages[s].first_step; t < plan.stages[s].last_step; ++t)
      stage_of[t] = static_cast<int>(s);
  }
  const auto stage_at = [&](int step) -> const PlanStage& { return plan.stages[stage_of[step]]; };
  std::vector<Box> boxes;
  for (const PlanStage& stage : plan.stages) {
    if (stage.parts == 1 || stage.lane_bytes == 0) continue;
    boxes.push_back({fmt::format("{} lanes of {} parts", stage.lanes, stage.parts), kLanes,
                     stage.first_step, stage.last_step - 1, stage.lane_offset,
                     stage.lanes * stage.lane_bytes});
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.bytes == 0) continue;
    if (buffer.local) {
      boxes.push_back(in_first_lane(problem, stage_at(buffer.first_step), buffer));
      continue;
    }
    int first = buffer.first_step, last = std::min(buffer.last_step, steps - 1);
    if (stage_at(first).parts > 1) first = stage_at(first).first_step;
    if (stage_at(last).parts > 1) last = stage_at(last).last_step - 1;
    const ProblemValue& value = problem.values[buffer.value];
    boxes.push_back(
        {value.name, static_cast<int>(value.kind), first, last, buffer.offset, buffer.bytes});
  }
  for (int t = 0; t < steps; ++t) {
    const ProblemNode& node = problem.nodes[plan.steps[t].node];
    if (node.scratch_bytes == 0 || stage_at(t).parts > 1) continue;
    boxes.push_back(
        {node.name + " scratch", kScratch, t, t, plan.steps[t].scratch_offset, node.scratch_bytes});
  }
  return boxes;
}

int peak_step(const std::vector<Box>& boxes, int steps) {
  std::vector<int64_t> change(steps + 1, 0);
  for (const Box& box : boxes) {
    if (box.inside) continue;
    change[box.first] += box.bytes;
    change[box.last + 1] -= box.bytes;
  }
  int64_t live = 0, most = -1;
  int peak = 0;
  for (int t = 0; t < steps; ++t) {
    live += change[t];
    if (live <= most) continue;
    most = live;
    peak = t;
  }
  return peak;
}

template <typename List, typename Text>
std::string json_list(const List& list, const Text& text) {
  std::string result = "[";
  for (const auto& item : list) result += (result.size() > 1 ? ",\n" : "") + text(item);
  return result + "]";
}

}  // namespace

std::string memory_map_html(const Problem& problem, const Plan& plan, const std::string& title) {
  const std::vector<Box> boxes = plan.steps.empty() ? std::vector<Box>() : boxes_of(problem, plan);
  const int steps = static_cast<int>(plan.steps.size());
  const int peak = peak_step(boxes, steps);
  std::string summary = fmt::format(
      "Arena {}, most bytes alive at one moment {}, {} beside the arena; {} steps, {} of them "
      "computed again.",
      bytes_text(plan.arena_bytes), bytes_text(plan.max_live_bytes),
      bytes_text(plan.persistent_bytes), steps,
      steps - std::min<int>(steps, static_cast<int>(problem.nodes.size())));
  if (steps > 0) {
    summary += fmt::format(" The peak (dashed) is at step {}: {}.", peak,
                           problem.nodes[plan.steps[peak].node].name);
  }
  std::string page = kPage;
  replace_all(page, "@SUMMARY@", escaped(summary));
  replace_all(page, "@KINDS@", json_list(kNames, [](const char* name) { return quoted(name); }));
  replace_all(page, "@STEPS@", std::to_string(std::max(1, steps)));
  replace_all(page, "@ARENA@", std::to_string(std::max<int64_t>(1, plan.arena_bytes)));
  replace_all(page, "@PEAK@", std::to_string(peak));
  replace_all(page, "@TITLE@", escaped(title));
  replace_all(page, "@NODES@", json_list(plan.steps, [&](const PlanStep& step) {
                return quoted(problem.nodes[step.node].name);
              }));
  replace_all(page, "@BOXES@", json_list(boxes, [](const Box& box) {
                return fmt::format("[{},{},{},{},{},{}]", quoted(box.name), box.kind, box.first,
                                   box.last, box.offset, box.bytes);
              }));
  return page;
}

}  // namespace snug
