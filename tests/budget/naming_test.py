"""The least budget that a refusal names works, and does not depend on the budget that was given; what is more is used.

usage: naming_test.py SNUG

A deep net on a large batch: its larger plans have larger kernels than its smaller ones, so that what is tried near a budget
says little of what would do. Nothing is run: `plan` is asked at budgets up to the one that was named first. And one of many
kernels, which are estimated before they are made: a little above its least it took the smallest plan, which is slow, and left the
rest of its budget unused.
"""

import contextlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from limits import OwnProgram
from run_files import Draw, count_of, floats, write_npy

DENSE = ((256,), 2048, 60 * ["dense: {units: 256, activation: relu}"])
CONVOLUTIONS = ((8, 8, 3), 128,
                80 * ["conv2d: {filters: 8, kernel_size: 3, padding: same}", "batch_normalization", "activation: relu"] + ["flatten"])
SHARES = (0.96,)
MORE, USED = 0.08, 0.25  # Of the budget, and how much of that is used at least.
NEAR = 0.035  # Chance is 1 % of a budget, and it is looked for to less than 1 %.


def write(folder, net):
    shape, rows, layers = net
    draw = Draw(1)
    write_npy(folder / "x.npy", (rows, *shape), floats(draw, rows * count_of(shape), "f"), "<f4")
    write_npy(folder / "y.npy", (rows,), floats(draw, rows, "f"), "<f4")
    model = "".join(f"  - {layer}\n" for layer in [*layers, "dense: 1"])
    fit = f"{{loss: mse, batch_size: {rows}, epochs: 1, optimizer: adam, spill: false}}"
    (folder / "run.yaml").write_text(f"data: {{x: x.npy, y: y.npy}}\nmodel:\n{model}fit: {fit}\n")


def plan(snug, folder, mebibytes):
    return subprocess.run([snug.path, "plan", "run.yaml", "--json", "--memory", f"{mebibytes:.2f}MiB"], cwd=folder, text=True,
                          capture_output=True, env={**snug.environment, "XDG_CACHE_HOME": str(folder)})


def named(snug, folder, mebibytes):
    """MiB; None where it fits."""
    done = plan(snug, folder, mebibytes)
    if done.returncode == 0:
        return None
    found = re.search(r"it fits with --memory ([0-9.]+)MiB", done.stderr)
    if done.returncode != 3 or not found:
        sys.exit(f"at {mebibytes} MiB: exit {done.returncode}: {done.stderr}")
    return float(found[1])


def name_the_same(snug, folder):
    write(folder, DENSE)
    least = named(snug, folder, 1)
    print(f"the least is {least} MiB", flush=True)
    if again := named(snug, folder, least):
        sys.exit(f"{least} MiB were named, and are refused: {again} MiB are named there")
    for share in SHARES:
        again = named(snug, folder, share * least)
        print(f"at {share} of it: {again or 'fits'}", flush=True)
        if again and abs(again / least - 1) > NEAR:
            sys.exit(f"{again} MiB are named at {share} of {least} MiB, which were named at 1 MiB")


def use_what_is_more(snug, folder):
    write(folder, CONVOLUTIONS)
    least = named(snug, folder, 1)
    budgets = [least, (1 + MORE) * least]
    arenas = [json.loads(plan(snug, folder, budget).stdout)["arena_bytes"] / (1 << 20) for budget in budgets]
    print(f"of {budgets[0]:.2f} MiB {arenas[0]:.2f} are arena, of {budgets[1]:.2f} {arenas[1]:.2f}", flush=True)
    if arenas[1] - arenas[0] < USED * MORE * least:
        sys.exit(f"of {budgets[1] - budgets[0]:.2f} MiB more {arenas[1] - arenas[0]:.2f} are used")


def main():
    for test in (name_the_same, use_what_is_more):
        with (tempfile.TemporaryDirectory() as folder,
              contextlib.closing(OwnProgram(pathlib.Path(sys.argv[1]).resolve())) as snug):
            test(snug, pathlib.Path(folder))


if __name__ == "__main__":
    main()
