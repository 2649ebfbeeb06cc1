"""What the tests of the program share: a folder for each test, the program run in it, and small files of data.

A test ends with `snug_case.main()`; it is called with the program: fit_test.py SNUG
"""

import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

SANITIZED = "SNUG_SANITIZED" in os.environ  # Budgets then hold the sanitizer's own memory too.
CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B"}


def npy(shape, values, descr="<f4"):
    """The bytes of a .npy file."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    body = struct.pack(f"<{len(values)}{CODES[descr]}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


def idx(shape, values):
    """The bytes of a compressed IDX file of bytes."""
    header = struct.pack(">HBB", 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
    return gzip.compress(header + bytes(values))


def png(height, width, colour):
    """The bytes of a PNG file of one colour (red, green, blue)."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes(colour) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Case(unittest.TestCase):
    """Each test has a folder, with RUN_FILE in it as run.yaml."""

    RUN_FILE = ""
    program = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("run.yaml", self.RUN_FILE)

    def write(self, name, content):
        """A text or bytes; the folders on the way are made."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, name):
        return (self.folder / name).read_text()

    def edit(self, *changes):
        """Writes RUN_FILE with changes: old, new, old, new, ..."""
        text = self.RUN_FILE
        for old, new in zip(changes[::2], changes[1::2]):
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write("run.yaml", text)

    def save_without_columns(self, model):
        """As Keras would save it again: bare.keras."""
        with zipfile.ZipFile(self.folder / model) as file, zipfile.ZipFile(self.folder / "bare.keras", "w") as bare:
            for name in file.namelist():
                content = file.read(name)
                if name == "metadata.json":
                    content = json.dumps({k: v for k, v in json.loads(content).items() if k != "snug_columns"})
                bare.writestr(name, content)

    def command(self, *words):
        return [self.program, *words]

    def snug(self, *words):
        return subprocess.run(self.command(*words), cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def passes(self, *words):
        """What the command prints, which ends with 0."""
        done = self.snug(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def says(self, *words):
        """The same with its warnings."""
        done = self.snug(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def json(self, *words):
        return json.loads(self.passes(*words, "--json"))

    def fits(self, *words):
        return self.json("fit", "run.yaml", *words)

    def fails(self, code, *words):
        """What the command says, which ends with this code."""
        done = self.snug(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("fault of Snug", done.stderr)
        return done.stderr

    def until(self, process, start):
        """Reads what the program says up to a line that begins so. One that ends before is no reason to wait for ever."""
        while not (line := process.stderr.readline()).startswith(start):
            self.assertTrue(line, f"the program ended before it said {start}")

    def refuses(self, code, *parts, words=("fit", "run.yaml")):
        """The command ends with this code and, after warnings at most, one line that holds these parts."""
        *before, line = self.fails(code, *words).splitlines()
        for warning in before:
            self.assertIn("warning: ", warning)
        self.assertTrue(line.startswith("snug"), line)
        for part in parts:
            self.assertIn(part, line)
        return line


class ArraysCase(Case):
    """With rows that can be learned: x.npy of 100 rows of 8 numbers, and y.npy, whether their sum is positive."""

    RUN_FILE = """\
data: {train: {x: x.npy, y: y.npy}}
model:
  - dense: {units: 16, activation: relu}
  - dropout: 0.1
  - dense: {units: 1, activation: sigmoid}
fit:
  loss: binary_crossentropy
  optimizer: adam
  metrics: [accuracy]
  batch_size: 16
  epochs: 2
"""
    ROWS, FEATURES = 100, 8

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        x = [draw.gauss(0, 1) for _ in range(self.ROWS * self.FEATURES)]
        labels = [int(sum(x[i * self.FEATURES:(i + 1) * self.FEATURES]) > 0) for i in range(self.ROWS)]
        self.write_x(x)
        self.write_labels(labels)

    def write_x(self, values):
        self.write("x.npy", npy((self.ROWS, self.FEATURES), values))

    def write_labels(self, labels):
        self.write("y.npy", npy((len(labels),), labels, "<i8"))


def main():
    Case.program = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(module="__main__")
