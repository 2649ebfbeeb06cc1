#!/usr/bin/env python3
"""Reading data: Snug against tf.data, pandas' C parser and pyarrow, turn by turn in one run, 2 threads each, files in
the page cache.

usage: bench/data.py [--rows npy,csv,tfrecord,jpeg,W1,W2,W3,W4,W5,W6] [--rounds 5] [--scale 1.0] [--folder FOLDER]
                     [--bench build/bench/data_bench] [--peers VENV] [--real-time]

For each row: the median seconds of a turn, and the ratio of the peer's to Snug's (above 1: Snug is faster). W1 to W6 are
training epochs from .npy files, shuffled, against the same on arrays in memory: there the ratio is arrays / files. The
machine must be idle: the ratio of each round is taken from neighbouring turns, and the median of these is printed with
the least and the greatest.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOALS = {
    ("npy", "tfdata-npy"): 3,
    ("csv", "pandas"): 3,
    ("csv", "pyarrow"): 1,
    ("tfrecord", "tfdata-tfrecord"): 1.5,
    ("jpeg", "tfdata-jpeg"): 1.2,
    ("W1", "arrays"): 0.8,
    **{(f"W{i}", "arrays"): 0.95 for i in range(2, 7)},
}
BATCH, WIDTH, COLUMNS, SIZE = "256", 128, 20, 224


def make_npy(folder, scale, python):
    rows = int(200_000 * scale)
    script = (
        "import numpy as np, sys; r = np.random.default_rng(1); n = int(sys.argv[1]);"
        f"np.save(sys.argv[2], r.random((n, {WIDTH}), dtype=np.float32));"
        "np.save(sys.argv[3], r.integers(0, 10, n).astype(np.int32))"
    )
    x, y = folder / f"x-{rows}.npy", folder / f"y-{rows}.npy"
    if not y.exists():
        subprocess.run([python, "-c", script, str(rows), x, y], check=True)
    return [str(x), str(y)]


def make_csv(folder, scale, python):
    """Numbers as people write them: four to six digits, some whole."""
    rows = int(500_000 * scale)
    path = folder / f"rows-{rows}.csv"
    script = (
        "import numpy as np, sys; r = np.random.default_rng(2); n = int(sys.argv[1]);\n"
        "f = open(sys.argv[2] + '.tmp', 'w'); f.write(','.join(f'c{i}' for i in range(%d)) + ',label\\n')\n"
        "for at in range(0, n, 10000):\n"
        "  a = np.round(r.normal(0, 100, (10000, %d)), 3); y = r.integers(0, 2, 10000)\n"
        "  f.write(''.join(','.join(map(repr, row)) + f',{k}\\n' for row, k in zip(a.tolist(), y.tolist())))\n"
        "f.close(); import os; os.rename(sys.argv[2] + '.tmp', sys.argv[2])" % (COLUMNS, COLUMNS)
    )
    if not path.exists():
        subprocess.run([python, "-c", script, str(rows), str(path)], check=True)
    return str(path)


def make_records(folder, scale, python):
    """By TensorFlow itself."""
    rows = int(100_000 * scale)
    path = folder / f"rows-{rows}.tfrecord"
    script = (
        "import sys, numpy as np, tensorflow as tf\n"
        "r = np.random.default_rng(3); T = tf.train\n"
        "with tf.io.TFRecordWriter(sys.argv[2] + '.tmp') as w:\n"
        "  for i in range(int(sys.argv[1])):\n"
        "    x = T.Feature(float_list=T.FloatList(value=r.random(%d, dtype=np.float32)))\n"
        "    y = T.Feature(int64_list=T.Int64List(value=[i %% 10]))\n"
        "    w.write(T.Example(features=T.Features(feature={'x': x, 'y': y})).SerializeToString())\n"
        "import os; os.rename(sys.argv[2] + '.tmp', sys.argv[2])" % WIDTH
    )
    if not path.exists():
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        subprocess.run([python, "-c", script, str(rows), str(path)], check=True, env=environment)
    return str(path)


def make_pictures(folder, scale, python):
    """Smooth shapes with some noise, 500 x 375, in two classes: about 40 KB each, as photographs have."""
    count = int(600 * scale)
    path = folder / f"pictures-{count}"
    script = (
        "import sys, os, numpy as np, tensorflow as tf\n"
        "r = np.random.default_rng(4); n = int(sys.argv[1]); y, x = np.mgrid[0:375, 0:500] / 100.0\n"
        "for k in range(2): os.makedirs(f'{sys.argv[2]}.tmp/{k}')\n"
        "for i in range(n):\n"
        "  a = r.normal(0, 2, (6, 3)); p = [np.sin(a[0] * x[..., None] + a[1] * y[..., None] + a[2])]\n"
        "  p += [np.cos(a[3] * x[..., None] * y[..., None] + a[4]), r.normal(0, 0.12, (375, 500, 3))]\n"
        "  v = np.clip(128 + 50 * sum(p), 0, 255).astype(np.uint8)\n"
        "  tf.io.write_file(f'{sys.argv[2]}.tmp/{i % 2}/{i}.jpg', tf.io.encode_jpeg(v, quality=85))\n"
        "os.rename(sys.argv[2] + '.tmp', sys.argv[2])"
    )
    if not path.exists():
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        subprocess.run([python, "-c", script, str(count), str(path)], check=True, env=environment)
    return str(path)


class Runner:
    before = []  # What the command is called by.

    def __init__(self, command):
        self.process = subprocess.Popen(
            [str(part) for part in [*Runner.before, *command]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def turn(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} ended with {self.process.wait()}")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def report(row, peer, own, others):
    ratios = sorted(b / a for a, b in zip(own, others))
    goal = GOALS.get((row, peer))
    print(
        f"{row:9} {peer:16} snug {statistics.median(own):9.4f} s  {statistics.median(others):9.4f} s"
        f"  ratio {statistics.median(ratios):6.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        + (f"  goal {goal}" if goal else ""),
        flush=True,
    )


def compare(row, own_command, peers, rounds):
    own = Runner(own_command)
    others = {name: Runner(command) for name, command in peers.items()}
    own.turn()
    for other in others.values():
        other.turn()
    times = {name: ([], []) for name in others}
    for _ in range(rounds):
        for name, other in others.items():
            times[name][0].append(own.turn()["seconds"])
            times[name][1].append(other.turn()["seconds"])
    for runner in [own, *others.values()]:
        runner.end()
    for name, (mine, theirs) in times.items():
        report(row, name, mine, theirs)


def stream(row, command, rounds):
    runner = Runner(command)
    turns = [runner.turn() for _ in range(rounds)]
    runner.end()
    for what in ("arrays", "borrowed"):
        report(row, what, [t["seconds"] for t in turns], [t[what] for t in turns])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="npy,csv,tfrecord,jpeg,W1,W2,W3,W4,W5,W6")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/snug-data-bench"))
    parser.add_argument("--bench", type=Path, default=ROOT / "build/bench/data_bench")
    parser.add_argument("--peers", default=os.environ.get("SNUG_PEERS", str(ROOT / "bench/.venv")))
    parser.add_argument("--real-time", action="store_true", help="on a machine that is not idle: before all others (root)")
    arguments = parser.parse_args()
    if arguments.real_time:
        Runner.before = ["chrt", "-f", "10"]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    python, peer = f"{arguments.peers}/bin/python", [f"{arguments.peers}/bin/python", ROOT / "bench/peers/run_data.py"]
    for row in arguments.rows.split(","):
        if row.startswith("W"):
            stream(row, [arguments.bench, "stream", arguments.folder, row], arguments.rounds)
        elif row == "npy":
            files = make_npy(arguments.folder, arguments.scale, python)
            compare(row, [arguments.bench, row, *files, BATCH], {"tfdata-npy": [*peer, "tfdata-npy", *files, BATCH]},
                    arguments.rounds)
        elif row == "csv":
            file = make_csv(arguments.folder, arguments.scale, python)
            compare(row, [arguments.bench, row, file, "label", BATCH],
                    {name: [*peer, name, file] for name in ("pandas", "pyarrow")}, arguments.rounds)
        elif row == "tfrecord":
            file = make_records(arguments.folder, arguments.scale, python)
            compare(row, [arguments.bench, row, file, WIDTH, BATCH],
                    {"tfdata-tfrecord": [*peer, "tfdata-tfrecord", file, WIDTH, BATCH]}, arguments.rounds)
        elif row == "jpeg":
            pictures = make_pictures(arguments.folder, arguments.scale, python)
            compare(row, [arguments.bench, row, pictures, SIZE, "32"],
                    {"tfdata-jpeg": [*peer, "tfdata-jpeg", pictures, SIZE, "32"]}, arguments.rounds)
        else:
            parser.error(f"there is no row {row}")


if __name__ == "__main__":
    main()
