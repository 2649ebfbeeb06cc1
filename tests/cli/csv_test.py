"""CSV files as users meet them: snug fit and snug check on clean and on dirty tables.

usage: csv_test.py SNUG     SNUG is the program
"""

import csv
import gzip
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

SNUG = pathlib.Path(sys.argv.pop(1)).resolve()
RUN_FILE = """\
data: {train: adult.csv, validation: test.csv, label: income}
model:
  - dense: {units: 16, activation: relu}
  - dense: {units: 1, activation: sigmoid}
fit: {loss: binary_crossentropy, optimizer: adam, metrics: [accuracy], batch_size: 32, epochs: 5, memory: 256MiB}
"""
WORK = ["Private", "State-gov", "Self-emp", "?"]


def adult_rows(count, seed):
    """A table like UCI's adult: numbers, categories, missing marks, blanks behind the commas."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        age, hours, work = draw.randint(17, 90), draw.randint(1, 99), draw.choice(WORK)
        rich = age / 40 + hours / 40 + (work == "Self-emp") + draw.gauss(0, 0.2) > 2.6
        rows.append([str(age), work, str(hours) if draw.random() > 0.02 else "?", ">50K" if rich else "<=50K"])
    return rows


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write_table("adult.csv", adult_rows(1000, 1))
        self.write_table("test.csv", adult_rows(200, 2))
        (self.folder / "run.yaml").write_text(RUN_FILE)

    def write_table(self, name, rows, header="age, workclass, hours, income"):
        lines = [header] * bool(header) + [", ".join(row) for row in rows]
        (self.folder / name).write_text("\n".join(lines) + "\n")

    def edit(self, old, new):
        self.assertIn(old, RUN_FILE)
        (self.folder / "run.yaml").write_text(RUN_FILE.replace(old, new))

    def snug(self, *words):
        return subprocess.run([SNUG, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def passes(self, *words):
        result = self.snug(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fits(self, *words):
        result = self.snug("fit", "run.yaml", *words, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def refuses(self, code, *parts, words=("fit", "run.yaml")):
        result = self.snug(*words)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        self.assertNotIn("fault of Snug", result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr.splitlines()[-1])


class Fit(Case):
    def test_learns_from_the_designs_example(self):
        text = self.passes("fit", "run.yaml")
        self.assertIn("Columns of adult.csv: 1000 rows, 5 numbers for the model", text)
        self.assertIn("2 classes: \"<=50K\", \">50K\"", text)
        summary = json.loads((self.folder / "runs/run/1/summary.json").read_text())
        self.assertGreater(summary["metrics"]["val_accuracy"], 0.85)
        self.assertLess(summary["peak_resident_bytes"], 256 << 20)

    def test_the_resolved_file_says_what_was_chosen_and_runs_again(self):
        first = self.fits()
        resolved = self.folder / "runs/run/1/run.yaml"
        text = resolved.read_text()
        for part in ("standardise", "one_hot", "missing: mean", "label: income", str(self.folder / "adult.csv")):
            self.assertIn(part, text)
        again = json.loads(self.passes("fit", str(resolved), "--json"))
        self.assertEqual(first["metrics"], again["metrics"])

    def test_settings_of_columns(self):
        self.edit("label: income", "label: income, columns: {age: drop, hours: {use: min_max, missing: flag}, "
                                   "workclass: {hash: 8}}")
        self.assertIn("10 numbers for the model", self.passes("fit", "run.yaml", "--epochs", "1"))
        self.edit("label: income", "label: income, columns: {age: standrdise}")
        self.refuses(2, "run.yaml:1", "did you mean standardise")
        self.edit("label: income", "label: income, columns: {agee: drop}")
        self.refuses(2, "run.yaml:1", "no column \"agee\"", "did you mean \"age\"")
        self.edit("label: income", "label: incme")
        self.refuses(2, "run.yaml:1", "did you mean \"income\"")
        self.edit(", label: income", "")
        self.refuses(2, "run.yaml:1", "which column is the label?")

    def test_other_forms_of_files(self):
        expected = self.fits()["metrics"]
        plain = (self.folder / "adult.csv").read_text()
        lines = plain.splitlines(keepends=True)
        (self.folder / "adult.csv.gz").write_bytes(gzip.compress(plain.encode()))
        (self.folder / "part-1.csv").write_text("".join(lines[:301]))
        (self.folder / "part-2.csv").write_text(lines[0] + "".join(lines[301:]))
        (self.folder / "tabs.tsv").write_text(plain.replace(",", "\t").replace("\n", "\r\n"))
        for files in ("adult.csv.gz", "part-*.csv", "[part-1.csv, part-2.csv]", "tabs.tsv"):
            self.edit("train: adult.csv", f"train: {files!r}" if "*" in files else f"train: {files}")
            self.assertEqual(self.fits()["metrics"], expected, files)

    def test_without_a_header(self):
        self.write_table("adult.csv", adult_rows(300, 3), header=None)
        self.write_table("test.csv", adult_rows(100, 4), header=None)
        self.edit("label: income", "label: 3")
        self.assertGreater(self.fits()["metrics"]["accuracy"], 0.5)


    def test_splits_by_name(self):
        rows = [[str(i), "abc"[i * 3 // 300]] for i in range(300)]
        self.write_table("adult.csv", rows, header="a, income")
        self.edit(", validation: test.csv", "")
        text = (self.folder / "run.yaml").read_text()
        text = text.replace("units: 1, activation: sigmoid", "units: 3, activation: softmax")
        text = text.replace("binary_crossentropy", "sparse_categorical_crossentropy")
        text = text.replace("epochs: 5", "epochs: 1, validation_split: 0.2")
        (self.folder / "run.yaml").write_text(text)
        result = self.snug("fit", "run.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("all 100 rows of class 0 are on the training side", result.stderr)
        for kind in ("random", "stratified"):
            (self.folder / "run.yaml").write_text(text.replace("label: income", f"label: income, split: {kind}"))
            result = self.snug("fit", "run.yaml")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("side of the split", result.stderr)
            self.assertIn("val_loss", (self.folder / "runs/run").joinpath(max(
                (p.name for p in (self.folder / "runs/run").iterdir()), key=int), "history.csv").read_text())
        (self.folder / "run.yaml").write_text(text.replace("label: income", "label: income, split: radnom"))
        self.refuses(2, "run.yaml:1", "did you mean random")


class BadRows(Case):
    def setUp(self):
        super().setUp()
        self.rows = adult_rows(300, 5)
        self.rows[10][0] = "forty"
        self.rows[20] = self.rows[20][:2]
        self.rows[30][3] = "?"
        self.write_table("adult.csv", self.rows)

    def test_stop(self):
        self.refuses(4, "adult.csv: line 12, column age is \"forty\"", "a number was expected", "2 more rows are bad")
        self.assertFalse((self.folder / "runs/run").exists())

    def test_skip(self):
        self.edit("label: income", "label: income, on_bad_row: skip")
        self.assertEqual(self.fits()["bad_rows"], 3)

    def test_quarantine(self):
        self.edit("label: income", "label: income, on_bad_row: quarantine")
        for run in (1, 2):
            self.fits()
            with open(self.folder / f"runs/run/{run}/rejected.csv", newline="") as file:
                rejected = list(csv.DictReader(file))
            self.assertEqual([row["position"] for row in rejected], ["line 12", "line 22", "line 32"])
            self.assertEqual(rejected[0]["value"], "forty")
            self.assertEqual(rejected[0]["record"], ", ".join(self.rows[10]))

    def test_the_share_is_capped(self):
        self.edit("label: income", "label: income, on_bad_row: skip, bad_rows_at_most: 0.005")
        self.refuses(4, "3 of 300 rows are bad", "0.5 %")

    def test_impute_mends_cells_only(self):
        self.edit("label: income", "label: income, on_bad_row: impute")
        self.refuses(4, "line 22: it has 2 cells")
        self.rows[20], self.rows[30][3] = self.rows[21], ">50K"
        self.write_table("adult.csv", self.rows)
        self.fits()

    def test_a_class_that_training_does_not_know(self):
        self.write_table("adult.csv", adult_rows(300, 5))
        test = adult_rows(50, 6)
        test[7][3] = "<=50K."
        self.write_table("test.csv", test)
        self.refuses(4, "test.csv: line 9, column income is \"<=50K.\"", "such as \"<=50K\"")

    def test_labels_beyond_the_model_are_named_by_line(self):
        self.write_table("adult.csv", [[str(i), str(i % 4)] for i in range(100)], header="a, income")
        self.edit(", validation: test.csv", "")
        text = (self.folder / "run.yaml").read_text()
        text = text.replace("units: 1, activation: sigmoid", "units: 3, activation: softmax")
        text = text.replace("binary_crossentropy", "sparse_categorical_crossentropy")
        (self.folder / "run.yaml").write_text(text)
        self.refuses(4, "adult.csv: line ", "has the label 3", "3 outputs")
        (self.folder / "run.yaml").write_text(
            text.replace("label: income", "label: income, on_bad_row: skip, bad_rows_at_most: 0.5"))
        self.assertEqual(self.fits()["bad_rows"], 25)

    def test_policies_hold_for_arrays_too(self):
        values = [[float(i), 1.0] for i in range(100)]
        values[17][1] = float("nan")
        self.write_npy("x.npy", "<f4", "f", (100, 2), [v for row in values for v in row])
        self.write_npy("y.npy", "<i8", "q", (100,), [i % 2 for i in range(100)])
        self.edit("train: adult.csv, validation: test.csv, label: income", "train: {x: x.npy, y: y.npy}, on_bad_row: quarantine")
        self.assertEqual(self.fits()["bad_rows"], 1)
        rejected = (self.folder / "runs/run/1/rejected.csv").read_text()
        self.assertIn("row 17", rejected)
        self.assertIn("column 1 is nan", rejected)

    def write_npy(self, name, *what):
        (self.folder / name).write_bytes(npy_bytes(*what))


def npy_bytes(descr, code, shape, values):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{code}", *values)


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


class OtherFiles(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(9)
        self.x = [draw.gauss(0, 1) for _ in range(200)]
        self.y = [int(self.x[2 * i] + self.x[2 * i + 1] > 0) for i in range(100)]

    def train_on(self, train):
        self.edit("train: adult.csv, validation: test.csv, label: income", f"train: {train}")

    def test_npz(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.folder / "data.npz", "w", method) as file:
                file.writestr("labels.npy", npy_bytes("<i8", "q", (100,), self.y))
                file.writestr("rows.npy", npy_bytes("<f8", "d", (100, 2), self.x))
            self.train_on("{npz: data.npz, x: rows, y: labels}")
            first = self.fits()["metrics"]
            resolved = sorted((self.folder / "runs/run").iterdir())[-1] / "run.yaml"
            self.assertEqual(json.loads(self.passes("fit", str(resolved), "--json"))["metrics"], first)
        self.train_on("{npz: data.npz, x: row, y: labels}")
        self.refuses(2, "run.yaml:1", "no array \"row\"; it has labels, rows")

    def test_tfrecord(self):
        records = [tf_record(self.x[2 * i:2 * i + 2], self.y[i]) for i in range(100)]
        (self.folder / "a.tfrecord").write_bytes(b"".join(records[:60]))
        (self.folder / "b.tfrecord").write_bytes(b"".join(records[60:]))
        form = "{tfrecord: '*.tfrecord', x: {key: x, shape: [2]}, y: {key: label, type: int64}}"
        self.train_on(form)
        self.assertIn("accuracy", self.fits()["metrics"])
        self.assertIn("60 rows", self.passes("check", "a.tfrecord", "--against", "run.yaml"))
        (self.folder / "bad.tfrecord").write_bytes(records[0] + tf_record([1, float("nan")], 1))
        result = self.snug("check", "bad.tfrecord", "--against", "run.yaml")
        self.assertEqual(result.returncode, 4)
        self.assertIn("record 1: feature \"x\", element 1 is nan", result.stdout)
        (self.folder / "bad.tfrecord").unlink()
        damaged = bytearray(b"".join(records[:60]))
        damaged[len(records[0]) + 20] ^= 1
        (self.folder / "a.tfrecord").write_bytes(damaged)
        self.refuses(4, f"a.tfrecord: record 1 at byte {len(records[0])} has a wrong checksum")
        self.train_on(form.replace("key: x", "key: z"))
        (self.folder / "a.tfrecord").unlink()
        self.refuses(4, "no feature \"z\"")

    def test_records_of_different_lengths(self):
        records = [tf_record(self.x[2 * i:2 * i + 1 + i % 2], self.y[i]) for i in range(100)]
        (self.folder / "a.tfrecord").write_bytes(b"".join(records))
        form = "{tfrecord: a.tfrecord, x: {key: x, longest: 2}, y: {key: label, type: int64}}"
        self.train_on(form)
        self.assertIn("accuracy", self.fits()["metrics"])
        (self.folder / "a.tfrecord").write_bytes(b"".join(records) + tf_record([1, 2, 3], 1))
        self.refuses(4, "a.tfrecord: record 100: feature \"x\" has 3 steps, but 2 is the longest that was declared")
        self.train_on(form.replace("longest: 2", "longest: 0"))
        self.refuses(2, "longest", "1 or more")


class Check(Case):
    def test_a_clean_file(self):
        text = self.passes("check", "adult.csv", "--label", "income")
        self.assertIn("1000 rows, 4 columns", text)
        self.assertIn("Nothing is wrong", text)

    def test_a_dirty_file(self):
        rows = adult_rows(400, 7)
        rows[5][0] = "old"
        rows[6] = rows[6][:2]
        rows[7][3] = "<=50K."
        self.write_table("dirty.csv", [[*row[:1], "7", *row[1:]] if len(row) == 4 else row for row in rows],
                         header="age, always, workclass, hours, income")
        result = self.snug("check", "dirty.csv", "--label", "income")
        self.assertEqual(result.returncode, 4)
        for part in ("line 7, column age is \"old\"", "\"<=50K.\" (once) look like one category",
                     "column always is always \"7\"", "on_bad_row: quarantine"):
            self.assertIn(part, result.stdout)
        report = json.loads(self.snug("check", "dirty.csv", "--label", "income", "--json").stdout)
        self.assertEqual(report["exit"], 4)
        self.assertEqual(report["bad_rows"], 2)
        self.assertEqual(report["columns"][0]["type"], "number")

    def test_against_a_run(self):
        self.passes("check", "test.csv", "--against", "run.yaml")
        rows = adult_rows(20, 8)
        rows[3][1] = "Privat"
        self.write_table("new.csv", rows)
        result = self.snug("check", "new.csv", "--against", "run.yaml")
        self.assertEqual(result.returncode, 4)
        self.assertIn("new.csv: line 5, column workclass is \"Privat\"", result.stdout)
        self.write_table("new.csv", [row[:2] for row in rows], header="age, workclass")
        self.refuses(4, "no column \"hours\"", words=("check", "new.csv", "--against", "run.yaml"))

    def test_mistakes(self):
        self.refuses(2, "which data?", words=("check",))
        self.refuses(6, "absent.csv", words=("check", "absent.csv"))
        (self.folder / "empty.csv").write_text("")
        self.refuses(4, "the file is empty", words=("check", "empty.csv"))
        self.refuses(2, "no column \"incme\"", words=("check", "adult.csv", "--label", "incme"))


class Predict(Case):
    def test_raw_rows_are_read_as_the_training_data_was(self):
        """What was fitted is in the model's file: one row alone is what it is among all."""
        self.passes("fit", "run.yaml")
        model = "runs/run/1/last.keras"
        self.passes("predict", model, "data=test.csv", "--output", "all.csv")
        every = (self.folder / "all.csv").read_text().splitlines()
        rows = adult_rows(200, 2)
        self.write_table("one.csv", [row[:3] for row in rows[17:18]], header="age, workclass, hours")
        self.passes("predict", model, "data=one.csv", "--output", "one_out.csv")
        alone = (self.folder / "one_out.csv").read_text().splitlines()
        self.assertEqual(alone, [every[0], every[18]])
        self.passes("predict", "run.yaml", "--output", "by_run.csv")
        with zipfile.ZipFile(self.folder / model) as file:
            metadata = json.loads(file.read("metadata.json"))
        self.assertIn("snug_columns", metadata)

    def test_evaluate_and_going_on(self):
        self.passes("fit", "run.yaml")
        model = "runs/run/1/last.keras"
        self.assertIn("accuracy", self.passes("evaluate", model, "data=test.csv"))
        self.passes("fit", model, "data=adult.csv", "label=income", "fit.epochs=1")
        self.assertIn("accuracy", self.passes("evaluate", "runs/last/1/last.keras", "data=test.csv"))

    def test_a_row_that_the_model_cannot_read_is_named(self):
        self.passes("fit", "run.yaml")
        self.write_table("bad.csv", [["40", "Never-seen", "40"]], header="age, workclass, hours")
        result = self.snug("predict", "runs/run/1/last.keras", "data=bad.csv", "--output", "o.csv")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("Never-seen", result.stderr)


if __name__ == "__main__":
    unittest.main()
