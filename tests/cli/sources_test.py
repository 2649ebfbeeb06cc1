"""Sources other than tables and plain arrays, as users meet them.

usage: sources_test.py SNUG     SNUG is the program
"""

import gzip
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

    def test_training_rows_are_augmented(self):
        data = "data: {train: {image_folder: pics, image_size: [8, 8]}, %s}\n"
        losses = []
        for layers in ["", "augment: [random_flip: horizontal, random_rotation: 0.1, random_contrast: 0.4, random_brightness: 0.3]"]:
            self.write("run.yaml", data % layers + CNN)
            self.passes("fit", "run.yaml")
            losses.append((self.folder / f"runs/run/{len(losses) + 1}/history.csv").read_text())
        self.assertNotEqual(*losses)
        self.passes("fit", "run.yaml", "fit.threads=1")
        self.write("run.yaml", data % "augment: [resizing: {height: 4, width: 4}]" + CNN)
        self.assertIn("into the model", self.fails(2, "fit", "run.yaml"))

    def test_words_are_checked(self):
        self.write("run.yaml", "data: {train: {image_folder: pics, color_mode: gray}}\n" + CNN)
        self.assertIn("one of grayscale, rgb, rgba", self.fails(2, "fit", "run.yaml"))
        self.write("run.yaml", "data: {train: {image_folder: pics, image_sise: 8}}\n" + CNN)
        self.assertIn("did you mean image_size", self.fails(2, "fit", "run.yaml"))


HDF5 = pathlib.Path(__file__).parents[1] / "data" / "hdf5"
MLP = """\
model:
  - flatten
  - dense: {units: 5, activation: softmax}
fit: {loss: sparse_categorical_crossentropy, optimizer: adam, batch_size: 8, epochs: 2, memory: 128MiB}
"""


def npy(name, shape, values):
    header = f"{{'descr': '{name}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + values


class Hdf5(Case):
    def test_data_sets_are_trained_on(self):
        for name in ["gzip", "float64", "growing_gzip"]:
            self.write("run.yaml", f"data: {{train: {{file: {HDF5}/latest.h5, x: {name}, y: labels}}}}\n" + MLP)
            self.passes("fit", "run.yaml")
        cached = list((self.folder / "runs/.cache").glob("*.rows"))
        self.assertEqual(len(cached), 2)
        self.passes("predict", "run.yaml", "--output", "out.npy")

    def test_several_files_are_one(self):
        for part in "ab":
            (self.folder / f"part-{part}.h5").write_bytes((HDF5 / "v108.h5").read_bytes())
        self.write("run.yaml", "data: {train: {hdf5: part-*.h5, x: chunks, y: labels}}\n" + MLP)
        self.passes("fit", "run.yaml")
        self.passes("predict", "run.yaml", "--output", "out.csv")
        self.assertEqual(len((self.folder / "out.csv").read_text().splitlines()), 101)

    def test_a_label_beyond_the_outputs_is_named(self):
        run = f"data: {{train: {{hdf5: {HDF5}/latest.h5, x: gzip, y: labels}}}}\n" + MLP.replace("units: 5", "units: 3")
        self.write("run.yaml", run)
        message = self.fails(4, "fit", "run.yaml")
        self.assertRegex(message, r'latest.h5: "labels": row \d*[3489]')
        self.write("run.yaml", run.replace("labels}", "labels}, on_bad_row: skip, bad_rows_at_most: 0.5"))
        self.assertIn("20 bad rows", self.passes("fit", "run.yaml").stderr)

    def test_a_name_that_is_not_there(self):
        self.write("run.yaml", f"data: {{train: {{hdf5: {HDF5}/latest.h5, x: gzipp, y: labels}}}}\n" + MLP)
        self.assertIn('there is no array "gzipp"', self.fails(2, "fit", "run.yaml"))

    def test_check_names_bad_rows_of_every_array(self):
        done = self.snug("check", f"{HDF5}/small.h5")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        for part in ['small.h5: "x": 16 rows of float32[8]', "row 1 is nan", '"texts", unknown[2], holds no numbers',
                     "16 rows of inputs and 15 of targets"]:
            self.assertIn(part, done.stdout)
        found = json.loads(self.snug("check", f"{HDF5}/small.h5", "--json").stdout)
        self.assertEqual((found["exit"], found["bad_rows"], len(found["arrays"])), (4, 1, 4))
        self.assertIn("Nothing is wrong", self.passes("check", f"{HDF5}/matlab.h5").stdout)
        self.write("run.yaml", f"data: {{train: {{hdf5: other.h5, x: gzip, y: labels}}}}\n" + MLP)
        found = json.loads(self.passes("check", f"{HDF5}/latest.h5", "--against", "run.yaml", "--json").stdout)
        self.assertEqual(found["arrays"][0]["fields"][1]["classes"], {str(label): 10 for label in range(5)})
        self.write("cut.h5", (HDF5 / "small.h5").read_bytes()[:3000])
        self.fails(4, "check", "cut.h5")


class Texts(Case):
    MODEL = """\
model:
  - embedding: {input_dim: 12, output_dim: 4}
  - global_average_pooling1d
  - dense: {units: 2, activation: softmax}
fit: {loss: sparse_categorical_crossentropy, optimizer: adam, batch_size: 4, epochs: 2, memory: 128MiB}
"""

    def test_folders_and_what_the_model_has_learned(self):
        for i in range(8):
            self.write(f"reviews/neg/{i}.txt", f"a bad film, really bad {i}")
            self.write(f"reviews/pos/{i}.txt", f"a good film, really good {i}")
        self.write("run.yaml", "data: {train: {text_folder: reviews, sequence_length: 5, max_tokens: 12}}\n" + self.MODEL)
        self.passes("fit", "run.yaml")
        model = "runs/run/1/last.keras"
        self.passes("predict", "run.yaml", "--output", "all.csv")
        self.write("one.txt", "a good film, really good 3\n")
        self.write("raw.yaml", f"data: {{train: {{text: one.txt, sequence_length: 5}}}}\nmodel: {model}\nfit: {{batch_size: 8}}\n")
        self.passes("predict", "raw.yaml", "--output", "one.csv")
        every = (self.folder / "all.csv").read_text().splitlines()
        self.assertEqual((self.folder / "one.csv").read_text().splitlines()[1], every[12])

    def test_lines_with_labels(self):
        self.write("t.txt", "good film\nbad film\n" * 6)
        self.write("l.txt", "pos\nneg\n" * 6)
        self.write("run.yaml", "data: {train: {text: t.txt, labels: l.txt, sequence_length: 3}}\n" + self.MODEL)
        self.passes("fit", "run.yaml")
        self.write("l.txt", "pos\nneg\n" * 5)
        self.assertIn("the same number of rows", self.fails(2, "fit", "run.yaml"))

    def test_check(self):
        self.write("t.txt", "good film\nbad film\n" * 6)
        self.write("l.txt", "pos\nneg\n" * 6)
        done = self.passes("check", "t.txt", "--text", "--label", "l.txt")
        for part in ["12 texts, 24 words, 3 different ones", "classes: neg 6, pos 6", "Nothing is wrong"]:
            self.assertIn(part, done.stdout)
        self.write("t.txt", b"good film\nbad\0film\n" * 6)
        done = self.snug("check", "t.txt", "--text")
        self.assertEqual(done.returncode, 4)
        self.assertIn("line 2: it has bytes that are 0", done.stdout)
        self.write("reviews/neg/1.txt", "a bad film")
        self.write("reviews/pos/1.txt", "a good film")
        found = json.loads(self.passes("check", "reviews", "--json").stdout)
        self.assertEqual((found["texts"], found["classes"]), (2, {"neg": 1, "pos": 1}))


class SeveralFiles(Case):
    def test_npy_files_follow_one_another(self):
        for part in range(3):
            self.write(f"x-{part}.npy", npy("<f4", (4, 2), struct.pack("<8f", *range(8))))
            self.write(f"y-{part}.npy.gz", gzip.compress(npy("<i8", (4,), struct.pack("<4q", 0, 1, 2, 3))))
        self.write("run.yaml", 'data: {train: {x: "x-*.npy", y: "y-*.npy.gz"}}\n' + MLP)
        self.passes("fit", "run.yaml")
        self.passes("predict", "run.yaml", "--output", "out.csv")
        self.assertEqual(len((self.folder / "out.csv").read_text().splitlines()), 13)
        (self.folder / "y-2.npy.gz").unlink()
        self.assertIn("belong together", self.fails(2, "fit", "run.yaml"))


if __name__ == "__main__":
    unittest.main()
