"""What the program says about a run before it starts and while it goes astray.

usage: judgement_test.py SNUG     SNUG is the program
"""

import unittest

import snug_case
from snug_case import SANITIZED, ArraysCase, Case, npy


class BeforeTheData(Case):
    RUN_FILE = """\
data: {train: rows.csv, label: y}
model:
  - dense: {units: 4, activation: relu}
  - dense: {units: 1, activation: sigmoid}
fit: {loss: binary_crossentropy}
"""

    def setUp(self):
        super().setUp()
        # Its last row is bad: whoever reads all of it says so.
        self.write("rows.csv", "a,b,y\n" + "0.5,0.25,1\n0.5,0.75,0\n" * 50 + "x,1,1\n")

    def test_the_data_is_read_when_the_model_is_right(self):
        self.refuses(4, "rows.csv: line 102, column a is \"x\"")

    def test_mistakes_in_the_model_are_found_first(self):
        self.edit("- dense: {units: 1,", "- conv2d: {filters: 4, kernel_size: 3}\n  - dense: {units: 1,")
        self.refuses(2, "run.yaml:4: ", "conv2d", "[rows, 4]")
        self.edit("activation: relu", "activation: rellu")
        self.refuses(2, "run.yaml:3: ", "rellu")
        self.edit("activation: sigmoid", "activation: softmax")
        self.refuses(2, "run.yaml:5: ", "softmax over 1 unit")
        self.edit("binary_crossentropy", "binary_crossentropy, optimizer: {adam: {learning_rate: -1}}")
        self.refuses(2, "run.yaml:5: ", "learning_rate is -1")

    def test_what_depends_on_the_width_waits(self):
        """The table has two columns, which become three numbers."""
        self.write("rows.csv", "a,b,y\n" + "u,0.25,1\nv,0.75,0\n" * 50)
        self.edit("- dense: {units: 4", "- reshape: [3, 1]\n  - flatten\n  - dense: {units: 4")
        self.passes("fit", "run.yaml")

    def test_a_width_that_only_the_data_tells(self):
        """Columns of texts and dropped ones, flags, other delimiters: what becomes of them is known when they are read."""
        pixels = ";".join(f"p{i}" for i in range(400))
        row = ";".join("0.5" for _ in range(400))
        self.write("rows.csv", f"name;id;y;{pixels}\n" + "".join(f"picture {i};{i};{i % 2};{row}\n" for i in range(600)))
        self.edit("label: y", 'label: y, delimiter: ";", columns: {id: {use: drop}}',
                  "- dense: {units: 4", "- reshape: [20, 20, 1]\n  - flatten\n  - dense: {units: 4")
        self.passes("fit", "run.yaml")
        self.edit("label: y", "label: y, columns: {id: {use: drop}}",
                  "- dense: {units: 4", "- reshape: [20, 20]\n  - conv2d: {filters: 4, kernel_size: 3}\n  - dense: {units: 4")
        self.refuses(2, "run.yaml:")

    def test_pictures_and_texts(self):
        self.write("pics/a/1.png", "no picture")
        self.edit("train: rows.csv, label: y", "train: {image_folder: pics, image_size: [8, 8]}",
                  "- dense: {units: 4", "- conv2d: {filters: 2, kernel_size: 9}\n  - dense: {units: 4")
        self.refuses(2, "run.yaml:3: ", "conv2d")
        self.write("t.txt", "a\n")
        self.edit("train: rows.csv, label: y", "train: {text: t.txt, labels: absent.txt, sequence_length: 3}",
                  "- dense: {units: 4", "- embedding: {input_dim: 9, output_dim: 2}\n  - conv2d: {filters: 2, kernel_size: 3}\n  - dense: {units: 4")
        self.refuses(2, "run.yaml:4: ", "conv2d")


class Suggestions(ArraysCase):
    def test_nothing_is_suggested_that_nobody_can_have_meant(self):
        for old, new in (("- dropout: 0.1", "- lstm: 8"), ("optimizer: adam", "optimizer: lbfgs"), ("epochs: 2", "patience: 2"),
                         ("binary_crossentropy", "triplet"), ("activation: relu", "activation: cosine")):
            self.edit(old, new)
            self.assertNotIn("did you mean", self.refuses(2, "run.yaml:"), new)
        self.refuses(2, "there are fit, plan", words=("launch", "run.yaml"))
        self.refuses(2, "there are", "adam", "sgd", words=("fit", "run.yaml", "fit.optimizer=lbfgs"))


class LossesAndLabels(Case):
    """What is wrong between the last layer, the loss and the labels is said with what would be right."""

    LABELS = {"classes": ((24,), [i % 3 for i in range(24)], "<i8"),
              "column": ((24, 1), [i % 3 for i in range(24)], "<i8"),
              "floats": ((24,), [float(i % 3) for i in range(24)], "<f4"),
              "from_1": ((24,), [i % 3 + 1 for i in range(24)], "<i8"),
              "two": ((24,), [i % 2 for i in range(24)], "<i8"),
              "signs": ((24,), [2 * (i % 2) - 1 for i in range(24)], "<i8"),
              "one_hot": ((24, 3), [float(k == i % 3) for i in range(24) for k in range(3)], "<f4"),
              "amounts": ((24,), [i / 7 - 1.1 for i in range(24)], "<f4"),
              "triples": ((24, 3), [i / 7 - 1.1 for i in range(72)], "<f4")}
    SPARSE, ONE_HOT, BINARY = "sparse_categorical_crossentropy", "categorical_crossentropy", "binary_crossentropy"

    def setUp(self):
        super().setUp()
        self.write("x.npy", npy((24, 2), [i / 48 for i in range(48)]))

    def fit(self, labels, head, loss):
        self.write("y.npy", npy(*self.LABELS[labels]))
        self.write("run.yaml", f"""\
data: {{train: {{x: x.npy, y: y.npy}}}}
model: [dense: {{{head}}}]
fit: {{loss: {loss}, metrics: [accuracy], epochs: 1, verbose: 0, checkpoint: off}}
""")
        return self.snug("fit", "run.yaml")

    def test_the_hint_points_the_right_way(self):
        three, two, one = ("units: 3, activation: softmax", "units: 2, activation: softmax", "units: 1, activation: sigmoid")
        for labels, head, loss, code, hint in (
                ("classes", three, self.ONE_HOT, 2, f"numbers of classes go with {self.SPARSE}"),
                ("column", three, self.ONE_HOT, 2, f"numbers of classes go with {self.SPARSE}"),
                ("floats", three, self.ONE_HOT, 2, f"numbers of classes go with {self.SPARSE}"),
                ("classes", three, self.BINARY, 2, f"numbers of classes go with {self.SPARSE}"),
                ("two", two, self.BINARY, 2, f"numbers of classes go with {self.SPARSE}"),
                ("classes", "units: 3", "mse", 2, "amounts with a last layer of 1 unit"),
                ("one_hot", three, self.SPARSE, 2, f"or use {self.ONE_HOT} for one-hot rows"),
                ("one_hot", one, self.BINARY, 2, "give the last layer 3 units"),
                ("triples", "units: 1", "mse", 2, "give the last layer 3 units"),
                ("two", one, self.SPARSE, 2, f"use {self.BINARY}"),
                ("two", "units: 1, activation: softmax", self.BINARY, 2, 'use activation "sigmoid"'),
                ("two", "units: 1", self.BINARY, 2, 'end in activation "sigmoid"'),
                ("classes", "units: 3", self.SPARSE, 2, 'end in activation "softmax"'),
                ("from_1", three, self.SPARSE, 4, "where your labels are 1 to 3, take 1 off each"),
                ("from_1", two, self.SPARSE, 4, "more units"),
                ("signs", two, self.SPARSE, 4, "from 0 on"),
                ("signs", one, self.BINARY, 4, "use hinge"),
                ("classes", one, self.BINARY, 4, self.SPARSE),
                ("amounts", one, self.BINARY, 4, "for amounts, use mse"),
                ("amounts", three, self.SPARSE, 4, "for amounts, use a loss such as mse")):
            done = self.fit(labels, head, loss)
            with self.subTest(labels=labels, head=head, loss=loss):
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(hint, done.stderr)
        self.assertIn("mse for amounts", self.fit("triples", three, self.ONE_HOT).stderr)

    def test_what_goes_together_passes(self):
        three, two, one = ("units: 3, activation: softmax", "units: 2, activation: softmax", "units: 1, activation: sigmoid")
        for labels, head, loss in (("classes", three, self.SPARSE), ("column", three, self.SPARSE), ("floats", three, self.SPARSE),
                                   ("one_hot", three, self.ONE_HOT), ("two", one, self.BINARY), ("two", two, self.SPARSE),
                                   ("signs", "units: 1, activation: tanh", "hinge"), ("amounts", "units: 1", "mse")):
            done = self.fit(labels, head, loss)
            self.assertEqual((done.returncode, done.stderr), (0, ""), (labels, head, loss))


class Ids(Case):
    RUN_FILE = """\
data: {train: {x: x.npy, y: y.npy}}
model: [embedding: {input_dim: 10, output_dim: 4}, flatten, dense: {units: 1, activation: sigmoid}]
fit: {loss: binary_crossentropy, batch_size: 4, epochs: 2}
"""

    def write_ids(self, bad, at=25, descr="<i4"):
        ids = [i % 10 for i in range(60)]
        ids[at] = bad
        self.write("x.npy", npy((20, 3), ids, descr))
        self.write("y.npy", npy((20,), [i % 2 for i in range(20)], "<i8"))

    def test_an_id_that_the_embedding_does_not_have_is_named_with_its_row(self):
        for bad, descr in ((10, "<i4"), (-1, "<i8"), (2000000, "<f4")):
            self.write_ids(bad, descr=descr)
            self.refuses(4, f"x.npy: row 8 has the id {bad} in column 1, but an embedding has ids 0 to 9", "input_dim")
        self.write_ids(9)
        self.passes("fit", "run.yaml")
        self.write_ids(10)
        for command in ("evaluate", "predict"):
            words = (command, "run.yaml", *(("--output", "o.csv") if command == "predict" else ()))
            self.refuses(4, "x.npy: row 8 has the id 10 in column 1", words=words)

    def test_such_rows_can_be_left_out(self):
        self.write_ids(10)
        self.edit("y: y.npy}", "y: y.npy}, on_bad_row: quarantine, bad_rows_at_most: 0.1")
        self.assertEqual(self.fits()["bad_rows"], 1)
        self.assertIn("row 8", self.read("runs/run/1/rejected.csv"))
        self.assertIn("10", self.read("runs/run/1/rejected.csv"))


class Divergence(ArraysCase):
    def test_a_rate_that_makes_it_worse_than_nothing_is_not_passed_over(self):
        """Two epochs of Adam at 1e6, with each kind of head."""
        for changes in ((), ("binary_crossentropy", "mse"), ("binary_crossentropy", "mse", ", activation: sigmoid", "")):
            self.edit("optimizer: adam", "optimizer: {adam: 1e6}", *changes)
            done = self.snug("fit", "run.yaml")
            self.assertIn(done.returncode, (0, 5))
            self.assertRegex(done.stderr, "learning rate", changes)


@unittest.skipIf(SANITIZED, "a budget")
class Budgets(ArraysCase):
    def test_plan_and_fit_judge_alike(self):
        """At every budget near the least one, but for the one where the pages of libraries that are resident decide:
        they differ by a tenth of a MiB from process to process."""
        line = self.refuses(3, "it fits with --memory", words=("fit", "run.yaml", "--memory", "4MiB"))
        least = float(line.split("it fits with --memory ")[1].split("MiB")[0])
        verdicts = []
        for tenth in range(-30, 6, 3):
            memory = ("--memory", f"{least + tenth / 10:.1f}MiB")
            codes = [self.snug(*words, *memory).returncode
                     for words in (("plan", "run.yaml"), ("fit", "run.yaml", "--dry-run"), ("fit", "run.yaml"))]
            verdicts.append((tenth, codes))
        self.assertLessEqual(sum(len(set(codes)) > 1 for _, codes in verdicts), 1, verdicts)
        self.assertEqual(verdicts[-1][1], [0, 0, 0])


if __name__ == "__main__":
    snug_case.main()
