#!/usr/bin/env python3
"""Replays a schedule that bench/plan_problem wrote against the problem file, and nothing else.

usage: check_schedule.py PROBLEM SCHEDULE [--budget BYTES]

It shares no code with Snug. It holds the memory as a list of places and fails at the first line
that does not hold: a node that reads what is not there, two values in the same bytes, a constant
that is dropped though it stays, a place beyond the budget, a node that never runs, a pinned value
that is missing at the end. Prints the peak of the live bytes, the arena and the time.
"""

import argparse
import bisect
import sys


class Wrong(Exception):
    pass


class Problem:
    def __init__(self, path):
        with open(path, encoding="ascii") as file:
            rows = [line.split() for line in file if line.strip()]
        count, values = map(int, rows[0])
        self.bytes, self.constant, self.pinned, self.stays = [], [], [], []
        for row in rows[1:1 + values]:
            size, constant, pinned, release = map(int, row)
            self.bytes.append(size)
            self.constant.append(constant)
            self.stays.append(constant and release < 0)
            self.pinned.append(pinned or (constant and release < 0))
        self.nodes = []
        for row in rows[1 + values:1 + values + count]:
            inputs = int(row[1])
            self.nodes.append((float(row[0]), list(map(int, row[2:2 + inputs])),
                               list(map(int, row[3 + inputs:]))))


class Memory:
    """The live values by offset: neighbours must not overlap."""

    def __init__(self, problem, budget):
        self.problem, self.budget = problem, budget
        self.offset, self.order = {}, []
        self.live = self.peak = self.arena = 0

    def place(self, value, offset):
        size = self.problem.bytes[value]
        if value in self.offset:
            raise Wrong(f"value {value} is placed, but it is still there")
        if offset < 0 or (self.budget is not None and offset + size > self.budget):
            raise Wrong(f"value {value} is outside the budget")
        self.offset[value] = offset
        self.live += size
        self.peak = max(self.peak, self.live)
        self.arena = max(self.arena, offset + size)
        if size == 0:
            return
        at = bisect.bisect(self.order, (offset, value))
        if at > 0 and self.order[at - 1][0] + self.problem.bytes[self.order[at - 1][1]] > offset:
            raise Wrong(f"value {value} stands in the bytes of value {self.order[at - 1][1]}")
        if at < len(self.order) and offset + size > self.order[at][0]:
            raise Wrong(f"value {value} stands in the bytes of value {self.order[at][1]}")
        self.order.insert(at, (offset, value))

    def drop(self, value):
        if value not in self.offset:
            raise Wrong(f"value {value} is dropped, but it is not there")
        if self.problem.stays[value]:
            raise Wrong(f"value {value} is dropped, but it is a constant that stays")
        offset = self.offset.pop(value)
        self.live -= self.problem.bytes[value]
        if self.problem.bytes[value] > 0:
            self.order.pop(bisect.bisect_left(self.order, (offset, value)))


def check(problem, lines, budget=None):
    """Returns (peak, arena, ns). Raises Wrong."""
    memory = Memory(problem, budget)
    there = set()  # Placed and computed.
    ran, cost = set(), 0.0
    started = False
    for number, line in enumerate(lines, 1):
        word, *rest = line.split()
        numbers = list(map(int, rest))
        try:
            if word == "place":
                memory.place(*numbers)
                if problem.constant[numbers[0]]:
                    if started:
                        raise Wrong(f"constant {numbers[0]} comes back")
                    there.add(numbers[0])
            elif word == "drop":
                memory.drop(numbers[0])
                there.discard(numbers[0])
            elif word == "run":
                if not started:
                    given = {v for v, c in enumerate(problem.constant) if c}
                    if given - there:
                        raise Wrong(f"constants without a place: {sorted(given - there)}")
                started = True
                ns, inputs, outputs = problem.nodes[numbers[0]]
                missing = [v for v in inputs if v not in there]
                unplaced = [v for v in outputs if v not in memory.offset]
                if missing or unplaced:
                    raise Wrong(f"node {numbers[0]}: not there {missing}, without place {unplaced}")
                there.update(outputs)
                ran.add(numbers[0])
                cost += ns
            else:
                raise Wrong(f"'{word}' is no word of a schedule")
        except Wrong as wrong:
            raise Wrong(f"line {number}: {line.strip()}: {wrong}") from None
    if len(ran) != len(problem.nodes):
        raise Wrong(f"{len(problem.nodes) - len(ran)} nodes never run")
    lost = [v for v, pinned in enumerate(problem.pinned) if pinned and v not in there]
    if lost:
        raise Wrong(f"pinned values that are not there at the end: {lost}")
    return memory.peak, memory.arena, cost


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem")
    parser.add_argument("schedule")
    parser.add_argument("--budget", type=int)
    arguments = parser.parse_args()
    with open(arguments.schedule, encoding="ascii") as file:
        lines = file.readlines()
    try:
        peak, arena, ns = check(Problem(arguments.problem), lines, arguments.budget)
    except Wrong as wrong:
        sys.exit(f"{arguments.schedule}: {wrong}")
    print(f"peak bytes: {peak}\narena bytes: {arena}\nns: {ns:g}")


if __name__ == "__main__":
    main()
