"""Predictions of tables, pictures and texts: which rows, what they need, and the names of classes.

usage: predict_test.py SNUG     SNUG is the program
"""

import csv
import pathlib
import random
import resource
import signal
import subprocess
import unittest

import snug_case
from snug_case import SANITIZED, Case, npy, png


class Tables(Case):
    RUN_FILE = """\
data: {train: rows.csv, validation: test.csv, label: sort}
model: [dense: {units: 8, activation: relu}, dense: {units: 3, activation: softmax}]
fit: {loss: sparse_categorical_crossentropy, optimizer: {adam: 0.05}, epochs: 30, validation_split: 0, verbose: 0}
"""
    SORTS = ["low, small", "middle", "top"]

    def setUp(self):
        super().setUp()
        self.write_rows("rows.csv", 300, 1)
        self.write_rows("test.csv", 30, 2)

    def write_rows(self, name, count, seed, label=True):
        draw = random.Random(seed)
        lines = ["a,b,sort" if label else "a,b"]
        for _ in range(count):
            a, b = draw.random(), draw.random()
            sort = f',"{self.SORTS[int(a * 2.999)]}"' if label else ""
            lines.append(f"{a:.4f},{b:.4f}{sort}")
        self.write(name, "\n".join(lines) + "\n")

    def predictions(self, name="out.csv"):
        with open(self.folder / name, newline="") as file:
            return list(csv.DictReader(file))

    def test_classes_have_names(self):
        self.passes("fit", "run.yaml")
        self.assertIn("Its numbers are of: low, small, middle, top", self.passes("predict", "run.yaml", "--output", "out.csv"))
        rows = self.predictions()
        self.assertEqual(list(rows[0]), [*self.SORTS, "class"])
        with open(self.folder / "test.csv", newline="") as file:
            right = [row["sort"] == found["class"] for row, found in zip(csv.DictReader(file), rows)]
        self.assertGreater(sum(right), 24)
        for row in rows:
            self.assertEqual(max(self.SORTS, key=lambda sort: float(row[sort])), row["class"])
        self.assertEqual(self.json("predict", "run.yaml", "--output", "out.npy")["classes"], self.SORTS)

    def test_what_cannot_be_written_leaves_nothing(self):
        self.passes("fit", "run.yaml")

        def on_a_full_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            # Clang's OpenMP, which sanitized programs have, starts with a file of 1 KiB.
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

        for name in ("out.csv", "out.npy"):
            before = sorted(self.folder.rglob("*"))
            done = subprocess.run(
                self.command("predict", "run.yaml", "data=rows.csv", "--output", name),
                cwd=self.folder, capture_output=True, text=True, timeout=120, check=False, preexec_fn=on_a_full_disk,
            )
            self.assertEqual(done.returncode, 6, done.stderr)
            self.assertIn(f"{name}.tmp: cannot ", done.stderr)
            self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_evaluate_measures_what_it_is_told_to(self):
        self.passes("fit", "run.yaml")
        measured = self.json("evaluate", "run.yaml")["metrics"]
        more = self.json("evaluate", "run.yaml", "fit.metrics=[accuracy, sparse_categorical_crossentropy]")["metrics"]
        self.assertEqual(list(measured), ["loss"])
        self.assertEqual(list(more), ["accuracy", "loss", "sparse_categorical_crossentropy"])
        self.assertEqual(more["loss"], measured["loss"])
        self.assertAlmostEqual(more["sparse_categorical_crossentropy"], more["loss"], 5)
        words = ("evaluate", "runs/run/1/best.keras", "data=test.csv")
        other = self.json(*words, "fit.loss={sparse_categorical_crossentropy: {ignore_class: 0}}")["metrics"]
        self.assertNotEqual(other["loss"], measured["loss"])
        self.assertEqual(self.json(*words)["metrics"], measured)

    def test_rows_of_another_shape(self):
        self.passes("fit", "run.yaml")
        self.write("x.npy", npy((2, 5), [0.5] * 10))
        self.refuses(2, "x.npy: a row has the shape [5], but the model's input", "wants [2]", "train a model",
                     words=("predict", "runs/run/1/best.keras", "data.x=x.npy", "--output", "out.csv"))

    def test_models_with_several_inputs_are_for_programs(self):
        self.write("x.npy", npy((2, 5), [0.5] * 10))
        model = pathlib.Path(__file__).parent.parent / "golden/fits/two_branch/model.keras"
        for words in (("fit",), ("evaluate",), ("predict", "--output", "out.csv")):
            self.refuses(2, "the model has 2 inputs and ", "a run file has data for one of each; use it in C++",
                         words=(words[0], str(model), *words[1:], "data.x=x.npy", "data.y=x.npy"))

    def test_layers_are_those_that_were_trained(self):
        self.passes("fit", "run.yaml")
        for words in (("evaluate", "run.yaml"), ("predict", "run.yaml", "--output", "out.csv")):
            self.refuses(2, "model.0.dense.units=9: runs/run/1/best.keras was trained with the layers that it has",
                         "snug fit run.yaml model.0.dense.units=9", words=(*words, "model.0.dense.units=9"))

    @unittest.skipIf(SANITIZED, "a budget")
    def test_a_budget_that_is_too_small(self):
        self.passes("fit", "run.yaml")
        for words in (("predict", "run.yaml", "--output", "out.csv"), ("evaluate", "run.yaml")):
            line = self.refuses(3, "--memory 8MiB: ", "does not fit the budget of 8.0 MiB", "it fits with --memory ",
                                words=(*words, "--memory", "8MiB"))
            least = line.split("it fits with --memory ")[1]
            peak = self.json(*words, "--memory", least)["peak_resident_bytes"]
            self.assertLessEqual(peak, float(least.removesuffix("MiB")) * (1 << 20))

    def test_two_classes_by_one_number(self):
        self.write("rows.csv", "a,sort\n" + "".join(f"{i / 100},{'no' if i < 50 else 'yes'}\n" for i in range(100)))
        self.edit(", validation: test.csv", "", "units: 3, activation: softmax", "units: 1, activation: sigmoid",
                  "sparse_categorical", "binary")
        self.passes("fit", "run.yaml")
        for change in ((), ("from_logits",)):
            if change:
                self.edit(", validation: test.csv", "", "units: 3, activation: softmax", "units: 1",
                          "sparse_categorical_crossentropy", "{binary_crossentropy: {from_logits: true}}")
                self.passes("fit", "run.yaml")
            self.passes("predict", "run.yaml", "--output", "out.csv")
            rows = self.predictions()
            self.assertEqual(list(rows[0]), ["yes", "class"])
            self.assertEqual((rows[3]["class"], rows[96]["class"]), ("no", "yes"))

    def test_labels_are_not_needed_and_not_looked_at(self):
        self.passes("fit", "run.yaml")
        self.write_rows("new.csv", 5, 3)
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "out.csv")
        expected = self.predictions()
        self.write("new.csv", self.read("new.csv").replace('"top"', "?").replace('"middle"', "never seen"))
        self.assertIn("5 rows by", self.passes("predict", "run.yaml", "data=new.csv", "--output", "out.csv"))
        self.assertEqual(self.predictions(), expected)
        self.write_rows("new.csv", 5, 3, label=False)
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "out.csv")
        self.assertEqual(self.predictions(), expected)

    def test_what_was_left_out_is_told_by_the_others(self):
        self.passes("fit", "run.yaml")
        self.write_rows("new.csv", 6, 3, label=False)
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "out.csv")
        expected = self.predictions()
        lines = self.read("new.csv").splitlines()
        self.write("new.csv", "\n".join([*lines[:3], "one,two", *lines[3:]]) + "\n")
        skip = ("data=new.csv", "data.on_bad_row=skip", "data.bad_rows_at_most=0.5", "--output")
        self.passes("predict", "run.yaml", *skip, "out.csv")
        rows = self.predictions()
        self.assertEqual([row.pop("position") for row in rows], [f"line {i}" for i in (2, 3, 5, 6, 7, 8)])
        self.assertEqual(rows, expected)
        self.assertIn("1 bad rows were left out", self.says("predict", "run.yaml", *skip, "out.npy"))
        self.write("other.csv", "\n".join(lines) + "\n")
        self.passes("predict", "run.yaml", "data=[new.csv, other.csv]", *skip[1:], "out.csv")
        self.assertEqual(self.predictions()[-1]["position"], "other.csv: line 7")

    def test_bad_rows_are_kept(self):
        """Not in the cache, which is cleaned."""
        self.passes("fit", "run.yaml")
        self.write_rows("new.csv", 6, 3)
        rows = self.read("new.csv").splitlines()
        self.write("new.csv", "\n".join([*rows[:3], "one,two", *rows[3:]]) + "\n")
        words = ("data=new.csv", "data.on_bad_row=quarantine", "data.bad_rows_at_most=1")
        for command in (("predict", "run.yaml", "--output", "out.csv"), ("evaluate", "run.yaml")):
            self.assertIn("the bad rows are in runs/run.rejected.csv", self.says(*command, *words))
            self.assertIn("line 4", self.read("runs/run.rejected.csv"))
            (self.folder / "runs/run.rejected.csv").unlink()

    def test_data_is_not_written_over(self):
        self.passes("fit", "run.yaml")
        self.write_rows("new.csv", 5, 3)
        before = self.read("new.csv")
        (self.folder / "link.csv").symlink_to("new.csv")
        for data in ("data=new.csv", "data=[test.csv, new.csv]", "data=n*.csv"):
            for output in ("new.csv", "link.csv", "./new.csv"):
                self.refuses(2, f"--output {output}: this file is among the data", words=("predict", "run.yaml", data, "--output", output))
        self.assertEqual(self.read("new.csv"), before)
        self.assertEqual([path.name for path in self.folder.glob("*.tmp")], [])

    def test_what_was_trained_on_is_not_written_over(self):
        """Though other rows are read now."""
        self.write_rows("own.csv", 300, 1)
        self.write_rows("new.csv", 5, 3)
        self.passes("fit", "run.yaml", "data=own.csv")
        before = [self.read(name) for name in ("rows.csv", "test.csv", "own.csv")]
        for start, name, what in (("run.yaml", "rows.csv", "the run file names"), ("run.yaml", "test.csv", "the run file names"),
                                  ("run.yaml", "own.csv", "the model was trained on"), ("runs/run/1/best.keras", "own.csv", "the model was trained on")):
            self.refuses(2, f"--output {name}: this file is among the data that {what}", words=("predict", start, "data=new.csv", "--output", name))
        self.assertEqual([self.read(name) for name in ("rows.csv", "test.csv", "own.csv")], before)
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "o.csv")
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "o.csv")

    def test_weights_alone_are_no_model(self):
        self.passes("fit", "run.yaml")
        self.passes("convert", "runs/run/1/best.keras", "m.weights.h5")
        for command in (("evaluate",), ("predict", "--output", "o.csv"), ("fit",), ("summary",)):
            self.refuses(2, "m.weights.h5: it holds weights alone", "give the .keras or .h5 file of the model",
                         words=(*command, "m.weights.h5", *(["data=rows.csv"] if command != ("summary",) else [])))

    def test_columns_are_found_by_their_names(self):
        self.passes("fit", "run.yaml")
        self.write_rows("new.csv", 20, 3, label=False)
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "out.csv")
        expected = self.predictions()
        rows = [line.split(",") for line in self.read("new.csv").splitlines()]
        self.write("new.csv", "".join(f"{b},more,{a}\n" for a, b in rows))
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "out.csv")
        self.assertEqual(self.predictions(), expected)

    def test_rows_that_are_given_are_the_ones_that_are_read(self):
        self.passes("fit", "run.yaml")
        self.write_rows("new.csv", 7, 4)
        self.assertIn("30 rows of validation data by", self.passes("predict", "run.yaml", "--output", "out.csv"))
        self.passes("predict", "run.yaml", "data=new.csv", "--output", "out.csv")
        self.assertEqual(len(self.predictions()), 7)
        self.assertIn(", 7 rows", self.passes("evaluate", "run.yaml", "data=new.csv"))
        self.edit(", validation: test.csv", "", "validation_split: 0,", "validation_split: 0.1,")
        self.assertIn(", 7 rows", self.passes("evaluate", "run.yaml", "data=new.csv"))


class Pictures(Case):
    RUN_FILE = """\
data: {train: {image_folder: pics, image_size: [8, 8]}}
model: [rescaling: 1/255, flatten, dense: {units: 2, activation: softmax}]
fit: {loss: sparse_categorical_crossentropy, optimizer: {adam: 0.05}, metrics: [accuracy], epochs: 20, verbose: 0}
"""

    def setUp(self):
        super().setUp()
        for i in range(20):
            self.write(f"pics/blue/{i}.png", png(8, 8, (10, 20, 200 + i)))
            self.write(f"pics/red/{i}.png", png(8, 8, (200 + i, 20, 10)))

    def test_folders_are_the_names(self):
        self.passes("fit", "run.yaml")
        self.write("new/1.png", png(9, 9, (210, 25, 12)))
        self.passes("predict", "run.yaml", "data.train.image_folder=new", "--output", "out.csv")
        lines = self.read("out.csv").splitlines()
        self.assertEqual(lines[0], "file,blue,red,class")
        self.assertTrue(lines[1].startswith("new/1.png,") and lines[1].endswith(",red"), lines)

    def test_a_prediction_says_its_picture(self):
        """Whichever were left out."""
        self.passes("fit", "run.yaml")
        for name, colour in (("a", (210, 25, 12)), ("b, c", (12, 25, 210)), ("d", (205, 25, 12))):
            self.write(f"new/{name}.png", png(9, 9, colour))
        self.write("new/broken.png", png(9, 9, (1, 2, 3))[:-30])
        self.passes("predict", "run.yaml", "data.train.image_folder=new", "data.on_bad_row=skip", "data.bad_rows_at_most=0.5",
                    "--output", "out.csv")
        with open(self.folder / "out.csv", newline="") as file:
            found = [(row["file"], row["class"]) for row in csv.DictReader(file)]
        self.assertEqual(found, [("new/a.png", "red"), ("new/b, c.png", "blue"), ("new/d.png", "red")])

    def test_a_model_knows_how_to_read_other_pictures(self):
        """Their size and colours, though nothing says them: of the model's file alone, and of validation data."""
        self.edit("image_size: [8, 8]}", "image_size: [6, 7], color_mode: grayscale}, validation: {image_folder: new}")
        self.write("new/blue/1.png", png(9, 9, (10, 20, 210)))
        self.write("new/red/1.png", png(9, 9, (210, 25, 12)))
        self.passes("fit", "run.yaml")
        words = ("predict", "runs/run/1/best.keras", "data.train.image_folder=new/red", "--output", "out.csv")
        self.passes(*words)
        lines = self.read("out.csv").splitlines()
        self.assertEqual(lines[0], "file,blue,red,class")
        self.assertEqual(len(lines), 2)
        self.fails(2, *words, "data.train.image_size=[9, 9]")

    def test_another_folder_is_read_whole(self):
        """Though the run file trains on a part of its own; a part is taken where the command line asks for it."""
        part = "image_size: [8, 8], validation_split: 0.25, seed: 1, subset: "
        self.edit("{image_folder: pics, image_size: [8, 8]}",
                  f"{{image_folder: pics, {part}training}}, validation: {{image_folder: pics, {part}validation}}")
        self.passes("fit", "run.yaml")
        for i in range(8):
            self.write(f"new/red/{i}.png", png(9, 9, (210, 25, i)))
        for folder, settings, rows in (("train", [], 8), ("validation", [], 8), ("train", ["data.train.subset=validation"], 2)):
            self.passes("predict", "run.yaml", f"data.{folder}.image_folder=new", *settings, "--output", "out.csv")
            self.assertEqual(len(self.read("out.csv").splitlines()), 1 + rows)
        self.assertEqual(self.json("evaluate", "run.yaml", "data.train.image_folder=new")["rows"], 8)

    def test_a_class_keeps_its_number(self):
        self.passes("fit", "run.yaml")
        self.write("test/red/1.png", png(9, 9, (210, 25, 12)))
        scored = self.json("evaluate", "run.yaml", "data.train.image_folder=test")
        self.assertEqual(scored["metrics"]["accuracy"], 1)
        self.write("test/green/1.png", png(9, 9, (10, 225, 12)))
        self.refuses(2, '"green" is no class of the training data, which has blue, red',
                     words=("evaluate", "run.yaml", "data.train.image_folder=test"))


class Texts(Case):
    RUN_FILE = """\
data: {train: {text: t.txt, labels: l.txt, sequence_length: 3}}
model: [embedding: {input_dim: 12, output_dim: 4}, flatten, dense: {units: 2, activation: softmax}]
fit: {loss: sparse_categorical_crossentropy, optimizer: {adam: 0.05}, epochs: 30, verbose: 0}
"""

    def test_a_model_knows_how_to_read_other_texts(self):
        self.write("t.txt", "good film\nbad film\n" * 6)
        self.write("l.txt", "pos\nneg\n" * 6)
        self.passes("fit", "run.yaml")
        self.write("new.txt", "GOOD!\nbad\n")
        for model in ("run.yaml", "runs/run/1/last.keras"):
            self.passes("predict", model, "data=new.txt", "--output", "out.csv")
            lines = self.read("out.csv").splitlines()
            self.assertEqual(lines[0], "neg,pos,class")
            self.assertEqual([line.split(",")[2] for line in lines[1:]], ["pos", "neg"])
        self.save_without_columns("runs/run/1/last.keras")
        self.write("bare.yaml", "data: {train: {text: new.txt, sequence_length: 3}}\nmodel: bare.keras\nfit: {batch_size: 8}\n")
        self.refuses(2, "does not say which words it has learned", words=("predict", "bare.yaml", "--output", "out.csv"))
        self.refuses(2, "which labels do the lines have?", words=("evaluate", "runs/run/1/last.keras", "data=new.txt"))
        self.write("one.txt", "pos\npos\n")
        scored = self.json("evaluate", "run.yaml", "data.train={text: new.txt, labels: one.txt}")
        self.assertEqual(scored["rows"], 2)

    def test_predictions_that_are_no_numbers_have_no_class(self):
        """Of a text without words, masked, nothing is left to be averaged: NaN, in Keras too."""
        self.edit("output_dim: 4}, flatten", "output_dim: 4, mask_zero: true}, global_average_pooling1d")
        self.write("t.txt", "good film\nbad film\n" * 6)
        self.write("l.txt", "pos\nneg\n" * 6)
        self.passes("fit", "run.yaml")
        self.write("new.txt", "good\n\nbad\n...\n")
        words = ("predict", "run.yaml", "data=new.txt", "--output", "out.csv")
        self.assertIn("warning: 2 of 4 rows have predictions that are not finite, the first of them new.txt: ",
                      self.says(*words))
        lines = self.read("out.csv").splitlines()[1:]
        self.assertEqual([line.split(",")[2] for line in lines], ["pos", "", "neg", ""])
        self.assertEqual(lines[1], "nan,nan,")
        self.assertEqual(self.json(*words)["rows_not_finite"], 2)
        self.write("one.txt", "pos\n" * 4)
        text = self.says("evaluate", "run.yaml", "data.train={text: new.txt, labels: one.txt}")
        self.assertIn("warning: loss is not finite", text)
        self.assertIn(" - loss: nan", text)


if __name__ == "__main__":
    snug_case.main()
