"""Large model files in a memory cgroup: loading and saving one takes its weights, one array and 32 MiB.

usage: model_file_test.py SNUG [--mib 32] [--layers 8]

Makes a network of so many MiB of weights, then converts its file from .keras to .h5 and back, each time in a cgroup of
weights + the largest array + 32 MiB; the weights that come back must be the same bytes. The long form: --mib 400.
"""

import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import limits

MIB = 1 << 20
SKIPPED = 77  # As ctest is told.


def make_file(snug, folder, mib, layers):
    """A trained network of equal dense layers: its last.keras and the bytes of one array."""
    width = int((mib * MIB / 4 / layers) ** 0.5)
    (folder / "rows.csv").write_text("a,y\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(8)))
    hidden = "".join(f"  - dense: {{units: {width}}}\n" for _ in range(layers + 1))
    (folder / "run.yaml").write_text(
        "data: {train: rows.csv, label: y}\nmodel:\n" + hidden + "  - dense: {units: 3}\n"
        "fit: {loss: {sparse_categorical_crossentropy: {from_logits: true}}, optimizer: {sgd: {learning_rate: 1e-6}},\n"
        "      batch_size: 8, epochs: 1, checkpoint: false}\n")
    subprocess.run([snug, "fit", "run.yaml"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "runs" / "run" / "1" / "last.keras", width * width * 4


def weights_of(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("model.weights.h5")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snug", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--mib", type=int, default=32)
    parser.add_argument("--layers", type=int, default=8)
    args = parser.parse_args()
    try:
        group = limits.Cgroup()
    except OSError as error:
        print(f"left out: {error}")
        return SKIPPED
    with contextlib.closing(group), tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first, array = make_file(args.snug, folder, args.mib, args.layers)
        limit = first.stat().st_size + array + 32 * MIB
        failed = 0
        for source, target in ((first, folder / "b.h5"), (folder / "b.h5", folder / "c.keras")):
            result = group.run([args.snug, "convert", str(source), str(target)], limit, stdout=subprocess.DEVNULL)
            good = result.returncode == 0 and not result.killed
            failed += not good
            print(f"{source.name} -> {target.name}: {source.stat().st_size / MIB:.1f} MiB within {limit / MIB:.1f} MiB "
                  f"({group.name}): {'ok' if good else result}")
        if not failed and weights_of(first) != weights_of(folder / "c.keras"):
            failed += 1
            print("the weights that came back are others")
    return 1 if failed else 0


sys.exit(main())
