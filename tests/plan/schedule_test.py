#!/usr/bin/env python3
"""bench/plan_problem as others meet it: random problem files, every schedule replayed by
check_schedule.py, every printed number compared with the replay; and broken files.

usage: schedule_test.py PLAN_PROBLEM [--problems N] [--nets NAME,...]
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import check_schedule

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from make_problems import NETS  # noqa: E402


def value(out, size, constant=0, pinned=0, release=-1):
    out.append([size, constant, pinned, release])
    return len(out) - 1


def random_step(dice, layers):
    """A forward chain with skips, and its backward pass."""
    values, nodes = [], []
    big = dice.choice((8, 1000, 10**9))
    made = [value(values, dice.randint(1, big), 1, 0, dice.choice((-1, 0)))]
    forward = []
    for _ in range(layers):
        reads = [made[-1]]
        if len(made) > 3 and dice.random() < 0.3:
            reads.append(made[dice.randrange(1, len(made) - 1)])
        made.append(value(values, dice.randint(0, big)))
        forward.append((reads, made[-1]))
        nodes.append((dice.randint(0, 100), reads, [made[-1]]))
    gradient = {made[-1]: value(values, values[made[-1]][0])}
    nodes.append((1, [made[-1]], [gradient[made[-1]]]))
    for reads, out in reversed(forward):
        dw = value(values, dice.randint(1, max(1, big // 20)), 0, dice.randint(0, 1))
        nodes.append((dice.randint(1, 50), [reads[0], gradient[out]], [dw]))
        for v in reads:
            if v == made[0]:
                continue
            dx = value(values, values[v][0])
            nodes.append((dice.randint(1, 100), [gradient[out], v], [dx]))
            if v in gradient:
                total = value(values, values[v][0])
                nodes.append((1, [gradient[v], dx], [total]))
                dx = total
            gradient[v] = dx
    return values, nodes


def random_graph(dice, count):
    values, nodes, made = [], [], []
    for _ in range(dice.randint(0, 4)):
        made.append(value(values, dice.randint(0, 300), 1, dice.randint(0, 1),
                          dice.choice((-1, 0, 3))))
    for _ in range(count):
        reads = [dice.choice(made[-dice.choice((3, 50)):]) for _ in range(dice.randint(0, 3)) if made]
        outs = [value(values, dice.choice((0, 1, 7, 64, dice.randint(0, 5000))), 0,
                      int(dice.random() < 0.1)) for _ in range(dice.choice((0, 1, 1, 1, 2, 3)))]
        made += outs
        nodes.append((dice.choice((0, 1, 2.5, dice.randint(0, 1000))), reads, outs))
    return values, nodes


def write(path, problem):
    values, nodes = problem
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{len(nodes)} {len(values)}\n")
        for row in values:
            file.write(" ".join(map(str, row)) + "\n")
        for cost, reads, outs in nodes:
            words = [cost, len(reads), *reads, len(outs), *outs]
            file.write(" ".join(map(str, words)) + "\n")


def run(program, path, budget, schedule):
    done = subprocess.run([program, path, "--budget", str(budget), "--schedule", schedule],
                          capture_output=True, text=True)
    assert done.returncode in (0, 3), (path, budget, done.returncode, done.stderr)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def check(program, path, problem, budget, schedule):
    printed = run(program, path, budget, schedule)
    if printed["feasible"] != "yes":
        return printed
    with open(schedule, encoding="ascii") as file:
        peak, arena, ns = check_schedule.check(check_schedule.Problem(path), file.readlines(), budget)
    base = max(1e-9, sum(cost for cost, _, _ in problem[1]))
    assert printed["validated"] == "yes", path
    assert peak == int(printed["peak bytes"]), (path, budget, peak, printed)
    assert arena == int(printed["arena bytes"]), (path, budget, arena, printed)
    assert abs(ns / base - float(printed["factor"])) < 1e-5 or base < 1e-6, (path, budget, ns, printed)
    assert float(printed["factor"]) >= float(printed["lower bound"]) - 2e-6 or base < 1e-6, printed
    assert peak >= int(printed["least peak bound"]), (path, budget, printed)
    return printed


def refuses(problem, lines):
    try:
        check_schedule.check(problem, lines)
    except check_schedule.Wrong:
        return True
    return False


def check_the_checker(path, schedule):
    """A schedule without one of its lines, or with two values in one place, is not accepted."""
    problem = check_schedule.Problem(path)
    with open(schedule, encoding="ascii") as file:
        lines = file.readlines()
    for n, line in enumerate(lines):
        once = lines.count(line) == 1
        if line.startswith("place") or (line.startswith("run") and once):
            assert refuses(problem, lines[:n] + lines[n + 1:]), (path, n, line)
    sizes = [problem.bytes[int(line.split()[1])] if line.startswith("place") else 0 for line in lines]
    first = next((n for n, size in enumerate(sizes) if size), None)
    second = next((n for n, size in enumerate(sizes) if size and n > first), None) if sizes else None
    if second is None or any(line.startswith("drop") for line in lines[first:second]):
        return
    same = lines[second].split()[:2] + [lines[first].split()[2]]
    assert refuses(problem, lines[:second] + [" ".join(same)] + lines[second + 1:]), path


def random_problems(program, folder, count):
    found = asked = 0
    for seed in range(count):
        dice = random.Random(seed)
        problem = (random_step(dice, dice.randint(1, 25)) if seed % 2 else
                   random_graph(dice, dice.choice((0, 1, 2, 5, 30, 80))))
        path = os.path.join(folder, f"{seed}.problem")
        schedule = os.path.join(folder, f"{seed}.schedule")
        write(path, problem)
        free = check(program, path, problem, 2**60, schedule)
        assert free["feasible"] == "yes" and free["factor"] in ("1.000000", "0.000000"), (path, free)
        peak, floor = int(free["unconstrained peak"]), int(free["floor"])
        for share in (0.5, 0.2, 0.0):
            asked += 1
            result = check(program, path, problem, int(floor + share * (peak - floor)), schedule)
            found += result["feasible"] == "yes"
            if result["feasible"] == "yes" and seed < 10:
                check_the_checker(path, schedule)
        below = int(free["least peak bound"]) - 1
        if below >= 0:
            assert run(program, path, below, schedule)["feasible"] == "no", (path, below)
    print(f"{count} problems, {found} of {asked} budgets met, every schedule replayed")


def nets(program, folder, names):
    """Steps of nets with what the programs of others have too."""
    for seed, name in enumerate(names):
        step = NETS[name](1).roughen(seed)
        path, schedule = os.path.join(folder, f"{name}.problem"), os.path.join(folder, "schedule")
        step.write(path)
        problem = [], [(float(f"{cost:.0f}"), ins, outs) for cost, ins, outs in step.nodes]
        peak = int(check(program, path, problem, 2**60, schedule)["unconstrained peak"])
        for share in (0.9, 0.7):
            result = check(program, path, problem, int(share * peak), schedule)
            assert result["feasible"] == "yes", (path, share, result)
    print(f"{len(names)} nets, every schedule replayed")


def broken_files(program, folder):
    path = os.path.join(folder, "broken.problem")
    for text, says in (("", "ends too early"), ("1", "expected the number of values"),
                       ("x y\n", "expected the number of nodes"), ("-1 0\n", "negative"),
                       ("1 1\n8 0 0 -1\n1 0 1 5\n", "no value 5"), ("1 1\n8 0 0 -1\n", "too early"),
                       ("0 1\n99999999999999999999 0 0 0\n", "expected bytes"),
                       ("0 1\n9223372036854775807 0 0 0\n", "more than"),
                       ("1 1\n8 0 0 -1\n1e400 0 1 0\n", "expected cost_ns"),
                       ("99999999999 1\n8 0 0 -1\n", "too early")):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        done = subprocess.run([program, path, "--budget", "100"], capture_output=True, text=True)
        assert done.returncode == 2 and says in done.stderr, (text, done.returncode, done.stderr)
    write(path, ([], []))
    for arguments in ([path], [path, "--budget", "many"], ["--budget", "5"], [path, "--what"]):
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr, (arguments, done.returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--nets", default="vgg16,mobilenet,unet,gpt")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        random_problems(arguments.program, folder, arguments.problems)
        nets(arguments.program, folder, arguments.nets.split(","))
        broken_files(arguments.program, folder)


if __name__ == "__main__":
    main()
