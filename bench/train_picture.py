"""The figures of bench/train.py as a picture: a panel of bars for each row, plain SVG."""

import html
import math

from train_report import ratio_text, time_cell
from train_rows import ENTRANTS, ROWS

COLUMNS, PANEL_WIDTH, GAP = 3, 380, 26
BAR, BAR_GAP, HEAD = 16, 5, 44
NAME_WIDTH, VALUE_WIDTH = 112, 64
LEFT, TOP, BOTTOM = 24, 84, 24
INK, QUIET, SNUG, PEER, BEST = "#1c1f24", "#6a717c", "#d9480f", "#b9c2cf", "#5c7ea8"


def text(x, y, words, size=12, fill=INK, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(words)}</text>')


def bar(x, y, width, fill):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1.5):.1f}" height="{BAR}" rx="2" fill="{fill}"/>'


def panel_height(row):
    return HEAD + len(row.figures) * (BAR + BAR_GAP)


def panel(name, row, x, y):
    """One row: a bar for each entrant, as long as its time."""
    title, unit = ROWS[name].title, ROWS[name].unit
    parts = [text(x, y + 14, f"{name}  {title}" if not title.startswith("W") else title, 13, weight="bold"),
             text(x, y + 31, f"time a {unit}; Snug is faster by {ratio_text(row)}", 11, QUIET)]
    longest = max((f.us for f in row.figures.values() if not math.isnan(f.us)), default=1)
    room = PANEL_WIDTH - NAME_WIDTH - VALUE_WIDTH
    y += HEAD
    for entrant, figure in row.figures.items():
        fill = SNUG if entrant == "snug" else BEST if entrant == row.best_peer else PEER
        width = 0 if math.isnan(figure.us) else room * figure.us / longest
        strong = "bold" if entrant == "snug" else "normal"
        middle = y + BAR - 4
        parts += [text(x + NAME_WIDTH - 8, middle, ENTRANTS[entrant].title, 11, anchor="end", weight=strong),
                  bar(x + NAME_WIDTH, y, width, fill),
                  text(x + NAME_WIDTH + width + 6, middle, time_cell(figure), 11, weight=strong)]
        y += BAR + BAR_GAP
    return parts


def legend(x, y):
    parts = []
    for fill, words, width in ((SNUG, "Snug", 70), (BEST, "the best peer", 120), (PEER, "other peers", 0)):
        parts += [bar(x, y - 12, 16, fill), text(x + 22, y, words, 12, QUIET)]
        x += 22 + width
    return parts


def svg(summary):
    names = list(summary.rows)
    parts, y = [], TOP
    for first in range(0, len(names), COLUMNS):
        line = names[first:first + COLUMNS]
        for column, name in enumerate(line):
            parts += panel(name, summary.rows[name], LEFT + column * (PANEL_WIDTH + GAP), y)
        y += max(panel_height(summary.rows[name]) for name in line) + GAP
    width = 2 * LEFT + COLUMNS * PANEL_WIDTH + (COLUMNS - 1) * GAP
    machine = summary.machine
    caption = (f"{machine.get('cpu', '')}, {machine.get('threads', '')} threads, {machine.get('date', '')}. "
               f"Shorter is better; each panel has its own scale. ~: the machine was disturbed.")
    head = [text(LEFT, 32, "Training: time a step, in one run on one machine", 19, weight="bold"),
            text(LEFT, 54, caption, 12, QUIET), *legend(width - 360, 32)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y - GAP + BOTTOM}" '
        f'viewBox="0 0 {width} {y - GAP + BOTTOM}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>', *head, *parts, "</svg>", ""])
