#!/usr/bin/env python3
"""Training on files that are much larger than the memory: each kind of file is made, trained on once, shuffled, and held
to 256 MiB by the plan; the resident peak of the process (VmHWM) is what is judged.

usage: tests/data/large.py build/snug                     the sizes of the promise: 8 GB .npy, 4 GB CSV, 2 GB TFRecord and HDF5,
                                                          50,000 JPEGs: about 20 GB of disk and half an hour
       tests/data/large.py build/snug --small             what CI runs: some MB each, in a memory cgroup of that size
       options: --only npy,csv  --folder FOLDER (default /tmp/snug-large)  --log FILE  --keep

Files that are there are not made again, and cases that the log has as passed are not run again: the same command goes on
where it was stopped.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "budget"))
import limits  # noqa: E402

BUDGET = 256 << 20
KIBIBYTE = 1024


def header(shape, kind):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (len(text) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def make_array(path, shape, kind, size, values):
    """A block of random values again and again; `values` is the block's bytes, of whole rows."""
    with open(path, "wb") as file:
        file.write(header(shape, kind))
        left = size
        while left > 0:
            left -= file.write(values[:left])


class Npy:
    """1,000,000 x 1000 float64, the model of seed 002 and its batch of 10,000."""

    def __init__(self, small):
        self.rows = 20_000 if small else 1_000_000
        self.batch = 1000 if small else 10_000

    def make(self, folder):
        values = random.Random(1)
        block = struct.pack("<50000d", *(values.random() for _ in range(50_000)))  # 50 rows.
        make_array(folder / "x.npy", (self.rows, 1000), "<f8", self.rows * 8000, block)
        make_array(folder / "y.npy", (self.rows,), "<i4", self.rows * 4, struct.pack("<50i", *(i % 2 for i in range(50))))

    data = "train: {x: x.npy, y: y.npy}"
    model = "[dense: {units: 1000, activation: relu}, dense: {units: 1, activation: sigmoid}]"
    loss = "binary_crossentropy"


class Csv:
    """Twenty numbers, a text and a label a line."""

    batch = 256

    def __init__(self, small):
        self.bytes = (8 << 20) if small else (4 << 30)

    def make(self, folder):
        values = random.Random(2)
        lines = []
        for _ in range(5000):
            cells = [f"{values.gauss(0, 100):.3f}" for _ in range(20)]
            lines.append(",".join(cells) + f",{values.choice(['red', 'green', 'blue'])},{values.randrange(2)}\n")
        block = "".join(lines).encode()
        with open(folder / "rows.csv", "wb") as file:
            file.write((",".join(f"c{i}" for i in range(20)) + ",colour,label\n").encode())
            for _ in range(self.bytes // len(block) + 1):
                file.write(block)

    data = "train: rows.csv\n  label: label"
    model = "[dense: {units: 32, activation: relu}, dense: {units: 1, activation: sigmoid}]"
    loss = "binary_crossentropy"


def crc_table():
    table = []
    for i in range(256):
        crc = i
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


def masked_crc(data, table=crc_table()):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def field(number, data):
    """A length-delimited field of a protobuf message."""
    size, length = len(data), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


class TfRecord:
    """Examples of 256 floats and a label."""

    batch = 256

    def __init__(self, small):
        self.bytes = (8 << 20) if small else (2 << 30)

    def make(self, folder):
        values = random.Random(3)
        block = b""
        for i in range(200):
            floats = field(2, field(1, struct.pack("<256f", *(values.random() for _ in range(256)))))
            label = field(3, field(1, bytes([i % 2])))
            entries = field(1, field(1, b"x") + field(2, floats)) + field(1, field(1, b"y") + field(2, label))
            record = field(1, entries)
            length = struct.pack("<Q", len(record))
            block += length + struct.pack("<I", masked_crc(length)) + record + struct.pack("<I", masked_crc(record))
        with open(folder / "rows.tfrecord", "wb") as file:
            for _ in range(self.bytes // len(block) + 1):
                file.write(block)

    data = "train: {tfrecord: rows.tfrecord, x: {key: x, shape: [256]}, y: {key: y, type: int64}}"
    model = "[dense: {units: 32, activation: relu}, dense: {units: 1, activation: sigmoid}]"
    loss = "binary_crossentropy"


def hdf5(arrays):
    """The start of an HDF5 file (superblock 0) with these arrays at its root, {name: (type message, element bytes, shape)}, and
    where the elements of each stand, one array behind the other."""
    names = sorted(arrays)
    heap_data = b"\0" * 8
    name_at = {}
    for name in names:
        name_at[name] = len(heap_data)
        heap_data += name.encode() + b"\0" * (8 - len(name) % 8)
    headers, at = {}, 96 + 40
    heap_at = at
    at += 32
    heap_data_at = at
    at += len(heap_data)
    tree_at = at
    at += 24 + 33 * 8 + 32 * 8
    leaf_at = at
    at += 8 + 8 * 40
    for name in names:
        headers[name] = at
        at += 16 + 160
    places = {}
    for name in names:
        _, size, shape = arrays[name]
        places[name] = at
        for extent in shape:
            size *= extent
        at += size
    none = 0xFFFFFFFFFFFFFFFF
    out = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0)
    out += struct.pack("<QQQQ", 0, none, at, none) + struct.pack("<QQIIQQ", 0, 96, 1, 0, tree_at, heap_at)
    out += struct.pack("<BBHIII", 1, 0, 1, 1, 24, 0) + struct.pack("<HHBBBB", 0x11, 16, 0, 0, 0, 0) + struct.pack("<QQ", tree_at, heap_at)
    out += b"HEAP" + struct.pack("<IQQQ", 0, len(heap_data), 1, heap_data_at) + heap_data
    out += b"TREE" + struct.pack("<BBHQQ", 0, 0, 1, none, none) + struct.pack("<QQQ", 0, leaf_at, name_at[names[-1]])
    out = out.ljust(leaf_at, b"\0") + b"SNOD" + struct.pack("<BBH", 1, 0, len(names))
    for name in names:
        out += struct.pack("<QQIIQQ", name_at[name], headers[name], 0, 0, 0, 0)
    for name in names:
        kind, size, shape = arrays[name]
        for extent in shape:
            size *= extent
        space = struct.pack("<BBBBI", 1, len(shape), 0, 0, 0) + struct.pack(f"<{len(shape)}Q", *shape)
        layout = (struct.pack("<BB", 3, 1) + struct.pack("<QQ", places[name], size)).ljust(24, b"\0")
        kind = kind.ljust((len(kind) + 7) // 8 * 8, b"\0")
        body = b""
        for number, message in [(1, space), (3, kind), (8, layout)]:
            body += struct.pack("<HHI", number, len(message), 0) + message
        body += struct.pack("<HHI", 0, 160 - len(body) - 8, 0)
        out = out.ljust(headers[name], b"\0") + struct.pack("<BBHIII", 1, 0, 4, 1, 160, 0) + body
    return out.ljust(min(places.values()), b"\0"), places


class Hdf5:
    """float32 rows of 500 and labels, in one piece each."""

    batch = 256

    def __init__(self, small):
        self.rows = 4000 if small else 1_000_000

    def make(self, folder):
        float32 = bytes.fromhex("11201f00040000000000200017080017" "7f000000")
        int32 = bytes.fromhex("100800000400000000002000")
        start, places = hdf5({"x": (float32, 4, (self.rows, 500)), "y": (int32, 4, (self.rows,))})
        values = random.Random(4)
        block = struct.pack("<50000f", *(values.random() for _ in range(50_000)))
        with open(folder / "rows.h5", "wb") as file:
            file.write(start)
            for _ in range(self.rows // 100):
                file.write(block)
            assert file.tell() == places["y"]
            file.write(struct.pack("<100i", *(i % 2 for i in range(100))) * (self.rows // 100))

    data = "train: {hdf5: rows.h5, x: x, y: y}"
    model = "[dense: {units: 32, activation: relu}, dense: {units: 1, activation: sigmoid}]"
    loss = "binary_crossentropy"


class Jpeg:
    """Pictures in two folders, all of them alike but for the bytes of a comment."""

    batch = 32

    def __init__(self, small):
        self.count = 400 if small else 50_000

    def make(self, folder):
        picture = (pathlib.Path(__file__).resolve().parent / "pictures" / "smooth.jpg").read_bytes()
        for i in range(self.count):
            place = folder / "pictures" / ("even" if i % 2 == 0 else "odd")
            place.mkdir(parents=True, exist_ok=True)
            comment = f"{i:08}".encode()
            (place / f"{i}.jpg").write_bytes(picture[:2] + b"\xff\xfe" + struct.pack(">H", 2 + len(comment)) + comment + picture[2:])

    data = "train: {image_folder: pictures, image_size: [64, 64]}"
    model = ("[conv2d: {filters: 4, kernel_size: 3, activation: relu}, global_average_pooling2d, "
             "dense: {units: 2, activation: softmax}]")
    loss = "sparse_categorical_crossentropy"


KINDS = {"npy": Npy, "csv": Csv, "tfrecord": TfRecord, "hdf5": Hdf5, "jpeg": Jpeg}


class Large:
    def __init__(self, arguments):
        self.snug, self.small = arguments.snug.resolve(), arguments.small
        self.folder = arguments.folder / ("small" if self.small else "large")
        self.log, self.keep = arguments.log, arguments.keep
        try:
            self.group = limits.Cgroup() if self.small else None
        except OSError as reason:
            self.group = None
            print(f"no memory cgroup can be made ({reason}): only the resident peak is looked at")

    def passed(self, name):
        if self.log is None or not self.log.exists():
            return False
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return any(line["case"] == name and line["small"] == self.small and line["passed"] for line in lines)

    def run(self, name):
        case = KINDS[name](self.small)
        folder = self.folder / name
        done = folder / "made"
        folder.mkdir(parents=True, exist_ok=True)
        if not done.exists():
            case.make(folder)
            done.touch()
        (folder / "run.yaml").write_text(
            f"name: large\nmodel: {case.model}\ndata:\n  {case.data}\n"
            f"fit: {{loss: {case.loss}, optimizer: adam, batch_size: {case.batch}, epochs: 1, memory: 256 MiB,"
            " checkpoint: off, verbose: 0}\n"
        )
        started = time.time()
        result = self.fit(folder)
        line = {"case": name, "small": self.small, "bytes": sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()),
                "seconds": round(time.time() - started, 1), "peak_mib": round(result.peak / (1 << 20), 1),
                "exit": result.returncode, "passed": result.returncode == 0 and 0 < result.peak <= BUDGET}
        if not line["passed"]:
            line["output"] = result.stdout[-2000:]
        print(json.dumps(line), flush=True)
        if self.log is not None:
            with open(self.log, "a") as file:
                file.write(json.dumps(line) + "\n")
        if not self.keep:
            shutil.rmtree(folder)
        return line["passed"]

    def fit(self, folder):
        """Of a process in the group the group's peak, which counts the page cache too and is then at most the limit; else
        the process's own."""
        words = [str(self.snug), "fit", "run.yaml"]
        options = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        if self.group is not None:
            result = self.group.run(words, BUDGET, **options)
            result.peak = BUDGET + 1 if result.killed else min(result.peak, BUDGET)
            return result
        process = subprocess.Popen(words, **options)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        result = subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), output)
        result.peak = usage.ru_maxrss * KIBIBYTE
        return result

    def close(self):
        if self.group is not None:
            self.group.close()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("snug", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(f"/tmp/snug-large-{os.getuid()}"))
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    large = Large(arguments)
    try:
        results = [large.passed(name) or large.run(name) for name in arguments.only]
    finally:
        large.close()
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
