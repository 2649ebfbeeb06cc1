"""Kills `snug fit` with SIGKILL at random moments, saves included, and resumes it until it ends: the result must be that
of a run that nobody disturbed, bit for bit, and its logs neither doubled nor holed.

usage: kill_test.py SNUG [--kills N] [--state FILE]

20 kills by default, for CI. `--kills 1000 --state kills.json` is the long form; it writes down how far it is after every run
and goes on from there when it is started again.
"""

import argparse
import json
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

ROWS, FEATURES = 200, 6
# Two runs in turns: one whose rate follows a schedule, one whose callbacks set it; the second on pictures, which are noisy
# and dropped in another place each time, and saved in place.
RUN_FILES = ["""\
data: {train: {x: x.npy, y: y.npy}}
model:
  - dense: {units: 16, activation: relu}
  - batch_normalization
  - gaussian_noise: 0.1
  - dropout: 0.3
  - dense: 1
fit:
  loss: mse
  optimizer: {adam: {learning_rate: {cosine_decay: {initial_learning_rate: 0.01, decay_steps: 300}}}}
  metrics: [mae]
  batch_size: 8
  epochs: 8
  validation_split: 0.2
  seed: 7
  verbose: 0
  threads: 2
  callbacks: [{early_stopping: {patience: 6, restore_best_weights: true}}, {csv_logger: {filename: log.csv}}]
  checkpoint: {every_steps: 1, every_seconds: 0, best: val_loss}
""", """\
data: {train: {x: x.npy, y: y.npy}}
model:
  - reshape: [3, 2, 1]
  - random_flip
  - random_translation: {height_factor: 0.3, width_factor: 0.3}
  - conv2d: {filters: 6, kernel_size: 2, padding: same, use_bias: false}
  - batch_normalization
  - relu
  - spatial_dropout2d: 0.2
  - flatten
  - gaussian_noise: 0.1
  - dense: 1
fit:
  loss: mae
  optimizer: {adam: {learning_rate: 0.02, clipnorm: 1, use_ema: true, ema_overwrite_frequency: 30}}
  metrics: [mse]
  batch_size: 7
  epochs: 6
  validation_split: 0.25
  seed: 11
  verbose: 0
  threads: 2
  guard: {policy: rollback, rollback_steps: 5}
  callbacks:
    - early_stopping: {patience: 3, restore_best_weights: true}
    - reduce_lr_on_plateau: {patience: 1, factor: 0.5, min_delta: 0.05}
    - csv_logger: {filename: log.csv}
    - model_checkpoint: {filepath: kept.keras, save_best_only: true}
    - tensor_board: {log_dir: events}
  checkpoint: {every_steps: 2, every_seconds: 0, best: val_loss, beside: false}
"""]


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    body = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body)


def make_folder(folder, kind):
    draw = random.Random(1)
    x = [draw.gauss(0, 1) for _ in range(ROWS * FEATURES)]
    y = [sum(x[i * FEATURES:(i + 1) * FEATURES]) + draw.gauss(0, 0.1) for i in range(ROWS)]
    write_npy(folder / "x.npy", (ROWS, FEATURES), x)
    write_npy(folder / "y.npy", (ROWS,), y)
    (folder / "run.yaml").write_text(RUN_FILES[kind])


def sections(path):
    """The sections of a checkpoint by name: docs/checkpoint_format.md."""
    data = path.read_bytes()
    assert data[:8] == b"SNUGCKPT", path
    count = struct.unpack_from("<I", data, 12)[0]
    found = {}
    for i in range(count):
        name, offset, size = struct.unpack_from("<32sQQ", data, 32 + 64 * i)
        found[name.rstrip(b"\0").decode()] = data[offset:offset + size]
    return found


def is_bits(section):
    """Not the run file, which has the folder in it; nor what holds seconds or names of files: of RunWatch and TensorBoard."""
    return section != "run" and not section.startswith("callback.") or section in ("callback.0", "callback.1")


def result_of(folder):
    """What must not differ: the history, the logs, the models and the whole state at the end but for the seconds."""
    # One that is killed before its first checkpoint begins anew, as another run.
    *older, run = sorted((folder / "runs/run").iterdir(), key=lambda path: int(path.name))
    begun_anew = [path for one in older for path in one.glob("checkpoints/0*.ckpt")]
    assert not begun_anew, f"a later run did not go on from {begun_anew}"
    newest = sorted((run / "checkpoints").glob("0*.ckpt"))[-1]
    state = sections(newest)
    summary = json.loads((run / "summary.json").read_text())
    return {
        "state": {name: state[name] for name in state if is_bits(name)},
        "history": (run / "history.csv").read_text(),
        "log": (folder / "log.csv").read_text(),
        "steps": summary["steps"],
        "epochs": summary["epochs"],
        "metrics": summary["metrics"],
        "models": {path.name: weights_of(path) for path in [*run.glob("*.keras"), *folder.glob("*.keras")]},
        "events": events_of(folder),
    }


def weights_of(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("model.weights.h5")


def events_of(folder):
    """The number of whole records in the newest event files, which must be neither doubled nor holed; the rest are seconds. A run
    that is killed before its first checkpoint begins anew, with files of its own."""
    counts = []
    for kind in sorted((folder / "events").glob("*")):
        path = max(kind.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        data, at, records = path.read_bytes(), 0, 0
        while at < len(data):
            at += 16 + struct.unpack_from("<Q", data, at)[0]
            records += 1
        assert at == len(data), f"{path} ends in the middle of a record"
        counts.append((path.parent.name, records))
    return counts


def run_whole(snug, folder):
    result = subprocess.run([snug, "fit", "run.yaml"], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"kill_test: the run itself fails: {result.stderr}")


def run_killed(snug, folder, draw, seconds):
    """Runs until it ends by itself; returns how often it was killed."""
    kills = 0
    started = time.monotonic()
    while True:
        resumes = ["--resume"] if (folder / "runs/run/1").exists() else []
        with subprocess.Popen([snug, "fit", "run.yaml", *resumes], cwd=folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            # Each life is longer than a start takes, so that the run comes forward.
            try:
                process.wait(timeout=draw.uniform(0.1, 1.0) * seconds + 0.02 * kills * seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                continue
            if process.returncode != 0:
                sys.exit(f"kill_test: after {kills} kills: {process.stderr.read().decode()}")
        if time.monotonic() - started > 600:
            sys.exit("kill_test: the run does not come to its end")
        return kills


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("snug", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--state", type=pathlib.Path)
    arguments = parser.parse_args()
    snug = arguments.snug.resolve()
    done = {"kills": 0, "runs": 0}
    if arguments.state and arguments.state.exists():
        done = json.loads(arguments.state.read_text())
    wanted, seconds = [], []
    for kind in range(len(RUN_FILES)):
        with tempfile.TemporaryDirectory() as name:
            whole = pathlib.Path(name)
            make_folder(whole, kind)
            started = time.monotonic()
            run_whole(snug, whole)
            seconds.append(time.monotonic() - started)
            wanted.append(result_of(whole))
    while done["kills"] < arguments.kills:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            kind = done["runs"] % len(RUN_FILES)
            make_folder(folder, kind)
            kills = run_killed(snug, folder, random.Random(done["runs"]), seconds[kind])
            done["kills"] += kills
            done["runs"] += 1
            if kills == 0:  # Runs are shorter than the first one was, as on a machine that was busy then.
                seconds[kind] *= 0.7
            found = result_of(folder)
            for key, value in wanted[kind].items():
                if found[key] != value:
                    different = [k for k in value if found[key].get(k) != value[k]] if isinstance(value, dict) else ""
                    sys.exit(f"kill_test: run {done['runs']}: {key} {different} differs from the undisturbed run's")
        if arguments.state:
            arguments.state.write_text(json.dumps(done))
    print(f"{done['kills']} kills in {done['runs']} runs: every one ended with the same bits")


if __name__ == "__main__":
    main()
