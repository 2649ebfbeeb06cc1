"""Sources other than tables and plain arrays, as users meet them.

usage: sources_test.py SNUG     SNUG is the program
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

SNUG = pathlib.Path(sys.argv.pop(1)).resolve()
CNN = """\
model:
  - rescaling: 1/255
  - conv2d: {filters: 4, kernel_size: 3, activation: relu}
  - global_average_pooling2d
  - dense: {units: 2, activation: softmax}
fit: {loss: sparse_categorical_crossentropy, optimizer: adam, metrics: [accuracy], batch_size: 8, epochs: 2, memory: 128MiB}
"""


def png(height, width, colour):
    """A PNG file of one colour (red, green, blue)."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes(colour) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def snug(self, *words):
        return subprocess.run([SNUG, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def passes(self, *words):
        done = self.snug(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def fails(self, code, *words):
        done = self.snug(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr


class Images(Case):
    def setUp(self):
        super().setUp()
        for i in range(20):
            self.write(f"pics/blue/{i}.png", png(8 + i % 3, 9, (10, 20, 200 + i)))
            self.write(f"pics/red/{i}.png", png(7, 8 + i % 4, (200 + i, 20, 10)))
        self.write("run.yaml", "data: {train: {image_folder: pics, image_size: [8, 8]}}\n" + CNN)

    def test_a_folder_is_trained_on_and_predicted(self):
        done = self.passes("fit", "run.yaml")
        self.assertIn("40 files of 2 classes: blue, red", done.stderr + done.stdout)
        resolved = (self.folder / "runs/run/1/run.yaml").read_text()
        self.assertIn(str(self.folder / "pics"), resolved)
        done = self.passes("predict", "run.yaml", "--output", "out.csv")
        self.assertEqual(len((self.folder / "out.csv").read_text().splitlines()), 41)

    def test_halves_by_seed(self):
        self.write(
            "run.yaml",
            "data:\n"
            "  train: {image_folder: pics, image_size: [8, 8], validation_split: 0.25, subset: training, seed: 3}\n"
            "  validation: {image_folder: pics, image_size: [8, 8], validation_split: 0.25, subset: validation, seed: 3}\n" + CNN,
        )
        done = self.passes("fit", "run.yaml")
        self.assertIn("30 files", done.stderr + done.stdout)
        self.assertIn("10 files", done.stderr + done.stdout)

    def test_broken_pictures_are_named_or_left_out(self):
        self.write("pics/red/broken.png", png(8, 8, (1, 2, 3))[:-30])
        self.assertIn("pics/red/broken.png: it is cut off", self.fails(4, "fit", "run.yaml"))
        done = self.snug("check", "pics")
        self.assertEqual(done.returncode, 4)
        self.assertIn("broken.png", done.stdout)
        self.write("pics/red/text.jpg", "hello")
        self.write("run.yaml", "data: {train: {image_folder: pics, image_size: [8, 8]}, on_bad_row: quarantine, bad_rows_at_most: 0.2}\n" + CNN)
        done = self.passes("fit", "run.yaml")
        self.assertIn("2 bad rows are left out", done.stderr + done.stdout)
        rejected = (self.folder / "runs/run/2/rejected.csv").read_text()
        self.assertIn("text.jpg", rejected)
        self.assertIn("broken.png", rejected)

    def test_words_are_checked(self):
        self.write("run.yaml", "data: {train: {image_folder: pics, color_mode: gray}}\n" + CNN)
        self.assertIn("one of grayscale, rgb, rgba", self.fails(2, "fit", "run.yaml"))
        self.write("run.yaml", "data: {train: {image_folder: pics, image_sise: 8}}\n" + CNN)
        self.assertIn("did you mean image_size", self.fails(2, "fit", "run.yaml"))


if __name__ == "__main__":
    unittest.main()
