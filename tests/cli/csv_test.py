"""CSV files as users meet them: snug fit and snug check on clean and on dirty tables.

usage: csv_test.py SNUG     SNUG is the program
"""

import csv
import gzip
import json
import random
import shlex
import zipfile

import snug_case
from snug_case import npy

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


class Case(snug_case.Case):
    """With the tables adult.csv and test.csv."""

    RUN_FILE = """\
data: {train: adult.csv, validation: test.csv, label: income}
model:
  - dense: {units: 16, activation: relu}
  - dense: {units: 1, activation: sigmoid}
fit: {loss: binary_crossentropy, optimizer: adam, metrics: [accuracy], batch_size: 32, epochs: 5, memory: 256MiB}
"""

    def setUp(self):
        super().setUp()
        self.write_table("adult.csv", adult_rows(1000, 1))
        self.write_table("test.csv", adult_rows(200, 2))

    def write_table(self, name, rows, header="age, workclass, hours, income"):
        lines = [header] * bool(header) + [", ".join(row) for row in rows]
        self.write(name, "\n".join(lines) + "\n")


class Fit(Case):
    def test_learns_from_the_designs_example(self):
        text = self.passes("fit", "run.yaml")
        self.assertIn("Columns of adult.csv: 1000 rows, 5 numbers for the model", text)
        self.assertIn("2 classes: \"<=50K\", \">50K\"", text)
        summary = json.loads(self.read("runs/run/1/summary.json"))
        self.assertGreater(summary["metrics"]["val_accuracy"], 0.85)
        self.assertLess(summary["peak_resident_bytes"], 256 << 20)

    def test_rows_that_a_quote_has_swallowed_are_told(self):
        """Before each fit, and by check."""
        rows = adult_rows(1000, 1)
        for row in (110, 210):
            rows[row][1] = '"Private'
        self.write_table("adult.csv", rows)
        said = "adult.csv: line 112: the quoted cell runs on for 101 lines; is its closing quote missing?"
        for _ in range(2):
            self.assertIn("warning: " + said, self.says("fit", "run.yaml"))
        done = self.snug("check", "adult.csv")
        self.assertEqual(done.returncode, 4)
        self.assertIn(said, done.stdout)

    def test_texts_of_many_lines_are_no_swallowed_rows(self):
        """JSON of 14 lines in a cell: the file is clean, and a bad row is one row."""
        payload = '"{' + '\n  ""x"": 1, ""y"": 2, ""z"": 3,' * 12 + '\n}"'
        rows = [[*row[:1], payload, *row[2:]] for row in adult_rows(300, 1)]
        self.write_table("adult.csv", rows)
        self.assertNotIn("quote", self.passes("check", "adult.csv", "--label", "income"))
        for row in (10, 20, 30):
            rows[row][3] = ""
        self.write_table("adult.csv", rows)
        self.edit(", validation: test.csv, label: income", ", label: income, on_bad_row: skip")
        self.assertEqual(self.fits()["bad_rows"], 3)

    def test_lines_in_an_open_quote_are_bad_rows_of_one_record(self):
        rows = adult_rows(1000, 1)
        rows[960][1] = '"Private'
        self.write_table("adult.csv", rows)
        self.edit("label: income", "label: income, on_bad_row: quarantine")
        self.assertIn("40 bad rows were left out; their records are in ", self.says("fit", "run.yaml"))
        with open(self.folder / "runs/run/1/rejected.csv", newline="") as file:
            rejected = list(csv.DictReader(file))
        self.assertEqual(len(rejected), 1)
        self.assertIn("it runs on for 40 lines", rejected[0]["problem"])

    def test_the_resolved_file_says_what_was_chosen_and_runs_again(self):
        first = self.fits()
        resolved = self.folder / "runs/run/1/run.yaml"
        text = resolved.read_text()
        for part in ("standardise", "one_hot", "missing: mean", "label: income", str(self.folder / "adult.csv")):
            self.assertIn(part, text)
        again = self.json("fit", str(resolved))
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
        plain = self.read("adult.csv")
        lines = plain.splitlines(keepends=True)
        self.write("adult.csv.gz", gzip.compress(plain.encode()))
        self.write("part-1.csv", "".join(lines[:301]))
        self.write("part-2.csv", lines[0] + "".join(lines[301:]))
        self.write("tabs.tsv", plain.replace(",", "\t").replace("\n", "\r\n"))
        for files in ("adult.csv.gz", "part-*.csv", "[part-1.csv, part-2.csv]", "tabs.tsv"):
            self.edit("train: adult.csv", f"train: {files!r}" if "*" in files else f"train: {files}")
            self.assertEqual(self.fits()["metrics"], expected, files)

    def test_without_a_header(self):
        self.write_table("adult.csv", adult_rows(300, 3), header=None)
        self.write_table("test.csv", adult_rows(100, 4), header=None)
        self.edit("label: income", "label: 3")
        self.assertGreater(self.fits()["metrics"]["accuracy"], 0.5)

    def test_what_is_doubtful_is_said(self):
        """An index of pandas, an id, a category written in two ways: in every run."""
        rows = [[str(i), str(70000 - 3 * i), *row] for i, row in enumerate(adult_rows(1000, 1))]
        rows[7][3] = "private"
        self.write_table("adult.csv", rows, header=", id, age, workclass, hours, income")
        self.edit(", validation: test.csv", "", "memory: 256MiB", "memory: 128MiB")
        for _ in range(2):
            text = self.says("fit", "run.yaml", "--epochs", "1")
            self.assertIn("7 numbers for the model", text)
            self.assertIn("adult.csv: column 0 has no name and numbers the rows, as pandas's to_csv writes it", text)
            self.assertIn("adult.csv: column id has a whole number of its own in every row", text)
            self.assertIn("and \"private\" (once) look like one category written in two ways", text)
        self.passes("predict", "run.yaml", "data=adult.csv", "--output", "out.csv")

    def test_more_classes_than_outputs(self):
        """The classes are named before the first step, not a row with a number that nobody wrote."""
        rows = adult_rows(300, 1)
        rows[7][3] = "rich"
        self.write_table("adult.csv", rows)
        self.edit(", validation: test.csv", "")
        self.refuses(2, "run.yaml:5", "income has 3 classes (\"<=50K\", \">50K\", \"rich\"), but the model tells 2 apart",
                     "3 units, softmax, and sparse_categorical_crossentropy")
        self.edit(", validation: test.csv", "", "binary_crossentropy", "sparse_categorical_crossentropy",
                  "units: 1, activation: sigmoid", "units: 2, activation: softmax")
        self.refuses(2, "run.yaml:5", "income has 3 classes", "but the model tells 2 apart; give the last layer 3 units")

    def test_splits_by_name(self):
        rows = [[str(i), "abc"[i * 3 // 300]] for i in range(300)]
        self.write_table("adult.csv", rows, header="a, income")
        self.edit(", validation: test.csv", "")
        text = self.read("run.yaml")
        text = text.replace("units: 1, activation: sigmoid", "units: 3, activation: softmax")
        text = text.replace("binary_crossentropy", "sparse_categorical_crossentropy")
        text = text.replace("epochs: 5", "epochs: 1, validation_split: 0.2")
        self.write("run.yaml", text)
        result = self.snug("fit", "run.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("all 100 rows of class \"a\" are on the training side", result.stderr)
        for kind in ("random", "stratified"):
            self.write("run.yaml", text.replace("label: income", f"label: income, split: {kind}"))
            result = self.snug("fit", "run.yaml")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("side of the split", result.stderr)
            self.assertIn("val_loss", (self.folder / "runs/run").joinpath(max(
                (p.name for p in (self.folder / "runs/run").iterdir()), key=int), "history.csv").read_text())
        self.write("run.yaml", text.replace("label: income", "label: income, split: radnom"))
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

    def lists_all(self, *words):
        """What is printed by the command that a refusal names, pasted to a shell."""
        line = self.fails(4, *words).splitlines()[-1]
        pasted = line.split("(this lists all: snug ")[1].rsplit(")", 1)[0]
        done = self.snug(*shlex.split(pasted))
        self.assertEqual(done.returncode, 4, pasted + done.stdout + done.stderr)
        return pasted, done.stdout

    def test_what_lists_them_all_can_be_pasted(self):
        pasted, listed = self.lists_all("fit", "run.yaml")
        self.assertEqual(pasted, "check adult.csv --against run.yaml")
        for part in ("Bad rows: 3 of 300", "line 12, column age is \"forty\"", "line 22", "line 32"):
            self.assertIn(part, listed)
        self.write_table("some rows.csv", self.rows)
        pasted, listed = self.lists_all("fit", "run.yaml", "data=some rows.csv")
        self.assertEqual(pasted, "check 'some rows.csv' --label income")
        self.assertIn("line 12, column age is \"forty\"", listed)
        self.edit("label: income", "label: income, on_bad_row: skip, bad_rows_at_most: 0.001")
        self.assertIn("Bad rows: 3 of 300", self.lists_all("fit", "run.yaml")[1])

    def test_what_lists_them_all_knows_the_training_data(self):
        self.write_table("adult.csv", adult_rows(300, 5))
        self.passes("fit", "run.yaml")
        test = adult_rows(50, 6)
        test[7][3] = "<=50K."
        self.write_table("test.csv", test)
        pasted, listed = self.lists_all("fit", "run.yaml")
        self.assertEqual(pasted, "check test.csv --against run.yaml")
        self.assertIn("line 9, column income is \"<=50K.\"", listed)
        self.write_table("new.csv", [["40", "Never-seen", "40"]], header="age, workclass, hours")
        for model in ("run.yaml", "runs/run/1/last.keras"):
            pasted, listed = self.lists_all("predict", model, "data=new.csv", "--output", "o.csv")
            self.assertEqual(pasted.replace(f"{self.folder}/", ""), "check new.csv --against runs/run/1/run.yaml")
            self.assertIn("Never-seen", listed)
            self.assertIn("there is no column \"income\", the label", listed)

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

    def test_no_place_is_named_that_is_gone(self):
        """A run that never began leaves nothing."""
        self.edit("validation: test.csv, label: income", "label: income, on_bad_row: quarantine")
        text = self.fails(2, "fit", "run.yaml", "fit.callbacks=[early_stopping]")
        self.assertIn("val_loss", text)
        done = self.snug("fit", "run.yaml", "fit.callbacks=[early_stopping]")
        self.assertNotIn("rejected.csv", done.stdout + done.stderr)
        self.assertIn("3 bad rows were left out; their records are in runs/run/1/rejected.csv", self.passes("fit", "run.yaml"))
        self.assertEqual(len(self.read("runs/run/1/rejected.csv").splitlines()), 4)

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
        text = self.read("run.yaml")
        text = text.replace("units: 1, activation: sigmoid", "units: 3, activation: softmax")
        text = text.replace("binary_crossentropy", "sparse_categorical_crossentropy")
        self.write("run.yaml", text)
        self.refuses(4, "adult.csv: line ", "has the label 3", "3 outputs")
        self.write("run.yaml", 
            text.replace("label: income", "label: income, on_bad_row: skip, bad_rows_at_most: 0.5"))
        self.assertEqual(self.fits()["bad_rows"], 25)

    def test_policies_hold_for_arrays_too(self):
        values = [[float(i), 1.0] for i in range(100)]
        values[17][1] = float("nan")
        self.write("x.npy", npy((100, 2), [v for row in values for v in row]))
        self.write("y.npy", npy((100,), [i % 2 for i in range(100)], "<i8"))
        self.edit("train: adult.csv, validation: test.csv, label: income", "train: {x: x.npy, y: y.npy}, on_bad_row: quarantine")
        self.assertEqual(self.fits()["bad_rows"], 1)
        rejected = self.read("runs/run/1/rejected.csv")
        self.assertIn("row 17", rejected)
        self.assertIn("column 1 is nan", rejected)


    def test_sequences_do_not_go_over_rows_that_are_left_out(self):
        rows = [[str(i % 7), str(i % 5), str(i % 2)] for i in range(60)]
        rows[20][0] = "seven"
        self.write_table("adult.csv", rows, header="a, b, income")
        data = ", on_bad_row: skip, bad_rows_at_most: 1, timeseries: {sequence_length: 3}"
        self.edit(", validation: test.csv, label: income", ", label: income" + data, "  - dense: {units: 16", "  - flatten\n  - dense: {units: 16")
        self.refuses(2, "1 bad rows are left out, and sequences would go on over the gaps", "on_bad_row: impute")
        self.edit(", validation: test.csv, label: income", ", label: income" + data.replace("skip", "impute"),
                  "  - dense: {units: 16", "  - flatten\n  - dense: {units: 16")
        self.passes("fit", "run.yaml")

    def test_names_are_no_amounts(self):
        sorts = [[row[0], row[1]] for row in adult_rows(60, 1)]
        self.write_table("adult.csv", sorts, header="age, sort")
        self.edit(", validation: test.csv, label: income", ", label: sort, on_bad_row: skip, bad_rows_at_most: 1",
                  "loss: binary_crossentropy", "loss: mse", ", activation: sigmoid", "", ", metrics: [accuracy]", "")
        self.assertIn("the labels are names of 3 classes, and mean_squared_error takes their numbers, 0 to 2, for amounts",
                      self.says("fit", "run.yaml"))

    def test_the_guard_names_the_line_of_a_row_of_a_split(self):
        rows = adult_rows(100, 1)
        rows[60][0] = "3e38"
        self.write_table("adult.csv", rows)
        self.edit(", validation: test.csv", ", split: random, columns: {age: {use: as_is, missing: refuse}}",
                  "loss: binary_crossentropy", "loss: mse", ", activation: sigmoid", "", "epochs: 5",
                  "epochs: 5, validation_split: 0.2, seed: 3")
        self.refuses(5, " for adult.csv: line 62, the first of the step's nodes")


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

    def test_against_a_run_with_a_delimiter(self):
        """Which its first line does not tell: it has more commas."""
        for name in ("rows.csv", "new.csv"):
            self.write(name, "size, in m, if known;y\n" + "1.5;0\n2.5;1\n" * 20)
        self.write("run.yaml", 'data: {train: rows.csv, label: y, delimiter: ";"}\n')
        self.assertIn("40 rows, 2 columns", self.passes("check", "new.csv", "--against", "run.yaml"))

    def test_mistakes(self):
        self.refuses(2, "which data?", words=("check",))
        self.refuses(6, "absent.csv", words=("check", "absent.csv"))
        self.write("empty.csv", "")
        self.refuses(4, "the file is empty", words=("check", "empty.csv"))
        self.refuses(2, "no column \"incme\"", words=("check", "adult.csv", "--label", "incme"))


class Predict(Case):
    def test_raw_rows_are_read_as_the_training_data_was(self):
        """What was fitted is in the model's file: one row alone is what it is among all."""
        self.passes("fit", "run.yaml")
        model = "runs/run/1/last.keras"
        self.passes("predict", model, "data=test.csv", "--output", "all.csv")
        every = self.read("all.csv").splitlines()
        rows = adult_rows(200, 2)
        self.write_table("one.csv", [row[:3] for row in rows[17:18]], header="age, workclass, hours")
        self.passes("predict", model, "data=one.csv", "--output", "one_out.csv")
        alone = self.read("one_out.csv").splitlines()
        self.assertEqual(alone, [every[0], every[18]])
        self.refuses(2, "the data has no targets", "beside \"one.csv\" there is none", words=("evaluate", model, "data=one.csv"))
        self.passes("predict", "run.yaml", "--output", "by_run.csv")
        with zipfile.ZipFile(self.folder / model) as file:
            metadata = json.loads(file.read("metadata.json"))
        self.assertIn("snug_columns", metadata)

    def test_evaluate_and_going_on(self):
        self.passes("fit", "run.yaml")
        model = "runs/run/1/last.keras"
        self.assertIn("accuracy", self.passes("evaluate", model, "data=test.csv"))
        self.passes("fit", model, "data=adult.csv", "label=income", "fit.epochs=1")
        self.assertIn("accuracy", self.passes("evaluate", "runs/run-1-last/1/last.keras", "data=test.csv"))

    def test_what_was_fitted_goes_with_every_format(self):
        self.passes("fit", "run.yaml")
        model = "runs/run/1/last.keras"
        rows = ("data=test.csv", "--output")
        self.passes("predict", model, *rows, "keras.csv")
        expected = self.json("evaluate", model, "data=test.csv")["metrics"]
        self.passes("convert", model, "model.h5")
        self.passes("convert", "model.h5", "back.keras")
        for other in ("model.h5", "back.keras"):
            self.assertEqual(self.json("evaluate", other, "data=test.csv")["metrics"], expected)
            self.passes("predict", other, *rows, "other.csv")
            self.assertEqual(self.read("other.csv"), self.read("keras.csv"))
        self.assertIn("weights alone", self.says("convert", model, "m.weights.h5"))

    def test_rows_to_be_scored_are_not_learned_from(self):
        self.passes("fit", "run.yaml")
        self.save_without_columns("runs/run/1/last.keras")
        line = self.refuses(2, "does not say what its columns were fitted to", "age (standardise)", "workclass (one_hot)",
                            words=("evaluate", "bare.keras", "data=test.csv", "label=income"))
        self.assertIn("as_is", line)

    def test_rows_that_have_nothing_to_learn_can_be_scored(self):
        self.write_table("numbers.csv", [[str(i % 7), str(i % 3), str(i % 2)] for i in range(60)], header="a, b, y")
        self.edit("train: adult.csv, validation: test.csv, label: income",
                  "train: numbers.csv, label: y, columns: {a: {use: as_is, missing: refuse}, b: {use: as_is, missing: refuse}}")
        self.passes("fit", "run.yaml")
        expected = self.json("evaluate", "run.yaml")["metrics"]
        (self.folder / "runs/run/1/best.keras").rename(self.folder / "best.keras")
        self.save_without_columns("best.keras")
        self.write("run.yaml", self.read("run.yaml").split("model:")[0] + "model: bare.keras\nfit: {batch_size: 32}\n")
        self.assertEqual(self.json("evaluate", "run.yaml")["metrics"], expected)

    def test_a_row_that_the_model_cannot_read_is_named(self):
        self.passes("fit", "run.yaml")
        self.write_table("bad.csv", [["40", "Never-seen", "40"]], header="age, workclass, hours")
        result = self.snug("predict", "runs/run/1/last.keras", "data=bad.csv", "--output", "o.csv")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("Never-seen", result.stderr)

    def test_categories_of_other_rows_may_be_taken_for_missing_ones(self):
        """By a model that was trained without saying so."""
        self.passes("fit", "run.yaml")
        header = "age, workclass, hours"
        self.write_table("bad.csv", [["40", "Never-seen", "40"]], header)
        self.write_table("missing.csv", [["40", "?", "40"]], header)
        for words in (("runs/run/1/best.keras",), ("run.yaml",)):
            words = ("predict", *words, "--output", "o.csv")
            self.refuses(4, "(columns: {workclass: {unseen: missing}} takes it for a missing one)",
                         words=(*words, "data=bad.csv"))
            self.passes(*words, "data=missing.csv")
            expected = self.read("o.csv")
            self.passes(*words, "data=bad.csv", "data.columns={workclass: {unseen: missing}}")
            self.assertEqual(self.read("o.csv"), expected)
            for column, what in (("age", "standardise"), ("income", "the label")):
                self.refuses(2, f"column \"{column}\" is {what}, for which unseen means nothing",
                             words=(*words, "data=missing.csv", f"data.columns={{{column}: {{unseen: missing}}}}"))

    def test_a_number_that_was_missing_nowhere_may_be_missing_now(self):
        self.write_table("bad.csv", [["", "Private", "40"]], header="age, workclass, hours")
        words = ("predict", "run.yaml", "data=bad.csv", "--output", "o.csv")
        self.passes("fit", "run.yaml")
        self.passes(*words)
        expected = self.read("o.csv")
        # As models from before have it.
        self.passes("fit", "run.yaml", "data.columns={age: {missing: refuse}}")
        self.refuses(4, "column age is \"\", but a value was expected", words=words)
        self.passes(*words, "data.columns={age: {missing: mean}}")
        self.assertEqual(self.read("o.csv"), expected)

    def test_columns_stay_as_they_were_fitted(self):
        self.passes("fit", "run.yaml", "data.columns={age: min_max}")
        words = ("evaluate", "runs/run/1/best.keras", "data=test.csv")
        self.passes(*words, "data.columns={age: min_max}")
        self.refuses(2, "the model was trained with age as min_max; leave this out, or train another",
                     words=(*words, "data.columns={age: standardise}"))
        self.refuses(2, 'the model was trained on a table without a column "agee"',
                     words=(*words, "data.columns={agee: drop}"))


if __name__ == "__main__":
    snug_case.main()
