"""Networks of a hundred layers and more, in memory cgroups of exactly their budgets: planning and compiling take memory, too.

usage: deep_test.py SNUG RESIDUAL_FILE [--nets NAME,...] [--shares NUMBER,...] [--jobs N]
  SNUG           the program
  RESIDUAL_FILE  the program that writes a network with branches
  --nets         some of them (all): conv, normal, dense, residual
  --shares       of the least budget, which are tried too (0.5,0.75,0.9,1.1,1.5,3)
  --jobs         so many networks at a time (1)

Of each the least budget that works is asked for. That and more must work; at less it is refused, and what it names there
must work too. `plan`, `evaluate` and `predict` keep to the same budgets. Nothing is killed, and no limit is reached.
"""

import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from budget_test import Test, named
from run_files import MIB, Draw, count_of, floats, write_npy

NETS = {
    "conv": ((12, 12, 3), 120 * ["conv2d: {filters: 8, kernel_size: 3, padding: same, activation: tanh}"] + ["flatten"]),
    "normal": ((64,), 150 * ["dense: 48", "batch_normalization", "activation: relu"]),
    "dense": ((64,), 300 * ["dense: {units: 64, activation: tanh}"]),
    "residual": ((16, 16, 3), None),
}
ROWS, BLOCKS = 64, 30


def write(folder, name, residual_file):
    shape, layers = NETS[name]
    draw = Draw(1)
    write_npy(folder / "x.npy", (ROWS, *shape), floats(draw, ROWS * count_of(shape), "f"), "<f4")
    write_npy(folder / "y.npy", (ROWS,), floats(draw, ROWS, "f"), "<f4")
    if layers:
        model = "\n" + "".join(f"  - {layer}\n" for layer in [*layers, "dense: 1"])
    else:
        subprocess.run([residual_file, folder / "first.keras", str(BLOCKS)], check=True)
        model = " first.keras\n"
    fit = "{loss: mse, batch_size: 32, epochs: 1, optimizer: {adam: {learning_rate: 1e-6}}}"
    (folder / "run.yaml").write_text(f"name: deep\ndata: {{train: {{x: x.npy, y: y.npy}}}}\nmodel:{model}fit: {fit}\n")


def wrong_with(test, folder, shares, name):
    """What is wrong with one network, line by line."""
    asked = test.fit(folder, 1 << 20, limit=1 << 40)
    if asked["exit"] != 3 or not named(asked["message"]):
        return [f"it names no budget: {asked}"]
    least = named(asked["message"])[1]
    print(f"{name}: the least is {least / MIB:.2f} MiB, named after {asked['seconds']} s", flush=True)
    wrong = test.works_as_named(folder, asked)
    for share in shares:
        budget = int(share * least) // 4096 * 4096
        for command in ("fit", "plan"):
            line = test.fit(folder, budget, command=command)
            print(f"{name}: {command} in {budget / MIB:.2f} MiB: {line['exit']} after {line['seconds']} s, "
                  f"peak {line.get('peak', 0) / MIB:.2f}, of the cgroup {line['cgroup_peak'] / MIB:.2f}", flush=True)
            wrong += [f"{command} within {budget} bytes: {what}" for what in line["wrong"]]
            if line["exit"] != 0 and share > 1:
                wrong.append(f"{command} is refused within {budget} bytes, though {least} were named: {line['message']}")
            if command == "fit":
                wrong += test.works_as_named(folder, line)
    return wrong + test.forward(folder, Draw(2))


def failures(test, name, residual_file, shares):
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), name, residual_file)
        wrong = wrong_with(test, pathlib.Path(folder), shares, name)
    for what in wrong:
        print(f"{name}: WRONG: {what}", flush=True)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("snug", type=pathlib.Path)
    parser.add_argument("residual_file", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--shares", default="0.5,0.75,0.9,1.1,1.5,3")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    shares = [float(share) for share in options.shares.split(",")]
    with contextlib.closing(Test(options.snug, options.jobs)) as test, ThreadPoolExecutor(options.jobs) as pool:
        print(f"held by {test.limits[0].name}", flush=True)
        tried = lambda name: failures(test, name, options.residual_file, shares)
        return 1 if sum(pool.map(tried, options.nets.split(","))) else 0


if __name__ == "__main__":
    sys.exit(main())
