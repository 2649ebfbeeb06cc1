#!/usr/bin/env python3
"""Writes the seeds of tests/fuzz/corpus that no other test of the repository has as files.

usage: make_seeds.py [SNUG]     with the program snug, checkpoints as well
"""

import glob
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

CORPUS = pathlib.Path(__file__).parent / "corpus"
GOLDEN = pathlib.Path(__file__).parents[1] / "golden"


def add(fuzzer, name, content):
    folder = CORPUS / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def masked_crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(content):
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", masked_crc32c(length)) + content + struct.pack("<I", masked_crc32c(content))


def field(number, content):
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def example(**features):
    """A tf.train.Example of float lists, int64 lists and bytes."""
    entries = b""
    for key, value in features.items():
        if isinstance(value, bytes):
            kind = field(1, field(1, value))
        elif isinstance(value[0], float):
            kind = field(2, field(1, struct.pack(f"<{len(value)}f", *value)))
        else:
            kind = field(3, field(1, bytes(value)))
        entries += field(1, field(1, key.encode()) + field(2, kind))
    return field(1, entries)


def records():
    rows = [example(x=[1.0, 2.0]), example(x=[1, 2]), example(x=b"12345678"), example(y=[3], x=[0.5, -1.0])]
    add("tfrecord", "rows.tfrecord", b"".join(map(record, rows)))
    for number, row in enumerate(rows + [example(x=[0.0] * 8), example(x=[3] * 8)]):
        add("tfrecord", f"example_{number}", row)


def configs():
    for path in sorted(glob.glob(f"{GOLDEN}/fits/*/model.keras")):
        name = pathlib.Path(path).parent.name
        config = json.loads(zipfile.ZipFile(path).read("config.json"))
        add("config", f"{name}.json", json.dumps(config))
    add("config", "one_layer.json", json.dumps(one_layer()))
    texts = {"numbers": [0, -1, 1.5, 1e300, 12345678901234567890], "nested": {"a": [{"b": [[]]}], "": None},
             "text": "\u00e9\U0001f600\"\\\n", "words": [True, False, None]}
    for name, content in texts.items():
        add("json", f"{name}.json", json.dumps(content))


def one_layer():
    dense = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "relu"}}
    entry = {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 3], "name": "i"}}
    return {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [entry, dense]}}


RUN = """data: {train: {x: x.npy, y: y.npy}}
model: [{dense: 2}, batch_normalization, {dense: 1}]
fit: {loss: mse, optimizer: adam, epochs: 2, batch_size: 2, verbose: 0, checkpoint: {every_steps: 2, every_seconds: 0}}
"""

RUNS = {
    "layers.yaml": "model:\n  - input: [28, 28, 1]\n  - conv2d: {filters: 4, kernel_size: 3, activation: relu, padding: same}\n"
                   "  - max_pooling2d: 2\n  - batch_normalization\n  - flatten\n  - dropout: 0.5\n  - dense: {units: 10, activation: softmax}\n"
                   "fit: {loss: sparse_categorical_crossentropy, optimizer: {adam: {learning_rate: 1e-3}}, metrics: [accuracy]}\n",
    "csv.yaml": "name: adult\ndata: {train: {csv: a.csv, label: y}, on_bad_row: skip}\nmodel: [{dense: {units: 1}}]\n"
                "fit: {loss: mse, epochs: 3, callbacks: [{early_stopping: {patience: 2}}], guard: stop}\n",
    "anchors.yaml": "a: &a {x: [1, 2], y: 'q'}\nb: *a\nc: |\n  text\n  more\nd: >-\n  folded\ne: !!str 3\n",
}


def npy(shape, values, fortran=False):
    header = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


def archives():
    """Arrays in Fortran order, as they stand and deflated."""
    for name, how in (("plain.npz", zipfile.ZIP_STORED), ("packed.npz", zipfile.ZIP_DEFLATED)):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", how) as archive:
            for array, content in (("x.npy", npy((3, 2, 2), range(12), True)), ("y.npy", npy((3,), range(3)))):
                archive.writestr(zipfile.ZipInfo(array), content, how)
        add("npz", name, packed.getvalue())


def checkpoints(snug):
    """What a small run saves; `snug` is the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "x.npy").write_bytes(npy((4, 3), [0.1 * i for i in range(12)]))
        (path / "y.npy").write_bytes(npy((4,), [0.0, 1.0, 0.0, 1.0]))
        (path / "run.yaml").write_text(RUN)
        subprocess.run([snug, "fit", "run.yaml"], cwd=path, check=True, capture_output=True)
        for number, found in enumerate(sorted(path.rglob("*.ckpt"))):
            add("checkpoint", f"run_{number}.ckpt", found.read_bytes())


def run_files():
    for name, text in RUNS.items():
        add("run_file", name, text)


def texts():
    add("text", "lines.txt", "A cat, a dog\nand  the mouse!\n\ncat\n")
    add("text", "numbers.txt", "1\n0\n12\r\n-3")
    add("text", "odd.txt", "caf\u00e9 \u4e16\u754c\t\u0130\n".encode() + b"\xff\xc3\n\x00 a")


if __name__ == "__main__":
    records()
    archives()
    texts()
    configs()
    run_files()
    if len(sys.argv) > 1:
        checkpoints(pathlib.Path(sys.argv[1]).resolve())
