"""The least budget that a refusal names works, and does not depend on the budget that was given.

usage: naming_test.py SNUG

A deep net on a large batch: its larger plans have larger kernels than its smaller ones, so that what is tried near a budget
says little of what would do. Nothing is run: `plan` is asked at budgets up to the one that was named first.
"""

import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile

from limits import OwnProgram
from run_files import Draw, floats, write_npy

LAYERS, UNITS, ROWS = 60, 256, 2048
SHARES = (0.94, 0.98)
NEAR = 0.035  # Chance is 1 % of a budget, and it is looked for to less than 1 %.


def write(folder):
    draw = Draw(1)
    write_npy(folder / "x.npy", (ROWS, UNITS), floats(draw, ROWS * UNITS, "f"), "<f4")
    write_npy(folder / "y.npy", (ROWS,), floats(draw, ROWS, "f"), "<f4")
    layers = "".join(f"  - dense: {{units: {UNITS}, activation: relu}}\n" for _ in range(LAYERS))
    fit = f"{{loss: mse, batch_size: {ROWS}, epochs: 1, optimizer: adam, spill: false}}"
    (folder / "run.yaml").write_text(f"data: {{x: x.npy, y: y.npy}}\nmodel:\n{layers}  - dense: 1\nfit: {fit}\n")


def named(snug, folder, mebibytes):
    """MiB; None where it fits."""
    done = subprocess.run([snug.path, "plan", "run.yaml", "--memory", f"{mebibytes:.2f}MiB"], cwd=folder, text=True,
                          capture_output=True, env={**snug.environment, "XDG_CACHE_HOME": str(folder)})
    if done.returncode == 0:
        return None
    found = re.search(r"it fits with --memory ([0-9.]+)MiB", done.stderr)
    if done.returncode != 3 or not found:
        sys.exit(f"at {mebibytes} MiB: exit {done.returncode}: {done.stderr}")
    return float(found[1])


def main():
    with (tempfile.TemporaryDirectory() as folder,
          contextlib.closing(OwnProgram(pathlib.Path(sys.argv[1]).resolve())) as snug):
        folder = pathlib.Path(folder)
        write(folder)
        least = named(snug, folder, 1)
        print(f"the least is {least} MiB", flush=True)
        if again := named(snug, folder, least):
            sys.exit(f"{least} MiB were named, and are refused: {again} MiB are named there")
        for share in SHARES:
            again = named(snug, folder, share * least)
            print(f"at {share} of it: {again or 'fits'}", flush=True)
            if again and abs(again / least - 1) > NEAR:
                sys.exit(f"{again} MiB are named at {share} of {least} MiB, which were named at 1 MiB")


if __name__ == "__main__":
    main()
