"""Sources other than tables and plain arrays, as users meet them.

usage: sources_test.py SNUG     SNUG is the program
"""

import gzip
import json
import pathlib
import random
import struct
import zipfile

import snug_case
from snug_case import Case, idx, npy, png

CNN = """\
model:
  - rescaling: 1/255
  - conv2d: {filters: 4, kernel_size: 3, activation: relu}
  - global_average_pooling2d
  - dense: {units: 2, activation: softmax}
fit: {loss: sparse_categorical_crossentropy, optimizer: adam, metrics: [accuracy], batch_size: 8, epochs: 2, memory: 128MiB}
"""


class Images(Case):
    def setUp(self):
        super().setUp()
        for i in range(20):
            self.write(f"pics/blue/{i}.png", png(8 + i % 3, 9, (10, 20, 200 + i)))
            self.write(f"pics/red/{i}.png", png(7, 8 + i % 4, (200 + i, 20, 10)))
        self.write("run.yaml", "data: {train: {image_folder: pics, image_size: [8, 8]}}\n" + CNN)

    def test_a_folder_is_trained_on_and_predicted(self):
        text = self.says("fit", "run.yaml")
        self.assertIn("40 files of 2 classes: blue, red", text)
        resolved = self.read("runs/run/1/run.yaml")
        self.assertIn(str(self.folder / "pics"), resolved)
        self.passes("predict", "run.yaml", "--output", "out.csv")
        self.assertEqual(len(self.read("out.csv").splitlines()), 41)

    def test_halves_by_seed(self):
        self.write(
            "run.yaml",
            "data:\n"
            "  train: {image_folder: pics, image_size: [8, 8], validation_split: 0.25, subset: training, seed: 3}\n"
            "  validation: {image_folder: pics, image_size: [8, 8], validation_split: 0.25, subset: validation, seed: 3}\n" + CNN,
        )
        text = self.says("fit", "run.yaml")
        self.assertIn("30 files", text)
        self.assertIn("10 files", text)

    def test_broken_pictures_are_named_or_left_out(self):
        self.write("pics/red/broken.png", png(8, 8, (1, 2, 3))[:-30])
        self.assertIn("pics/red/broken.png: it is cut off", self.fails(4, "fit", "run.yaml"))
        done = self.snug("check", "pics")
        self.assertEqual(done.returncode, 4)
        self.assertIn("broken.png", done.stdout)
        self.write("pics/red/text.jpg", "hello")
        self.write("run.yaml", "data: {train: {image_folder: pics, image_size: [8, 8]}, on_bad_row: quarantine, bad_rows_at_most: 0.2}\n" + CNN)
        text = self.says("fit", "run.yaml")
        self.assertIn("2 bad rows are left out", text)
        rejected = self.read("runs/run/2/rejected.csv")
        self.assertIn("text.jpg", rejected)
        self.assertIn("broken.png", rejected)

    def test_what_stands_beside_the_classes_is_no_row(self):
        self.write("pics/LICENSE.txt", "free\n")
        self.write("pics/red/notes.txt", "red\n")
        text = self.passes("check", "pics")
        self.assertIn("40 rows", text)
        self.assertIn("blue", text)
        self.write("words/logo.png", png(8, 8, (1, 2, 3)))
        for name in ("good", "bad"):
            self.write(f"words/{name}/1.txt", f"a {name} film\n")
        self.assertIn("2 texts", self.passes("check", "words"))

    def test_training_rows_are_augmented(self):
        data = "data: {train: {image_folder: pics, image_size: [8, 8]}, %s}\n"
        losses = []
        for layers in ["", "augment: [random_flip: horizontal, random_rotation: 0.1, random_contrast: 0.4, random_brightness: 0.3]"]:
            self.write("run.yaml", data % layers + CNN)
            self.passes("fit", "run.yaml")
            losses.append(self.read(f"runs/run/{len(losses) + 1}/history.csv"))
        self.assertNotEqual(*losses)
        self.passes("fit", "run.yaml", "fit.threads=1")
        self.write("run.yaml", data % "augment: [resizing: {height: 4, width: 4}]" + CNN)
        self.assertIn("into the model", self.fails(2, "fit", "run.yaml"))

    def test_pictures_without_an_axis_for_channels_are_augmented(self):
        draw = random.Random(3)
        self.write("y.npy", npy((40,), [i % 2 for i in range(40)], "<i8"))
        layers = "augment: [random_flip: horizontal, random_translation: {height_factor: 0.1, width_factor: 0.1}]"
        for descr in ("|u1", "<f4"):
            self.write("x.npy", npy((40, 8, 8), [draw.randrange(255) for _ in range(40 * 64)], descr))
            model = CNN if descr == "|u1" else CNN.replace("rescaling: 1/255", "reshape: [8, 8, 1]")
            self.write("run.yaml", f"data: {{train: {{x: x.npy, y: y.npy}}, {layers}}}\n{model}")
            self.passes("fit", "run.yaml")
        self.write("run.yaml", "data: {train: {x: x.npy, y: y.npy}, augment: [random_crop: {height: 4, width: 4}]}\n" + model)
        self.refuses(2, "augment makes [4, 4, 1] of rows of [8, 8]")

    def test_null_is_none(self):
        self.write("x.npy", npy((8, 8, 8), range(512)))
        self.write("y.npy", npy((8,), [i % 2 for i in range(8)], "<i8"))
        self.write("run.yaml", "data: {train: {x: x.npy, y: y.npy}}\n" + CNN.replace("rescaling: 1/255", "reshape: [8, 8, 1]"))
        names = "data.augment data.timeseries data.validation data.train.sample_weight data.sample_weight fit.memory"
        self.passes("fit", "run.yaml", *(f"{name}=null" for name in names.split()))

    def test_threads_are_those_that_are_given(self):
        """Each thread that decodes has memory of its own."""
        few, many = (self.json("plan", "run.yaml", "--threads", threads)["source_bytes"] for threads in ("1", "4"))
        self.assertLess(few, many)

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
        self.assertEqual(len(self.read("out.csv").splitlines()), 101)

    def test_a_label_beyond_the_outputs_is_named(self):
        run = f"data: {{train: {{hdf5: {HDF5}/latest.h5, x: gzip, y: labels}}}}\n" + MLP.replace("units: 5", "units: 3")
        self.write("run.yaml", run)
        message = self.fails(4, "fit", "run.yaml")
        self.assertRegex(message, r'latest.h5: "labels": row \d*[3489]')
        self.write("run.yaml", run.replace("labels}", "labels}, on_bad_row: skip, bad_rows_at_most: 0.5"))
        self.assertIn("20 bad rows", self.says("fit", "run.yaml"))

    def test_a_name_that_is_not_there(self):
        self.write("run.yaml", f"data: {{train: {{hdf5: {HDF5}/latest.h5, x: gzipp, y: labels}}}}\n" + MLP)
        self.assertIn('there is no array "gzipp"', self.fails(2, "fit", "run.yaml"))

    def test_check_names_bad_rows_of_every_array(self):
        done = self.snug("check", f"{HDF5}/small.h5")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        for part in ['small.h5: "x": 16 rows of float32[8]', "row 1 is nan", '"texts" holds no numbers',
                     '"x" has 16 rows and "y" has 15, but inputs and targets must be as many']:
            self.assertIn(part, done.stdout)
        found = json.loads(self.snug("check", f"{HDF5}/small.h5", "--json").stdout)
        self.assertEqual((found["exit"], found["bad_rows"], len(found["arrays"])), (4, 1, 4))
        self.assertIn("Nothing is wrong", self.passes("check", f"{HDF5}/matlab.h5"))
        self.write("run.yaml", f"data: {{train: {{hdf5: other.h5, x: gzip, y: labels}}}}\n" + MLP)
        found = self.json("check", f"{HDF5}/latest.h5", "--against", "run.yaml")
        self.assertEqual(found["arrays"][0]["fields"][1]["classes"], {str(label): 10 for label in range(5)})
        self.assertIn('"lzf" is packed by the filter 32000 (lzf)', self.passes("check", f"{HDF5}/latest.h5"))
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
        every = self.read("all.csv").splitlines()
        self.assertEqual(self.read("one.csv").splitlines()[1], every[12])

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
        text = self.passes("check", "t.txt", "--text", "--label", "l.txt")
        for part in ["12 texts, 24 words, 3 different ones", "classes: neg (6), pos (6)", "Nothing is wrong"]:
            self.assertIn(part, text)
        self.write("t.txt", b"good film\nbad\0film\n" * 6)
        done = self.snug("check", "t.txt", "--text")
        self.assertEqual(done.returncode, 4)
        self.assertIn("line 2: it has bytes that are 0", done.stdout)
        self.write("reviews/neg/1.txt", "a bad film")
        self.write("reviews/pos/1.txt", "a good film")
        found = self.json("check", "reviews")
        self.assertEqual((found["texts"], found["classes"]), (2, {"neg": 1, "pos": 1}))


class SeveralFiles(Case):
    def test_labels_are_counted_by_class(self):
        self.write("y.npy", npy((30,), [i % 3 for i in range(30)], "<i8"))
        self.assertIn("classes: 0 (10), 1 (10), 2 (10)", self.passes("check", "y.npy"))
        self.assertEqual(self.json("check", "y.npy")["arrays"][0]["fields"][0]["classes"], {"0": 10, "1": 10, "2": 10})
        self.write("labels-idx1-ubyte.gz", idx((30,), [i % 2 for i in range(30)]))
        self.assertIn("classes: 0 (15), 1 (15)", self.passes("check", "labels-idx1-ubyte.gz"))
        self.write("x.npy", npy((30,), [i / 7 for i in range(30)]))
        self.assertNotIn("classes", self.passes("check", "x.npy"))

    def test_npy_files_follow_one_another(self):
        for part in range(3):
            self.write(f"x-{part}.npy", npy((4, 2), range(8)))
            self.write(f"y-{part}.npy.gz", gzip.compress(npy((4,), [0, 1, 2, 3], "<i8")))
        self.write("run.yaml", 'data: {train: {x: "x-*.npy", y: "y-*.npy.gz"}}\n' + MLP)
        self.passes("fit", "run.yaml")
        self.passes("predict", "run.yaml", "--output", "out.csv")
        self.assertEqual(len(self.read("out.csv").splitlines()), 13)
        (self.folder / "y-2.npy.gz").unlink()
        self.assertIn("belong together", self.fails(2, "fit", "run.yaml"))


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def tf_record(x, label):
    """A tf.train.Example of some floats and a label, as a record."""
    floats = field(1, field(1, b"x") + field(2, field(2, field(1, struct.pack(f"<{len(x)}f", *x)))))
    ints = field(1, field(1, b"label") + field(2, field(3, field(1, bytes([label])))))
    data = field(1, floats + ints)
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


class Archives(Case):
    RUN_FILE = """\
data: {train: FILES}
model: [dense: {units: 16, activation: relu}, dense: {units: 1, activation: sigmoid}]
fit: {loss: binary_crossentropy, optimizer: adam, metrics: [accuracy], batch_size: 32, epochs: 5, memory: 256MiB}
"""

    def setUp(self):
        super().setUp()
        draw = random.Random(9)
        self.x = [draw.gauss(0, 1) for _ in range(200)]
        self.y = [int(self.x[2 * i] + self.x[2 * i + 1] > 0) for i in range(100)]

    def train_on(self, train):
        self.edit("FILES", train)

    def test_npz(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.folder / "data.npz", "w", method) as file:
                file.writestr("labels.npy", npy((100,), self.y, "<i8"))
                file.writestr("rows.npy", npy((100, 2), self.x, "<f8"))
            self.train_on("{npz: data.npz, x: rows, y: labels}")
            first = self.fits()["metrics"]
            resolved = sorted((self.folder / "runs/run").iterdir())[-1] / "run.yaml"
            self.assertEqual(self.json("fit", str(resolved))["metrics"], first)
        self.train_on("{npz: data.npz, x: row, y: labels}")
        self.refuses(2, "run.yaml:1", "no array \"row\"; it has labels, rows")

    def test_tfrecord(self):
        records = [tf_record(self.x[2 * i:2 * i + 2], self.y[i]) for i in range(100)]
        self.write("a.tfrecord", b"".join(records[:60]))
        self.write("b.tfrecord", b"".join(records[60:]))
        form = "{tfrecord: '*.tfrecord', x: {key: x, shape: [2]}, y: {key: label, type: int64}}"
        self.train_on(form)
        self.assertIn("accuracy", self.fits()["metrics"])
        self.assertIn("60 rows", self.passes("check", "a.tfrecord", "--against", "run.yaml"))
        self.write("bad.tfrecord", records[0] + tf_record([1, float("nan")], 1))
        result = self.snug("check", "bad.tfrecord", "--against", "run.yaml")
        self.assertEqual(result.returncode, 4)
        self.assertIn("record 1: feature \"x\", element 1 is nan", result.stdout)
        (self.folder / "bad.tfrecord").unlink()
        damaged = bytearray(b"".join(records[:60]))
        damaged[len(records[0]) + 20] ^= 1
        self.write("a.tfrecord", damaged)
        self.refuses(4, f"a.tfrecord: record 1 at byte {len(records[0])} has a wrong checksum")
        self.train_on(form.replace("key: x", "key: z"))
        (self.folder / "a.tfrecord").unlink()
        self.refuses(4, "no feature \"z\"")

    def test_predictions_need_only_inputs(self):
        """Neither targets nor weights have to be there, though the run names them."""
        self.write("x.npy", npy((100, 2), self.x))
        self.write("y.npy", npy((100,), self.y, "<i8"))
        self.train_on("{x: x.npy, y: y.npy}")
        self.fits()
        self.write("x.idx", idx((100, 2), [i % 5 for i in range(200)]))
        with zipfile.ZipFile(self.folder / "x.npz", "w") as file:
            file.writestr("x.npy", npy((100, 2), self.x))
        self.write("x.tfrecord", b"".join(tf_record(self.x[2 * i:2 * i + 2], 0) for i in range(100)))
        model = "model: runs/run/1/last.keras\nfit: {batch_size: 32}\n"
        for train in ("{x: x.npy, y: absent.npy, sample_weight: absent.npy}",
                      "{images: x.idx, labels: absent.idx}", "{images: x.idx}",
                      "x.npz", "{npz: x.npz, x: x}", "{npz: x.npz, x: x, y: absent, sample_weight: absent}",
                      "{tfrecord: x.tfrecord, x: {key: x, shape: [2]}}",
                      "{tfrecord: x.tfrecord, x: {key: x, shape: [2]}, y: {key: absent}, sample_weight: absent}",
                      f"{{hdf5: {HDF5}/latest.h5, x: compact, y: absent, sample_weight: absent}}"):
            self.write("new.yaml", f"data: {{train: {train}}}\n{model}")
            self.passes("predict", "new.yaml", "--output", "out.csv")
            self.assertGreater(len(self.read("out.csv").splitlines()), 5, train)
        self.write("new.yaml", "data: {train: {images: x.idx}}\n" + model)
        self.refuses(2, "has no labels", words=("evaluate", "new.yaml"))

    def test_records_of_different_lengths(self):
        records = [tf_record(self.x[2 * i:2 * i + 1 + i % 2], self.y[i]) for i in range(100)]
        self.write("a.tfrecord", b"".join(records))
        form = "{tfrecord: a.tfrecord, x: {key: x, longest: 2}, y: {key: label, type: int64}}"
        self.train_on(form)
        self.assertIn("accuracy", self.fits()["metrics"])
        self.write("a.tfrecord", b"".join(records) + tf_record([1, 2, 3], 1))
        self.refuses(4, "a.tfrecord: record 100: feature \"x\" has 3 steps, but 2 is the longest that was declared")
        self.train_on(form.replace("longest: 2", "longest: 0"))
        self.refuses(2, "longest", "1 or more")


if __name__ == "__main__":
    snug_case.main()
