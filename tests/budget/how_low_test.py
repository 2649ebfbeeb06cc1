"""How low a budget goes: large batches in little memory, each in a memory cgroup of exactly its budget.

usage: how_low_test.py SNUG MNIST [--rows N]
  SNUG    the program
  MNIST   the folder with the files of MNIST
  --rows  of the wide model's file (10000: one batch; a million is the seed's own size)

The wide model is that of seed 002, 1000-1000-1, in batches of 10,000 rows of 1,000 numbers: the rows of one batch alone
are 40 MB. It trains in 64 MiB, whole process. The network of examples/mnist.yaml in batches of 1,024 trains in 48 MiB.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import limits
from run_files import MIB, Draw, floats, write_npy

WIDE = """data: {train: {x: x.npy, y: y.npy}}
model:
  - dense: {units: 1000, activation: relu}
  - dense: {units: 1, activation: sigmoid}
fit: {loss: binary_crossentropy, optimizer: adam, metrics: [accuracy], batch_size: 10000, epochs: 1}
"""

DIGITS = """data: {train: {images: %s/train-images-idx3-ubyte.gz, labels: %s/train-labels-idx1-ubyte.gz}}
model:
  - rescaling: 1/255
  - conv2d: {filters: 16, kernel_size: 3, activation: relu}
  - max_pooling2d: 2
  - conv2d: {filters: 32, kernel_size: 3, activation: relu}
  - max_pooling2d: 2
  - flatten
  - dense: {units: 128, activation: relu}
  - dropout: 0.3
  - dense: {units: 10, activation: softmax}
fit: {loss: sparse_categorical_crossentropy, optimizer: adam, batch_size: 1024, steps_per_epoch: 3}
"""


def write_wide(folder, rows):
    draw = Draw(1)
    write_npy(folder / "x.npy", (rows, 1000), floats(draw, rows * 1000, "f"), "<f4")
    write_npy(folder / "y.npy", (rows,), b"".join((b"\0\0\0\0", b"\0\0\x80\x3f")[draw.maybe(0.3)] for _ in range(rows)), "<f4")
    (folder / "run.yaml").write_text(WIDE)


def fit(snug, limit, folder, budget):
    """What is wrong with the run; nothing if it held."""
    words = [str(snug), "fit", "run.yaml", "--json", "--memory", str(budget)]
    result = limit.run(words, budget, cwd=folder, capture_output=True, text=True, timeout=1200)
    if result.returncode != 0:
        return f"exit code {result.returncode}: {result.stderr.strip()[-500:]}"
    summary = json.loads(result.stdout)
    peak = summary["peak_resident_bytes"]
    print(f"  {summary['steps']} steps in {summary['seconds']:.1f} s, at most {peak / MIB:.1f} MiB of {budget / MIB:.0f}, "
          f"planned {summary['planned_bytes'] / MIB:.1f}", flush=True)
    # The system's own cache of the files is charged too, and given back when the limit is reached: no fault.
    if peak > budget or result.killed:
        return f"the budget did not hold: peak {peak}, killed {result.killed} times"
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("snug", type=pathlib.Path)
    parser.add_argument("mnist", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=10000)
    options = parser.parse_args()
    snug = options.snug.resolve()
    try:
        limit = limits.Cgroup()
    except OSError:
        limit = limits.Unlimited()
    print(f"held by {limit.name}", flush=True)
    wrong = []
    try:
        with tempfile.TemporaryDirectory() as name:
            print("1000-1000-1, batches of 10,000 rows", flush=True)
            write_wide(pathlib.Path(name), options.rows)
            wrong.append(fit(snug, limit, name, 64 * MIB))
        with tempfile.TemporaryDirectory() as name:
            print("digits, batches of 1,024 images", flush=True)
            mnist = options.mnist.resolve()
            (pathlib.Path(name) / "run.yaml").write_text(DIGITS % (mnist, mnist))
            wrong.append(fit(snug, limit, name, 48 * MIB))
    finally:
        limit.close()
    for text in filter(None, wrong):
        print(text)
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
