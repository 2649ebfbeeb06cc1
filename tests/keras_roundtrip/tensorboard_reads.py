"""TensorBoard's own reader on the event files of a run.

usage: tensorboard_reads.py SNUG           in an environment with tensorboard (PyPI)

Trains a small network for 6 epochs and holds what TensorBoard reads against the run's history.csv.
"""

import csv
import pathlib
import random
import subprocess
import sys
import tempfile

RUN = """data: {train: rows.csv, label: y}
model: [{dense: {units: 8, activation: relu}}, {dense: {units: 1, activation: sigmoid}}]
fit: {loss: binary_crossentropy, optimizer: adam, metrics: [accuracy], batch_size: 32, epochs: 6, validation_split: 0.2}
"""


def scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray
    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [float(make_ndarray(e.tensor_proto)) for e in events.Tensors(tag)]
            for tag in events.Tags()["tensors"] if tag != "keras"}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    snug = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder, draw = pathlib.Path(name), random.Random(1)
        rows = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(500)]
        text = "a,b,c,y\n" + "".join(f"{a:.4f},{b:.4f},{c:.4f},{int(a * b + c > 0)}\n" for a, b, c in rows)
        (folder / "rows.csv").write_text(text)
        (folder / "run.yaml").write_text(RUN)
        subprocess.run([snug, "fit", "run.yaml", "--memory", "64MiB"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        run = folder / "runs" / "run" / "1"
        with open(run / "history.csv") as file:
            history = list(csv.DictReader(file))
        failed = 0
        for part, prefix in (("train", ""), ("validation", "val_")):
            read = scalars(run / "events" / part)
            for metric in ("loss", "accuracy"):
                want = [float(row[prefix + metric]) for row in history]
                have = read["epoch_" + metric]
                same = len(have) == len(want) and all(abs(a - b) < 1e-6 for a, b in zip(have, want))
                failed += not same
                print(f"{part} epoch_{metric}: {'as in history.csv' if same else (have, want)}")
            print(f"{part}: {', '.join(sorted(read))}")
    return 1 if failed else 0


sys.exit(main())
