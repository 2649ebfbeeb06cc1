"""From the log of bench/train.py to figures and the table."""

import dataclasses
import json
import math
import statistics

from train_rows import ENTRANTS, PEERS, ROWS

DISTURBED = 0.06  # Cores that others used in a turn.
SAME_PEAK, SAME_CACHE = 0.05, 0.15  # How far the probe may stand from the row's median.
LEAST_TURNS = 3


@dataclasses.dataclass
class Figure:
    us: float = math.nan  # A step; the median of turns.
    turns: int = 0  # That it comes from.
    clean: bool = True  # Whether these were undisturbed and of one state.
    hwm_mib: float = 0
    first_step_s: float = math.nan
    data_mib: float = 0
    arena_mib: float = 0
    failed: str = ""


@dataclasses.dataclass
class RowSummary:
    figures: dict  # entrant -> Figure

    @property
    def best_peer(self):
        timed = [name for name in PEERS if name in self.figures and not math.isnan(self.figures[name].us)]
        return min(timed, key=lambda name: self.figures[name].us, default=None)

    @property
    def ratio(self):
        """How many times faster Snug is than the best peer."""
        snug = self.figures.get("snug", Figure())
        return self.figures[self.best_peer].us / snug.us if self.best_peer else math.nan

    @property
    def clean(self):
        return all(f.clean for n, f in self.figures.items() if n in ("snug", self.best_peer))


@dataclasses.dataclass
class Summary:
    rows: dict  # name -> RowSummary, in the table's order
    machine: dict
    versions: list
    turns: int
    clean_turns: int


def read_log(path):
    """The lines; a last one that was cut off when the run was broken off is left out."""
    lines = []
    for text in path.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def is_clean(turn, usual):
    near = lambda key, share: abs(turn[key] - usual[key]) <= share * usual[key]
    return turn["others"] < DISTURBED and near("gflops", SAME_PEAK) and near("l2_gbs", SAME_CACHE)


def figure(lines, usual):
    """Of one entrant at one row."""
    result = Figure()
    for line in lines:
        if line["event"] == "ready":
            result.first_step_s = min(line["first_step_s"], result.first_step_s, key=lambda s: (math.isnan(s), s))
            result.data_mib = line.get("data_mib", 0)
            result.arena_mib = line.get("arena_mib", 0)
        elif line["event"] == "failed":
            result.failed = line["why"]
    turns = [line for line in lines if line["event"] == "turn"]
    if not turns:
        return result
    result.failed = ""
    clean = [turn for turn in turns if is_clean(turn, usual)]
    result.clean = len(clean) >= min(LEAST_TURNS, len(turns))
    used = clean if result.clean else turns
    result.turns = len(used)
    result.us = statistics.median(statistics.median(turn["us"]) for turn in used)
    result.hwm_mib = max(turn["hwm_mib"] for turn in turns)
    return result


def row_summary(lines):
    turns = [line for line in lines if line["event"] == "turn"]
    usual = {key: statistics.median(turn[key] for turn in turns) for key in ("gflops", "l2_gbs")} if turns else {}
    figures = {name: figure([l for l in lines if l["entrant"] == name], usual)
               for name in ENTRANTS if any(l["entrant"] == name for l in lines)}
    return RowSummary(figures), sum(is_clean(turn, usual) for turn in turns), len(turns)


def summary(lines):
    rows, clean, all_turns = {}, 0, 0
    for name in ROWS:
        of_row = [line for line in lines if line.get("row") == name]
        if not of_row:
            continue
        rows[name], row_clean, row_turns = row_summary(of_row)
        clean, all_turns = clean + row_clean, all_turns + row_turns
    runs = [line for line in lines if line["event"] == "run"]
    versions = sorted({line["version"] for line in lines if "version" in line})
    return Summary(rows, runs[-1] if runs else {}, versions, all_turns, clean)


def time_text(us):
    """Three figures, in a unit that fits."""
    for unit, size in (("µs", 1), ("ms", 1e3), ("s", 1e6)):
        value = us / size
        if value < 999.5 or unit == "s":
            return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def time_cell(figure_, bold=False):
    if figure_ is None:
        return "–"
    if math.isnan(figure_.us):
        return "failed" if figure_.failed else "–"
    text = ("" if figure_.clean else "~") + time_text(figure_.us)
    return f"**{text}**" if bold else text


def ratio_text(row):
    return "–" if math.isnan(row.ratio) else f"{'' if row.clean else '~'}{row.ratio:.2f} ×"


def row_line(summary_, name):
    """One row for the terminal."""
    row = summary_.rows[name]
    parts = [f"{ENTRANTS[n].title} {time_cell(f)}" for n, f in row.figures.items()]
    return f"{name}: {', '.join(parts)}; Snug against the best peer {ratio_text(row)}, goal {ROWS[name].goal} ×"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def entrants_of(summary_):
    return [name for name in ENTRANTS if any(name in row.figures for row in summary_.rows.values())]


def time_table(summary_):
    names = entrants_of(summary_)
    rows = []
    for name, row in summary_.rows.items():
        cells = [time_cell(row.figures.get(n), n == row.best_peer) for n in names]
        unit = "" if ROWS[name].unit == "step" else f" (a {ROWS[name].unit})"
        rows.append([f"{name} {ROWS[name].title}{unit}", *cells, ratio_text(row), f"{ROWS[name].goal:g} ×"])
    return table(["", *(ENTRANTS[n].title for n in names), "Snug is faster by", "goal"], rows)


def memory_table(summary_):
    names = entrants_of(summary_)
    rows = []
    for name, row in summary_.rows.items():
        snug = row.figures.get("snug", Figure())
        cells = [f"{row.figures[n].hwm_mib:,.0f}" if n in row.figures and row.figures[n].turns else "–" for n in names]
        rows.append([name, *cells, f"{snug.data_mib:,.0f}", f"{snug.arena_mib:,.1f}"])
    return table(["", *(ENTRANTS[n].title for n in names), "of it rows held", "Snug's arena"], rows)


def first_step_table(summary_):
    names = entrants_of(summary_)
    rows = []
    for name, row in summary_.rows.items():
        seconds = {n: f.first_step_s for n, f in row.figures.items() if not math.isnan(f.first_step_s)}
        goal = ROWS[name].first_step_goal
        rows.append([name, *(f"{seconds[n]:.2f}" if n in seconds else "–" for n in names), f"{goal:g}" if goal else ""])
    return table(["", *(ENTRANTS[n].title for n in names), "goal"], rows)


def failures(summary_):
    lines = [f"- {name}, {ENTRANTS[n].title}: {f.failed}" for name, row in summary_.rows.items()
             for n, f in row.figures.items() if f.failed]
    return "\n## What failed\n\n" + "\n".join(lines) + "\n" if lines else ""


def markdown(summary_):
    machine = summary_.machine
    return f"""# Training speed and memory, against the peers

Written by `bench/train.py` ({machine.get("date", "")}, commit {machine.get("commit", "")}); the log beside it holds every turn. Machine: \
{machine.get("cpu", "")}, {machine.get("cores", "")} cores; every entrant with {machine.get("threads", "")} threads. Peers: \
{"; ".join(summary_.versions)}.

All entrants of a row ran in one run, turn by turn; a figure is the median of its turns. {summary_.clean_turns} of {summary_.turns} turns were
undisturbed and found the machine in its usual state; a ~ marks what had to be taken from others, and is worth little.

![Time a step](train.svg)

## Time a step

The best peer is bold. "Tuned": fused optimizer, channels-last, glibc told to keep its heap; "compiled" is tuned and compiled.

{time_table(summary_)}

## Peak resident memory, MiB

VmHWM of the whole process, with imports and the rows held.

{memory_table(summary_)}

## First step, seconds

From the start of the process to the end of step 1, imports and compilation included, drawing the rows left out.

{first_step_table(summary_)}
{failures(summary_)}"""
