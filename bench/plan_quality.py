#!/usr/bin/env python3
"""What bench/plan_problem makes of problem files at budgets between the floor and the peak.

usage: plan_quality.py PLAN_PROBLEM FILE ... [--shares 0.5,0.2] [--of floor|peak]

A share s is the budget floor + s (peak - floor), where the peak is that of the program without a
budget and the floor what one node needs with all that must live beside it; with --of peak it is
s times the peak. A line has the factor of the step time, the lower bound, their ratio, arena and
peak against the budget, and the seconds of processor time for the plan.
"""

import argparse
import os
import subprocess


def run(program, path, budget):
    done = subprocess.run([program, path, "--budget", str(budget)], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{path} at {budget}: exit {done.returncode}: {done.stderr.strip()}")
    return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)


def line(name, share, budget, result):
    text = f"{name:18} {share:5.2f} {budget:14d}"
    if result["feasible"] != "yes":
        return f"{text} {result['feasible']:>9} {'':35} {float(result['planning cpu seconds']):7.2f}"
    factor, bound = float(result["factor"]), float(result["lower bound"])
    return (f"{text} {factor:9.4f} {bound:8.4f} {factor / bound:8.4f} "
            f"{int(result['peak bytes']) / budget:8.4f} {int(result['arena bytes']) / budget:8.4f} "
            f"{float(result['planning cpu seconds']):7.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--shares", default="0.5,0.2")
    parser.add_argument("--of", choices=("floor", "peak"), default="floor")
    arguments = parser.parse_args()
    print(f"{'problem':18} {'share':>5} {'budget':>14} {'factor':>9} {'bound':>8} {'ratio':>8} "
          f"{'peak':>8} {'arena':>8} {'seconds':>7}")
    for path in arguments.files:
        free = run(arguments.program, path, 2**62)
        peak, floor = int(free["unconstrained peak"]), int(free["floor"])
        name = os.path.basename(path).removesuffix(".problem")
        print(line(name, 1, peak, free), flush=True)
        for share in map(float, arguments.shares.split(",")):
            low = floor if arguments.of == "floor" else 0
            budget = int(low + share * (peak - low))
            print(line(name, share, budget, run(arguments.program, path, budget)), flush=True)


if __name__ == "__main__":
    main()
