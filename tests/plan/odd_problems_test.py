#!/usr/bin/env python3
"""bench/plan_problem on graphs as nobody's layers make them, at many budgets: never a crash, every
schedule replayed, and no budget is called impossible within which another one found a plan.

usage: odd_problems_test.py PLAN_PROBLEM [--scale N] [--only NAME,...]

--scale 100 is what issue 5 asks for: 50,000 nodes, a value with 5,000 readers. The slowest is
printed; nothing is asked of it here.
"""

import argparse
import os
import random
import tempfile

from schedule_test import check, value, write


class Made:
    def __init__(self):
        self.values, self.nodes = [], []

    def value(self, size, constant=0, pinned=0, release=-1):
        return value(self.values, size, constant, pinned, release)

    def node(self, cost, reads, *sizes, pinned=0):
        outs = [self.value(size, 0, pinned) for size in sizes]
        self.nodes.append((cost, reads, outs))
        return outs[0] if len(outs) == 1 else outs


def nothing(scale):
    """No node at all, but constants of both kinds."""
    made = Made()
    made.value(100, 1, 0, 0)
    made.value(50, 1, 1, -1)
    return made


def zeros(scale):
    """Values and times of nothing, nodes that make nothing, nodes that read nothing."""
    made, dice = Made(), random.Random(1)
    there = [made.node(0, [], 0), made.node(0, [], 10)]
    for i in range(30 * scale):
        reads = [dice.choice(there[-20:]) for _ in range(dice.randint(0, 3))]
        if i % 5 == 0:
            made.node(i % 2, reads)
        else:
            there.append(made.node(dice.choice((0, 0, 3)), reads, dice.choice((0, 0, 0, 1, 1000)),
                                   pinned=int(i % 17 == 0)))
    return made


def fan(scale):
    """One value with very many readers, whose results one node reads."""
    made = Made()
    x = made.value(1000, 1, 0, 0)
    wide = made.node(50, [x], 5000)
    leaves = [made.node(1 + i % 7, [wide], 10 + i % 90) for i in range(50 * scale)]
    made.node(5, leaves, 64)
    made.node(5, [wide, leaves[0]], 64, pinned=1)
    return made


def constants(scale):
    """Most of the memory is given, some of it for good; it is read from the last to the first."""
    made, dice = Made(), random.Random(2)
    given = [made.value(dice.randint(1, 2000), 1, int(i % 11 == 0), dice.choice((-1, 0, 5)))
             for i in range(10 * scale)]
    total = made.node(1, [], 100)
    for v in reversed(given):
        large = made.node(10, [v], 3000)
        total = made.node(2, [total, large], 100, pinned=int(v % 13 == 0))
    return made


def chain(scale):
    """A step of one very long chain."""
    made, dice = Made(), random.Random(3)
    up = [made.value(100, 1, 0, -1)]
    for _ in range(250 * scale):
        up.append(made.node(dice.randint(1, 50), [up[-1]], dice.randint(50, 150)))
    gradient = up[-1]
    for v in reversed(up[:-1]):
        gradient = made.node(dice.randint(1, 50), [gradient, v], dice.randint(50, 150))
    made.node(1, [gradient], 8, pinned=1)
    return made


def thread(scale):
    """A chain that nothing comes back to, with a reader of its beginning at its end."""
    made = Made()
    first = last = made.node(1, [], 100)
    for i in range(500 * scale):
        last = made.node(1, [last], 100)
    made.node(1, [first, last], 100, pinned=1)
    return made


def wide_nodes(scale):
    """Nodes with very many results, read one by one, the last first."""
    made = Made()
    for _ in range(3):
        outs = made.node(500, [], *[20 + i % 50 for i in range(10 * scale)])
        for v in reversed(outs):
            made.node(1, [v, outs[0]], 30, pinned=int(v % 50 == 0))
    return made


def islands(scale):
    """Very many pieces that have nothing to do with each other."""
    made = Made()
    ends = []
    for i in range(20 * scale):
        ends.append(made.node(5, [made.node(20, [made.node(3, [], 100)], 1000 + i % 100)], 10))
    made.node(1, ends[-1:], 1, pinned=1)
    return made


def tree(scale):
    """Leaves first, then pair by pair: the program's order keeps all of them."""
    made = Made()
    row = [made.node(10, [], 1000) for _ in range(20 * scale)]
    while len(row) > 1:
        row = [made.node(1, row[i:i + 2], 1000) for i in range(0, len(row), 2)]
    made.node(1, row, 8, pinned=1)
    return made


def grid(scale):
    """Each value is made from the one above it and the one to its left, and read again at the end."""
    made, dice = Made(), random.Random(4)
    side = int((40 * scale) ** 0.5)
    cells = {}
    for i in range(side):
        for j in range(side):
            reads = [cells[k] for k in ((i - 1, j), (i, j - 1)) if k in cells]
            cells[i, j] = made.node(dice.randint(1, 9), reads, dice.randint(90, 110))
    gradient = made.node(1, [cells[side - 1, side - 1]], 100)
    for key in sorted(cells, reverse=True):
        gradient = made.node(3, [gradient, cells[key]], 100)
    made.node(1, [gradient], 100, pinned=1)
    return made


def huge(scale):
    """Sizes near the most that a file may have, beside single bytes; the same time for all."""
    made = Made()
    up = [made.value(1, 1, 0, 0)]
    for i in range(5 * scale):
        up.append(made.node(1e15, [up[-1]], 2**53 // (8 * scale) if i % 3 else 1))
    for v in reversed(up[1:]):
        made.node(1e15, [v, up[1]], 1, pinned=1)
    return made


def all_pinned(scale):
    """Nothing may go, but it may be made again."""
    made, dice = Made(), random.Random(5)
    last = made.value(10, 1, 0, 0)
    for _ in range(30 * scale):
        scratch = made.node(1, [last], dice.randint(0, 3000))
        last = made.node(5, [last, scratch], dice.randint(0, 30), pinned=1)
    return made


KINDS = (nothing, zeros, fan, constants, chain, thread, wide_nodes, islands, tree, grid, huge, all_pinned)
SHARES = (0, 0.02, 0.1, 0.2, 0.5, 0.9)


def budgets_of(free):
    peak, floor, least = (int(free[k]) for k in ("unconstrained peak", "floor", "least peak bound"))
    between = {int(floor + share * (peak - floor)) for share in SHARES}
    return sorted(between | {0, max(0, least - 1), least, max(0, peak - 1), peak})


def try_kind(program, folder, kind, scale):
    made = kind(scale)
    problem = made.values, made.nodes
    path, schedule = os.path.join(folder, kind.__name__), os.path.join(folder, "schedule")
    write(path, problem)
    free = check(program, path, problem, 2**60, schedule)
    assert free["feasible"] == "yes", (kind.__name__, free)
    answers, slowest = {}, 0
    for budget in budgets_of(free):
        result = check(program, path, problem, budget, schedule)
        answers[budget] = result["feasible"]
        slowest = max(slowest, float(result["planning cpu seconds"]))
    found = [budget for budget, answer in answers.items() if answer == "yes"]
    denied = [budget for budget, answer in answers.items() if answer == "no"]
    assert not denied or max(denied) < min(found), (kind.__name__, answers)
    least = int(free["least peak bound"])
    assert all(budget in denied for budget in answers if budget < least), (kind.__name__, answers)
    print(f"{kind.__name__}: {len(made.nodes)} nodes, {len(found)} of {len(answers)} budgets met, "
          f"{len(denied)} impossible, slowest {slowest:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--scale", type=int, default=2)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else [kind.__name__ for kind in KINDS]
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            if kind.__name__ in wanted:
                try_kind(arguments.program, folder, kind, arguments.scale)


if __name__ == "__main__":
    main()
