"""Which run is gone on with, whatever begins beside it, and what is said of a project that has changed meanwhile.

usage: resume_test.py SNUG     SNUG is the program
"""

import fcntl
import json
import os
import select
import shlex
import subprocess
import time

import snug_case
from snug_case import ArraysCase, Case

PAGE = 4096


class Beside(ArraysCase):
    """Programs that stand still: what they print does not go into a pipe that is full."""

    def pipe(self):
        """Of one page."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PAGE)
        return reader, writer

    def start(self, writer, *words):
        process = subprocess.Popen(self.command(*words), cwd=self.folder, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        self.addCleanup(process.stderr.close)
        return process

    def rest(self, process, reader):
        """What it prints from now to its end, which is a good one."""
        text = b""
        while part := os.read(reader, PAGE):
            text += part
        error = process.stderr.read()
        self.assertEqual(process.wait(timeout=60), 0, error)
        return text.decode()

    def test_which_run_it_is_is_decided_once(self):
        """A run that appears when the newest was chosen changes nothing."""
        self.passes("fit", "run.yaml", "data.x=" + 3000 * "./" + "x.npy")
        reader, writer = self.pipe()
        process = self.start(writer, "fit", "run.yaml", "--resume", "--epochs", "4")
        # It has begun to print what it was started with.
        self.assertTrue(select.select([reader], [], [], 60)[0])
        (self.folder / "runs/run/2").mkdir()
        self.assertIn("\nKept:   runs/run/1/", self.rest(process, reader))
        self.assertEqual(json.loads(self.read("runs/run/1/summary.json"))["epochs"], 4)
        self.assertEqual(sorted(path.name for path in (self.folder / "runs/run").iterdir()), ["1", "2"])
        self.assertEqual(list((self.folder / "runs/run/2").iterdir()), [])

    def test_a_run_that_just_begins_was_not_stopped(self):
        reader, writer = self.pipe()
        os.write(writer, bytes(PAGE))
        process = self.start(writer, "fit", "run.yaml")
        # It has its directory, and waits to say so.
        while not (self.folder / "runs/run/1/run.yaml").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        self.refuses(6, "runs/run/1/checkpoints: process ", "is using this directory", "--run N",
                     words=("fit", "run.yaml", "--resume"))
        self.assertIn("\nKept:   runs/run/1/", self.rest(process, reader))
        self.assertEqual([path.name for path in (self.folder / "runs/run").iterdir()], ["1"])


class Moved(Case):
    """A table in a project folder that the program is called in."""

    RUN_FILE = """\
data: {train: data/rows.csv, validation: ../all.csv, label: y}
model: [dense: {units: 4, activation: relu}, dense: {units: 1, activation: sigmoid}]
fit: {loss: binary_crossentropy, epochs: 1}
"""

    def setUp(self):
        super().setUp()
        self.outer = self.folder
        self.folder = self.outer / "old"
        self.write("run.yaml", self.RUN_FILE)
        self.write_rows("data/rows.csv")
        self.write_rows("../all.csv")

    def write_rows(self, name, word="red"):
        lines = [f"{i},{word if i % 3 else 'green'},{i % 2}" for i in range(60)]
        self.write(name, "a,colour,y\n" + "\n".join(lines) + "\n")

    def test_a_project_that_was_moved_is_the_same(self):
        self.passes("fit", "run.yaml")
        (self.outer / "deep").mkdir()
        self.folder = self.folder.rename(self.outer / "deep/new")
        self.write_rows("../all.csv")
        self.assertNotIn("has changed", self.says("fit", "run.yaml", "--resume", "--epochs", "2"))
        # Another file is another one.
        self.write_rows("data/more.csv")
        self.edit("data/rows.csv", "data/more.csv")
        text = self.says("fit", "run.yaml", "--resume", "--epochs", "3")
        self.assertIn("the run file has changed since this run was started last: data.train is ", text)
        self.assertIn("/deep/new/data/more.csv, and was ", text)

    def test_numbers_that_were_refused_where_they_are_missing_are_no_change(self):
        """As runs from before have them, whose numbers are missing nowhere."""
        self.passes("fit", "run.yaml")
        resolved = self.read("runs/run/1/run.yaml")
        self.assertIn("missing: mean", resolved)
        self.write("runs/run/1/run.yaml", resolved.replace("missing: mean", "missing: refuse"))
        self.assertNotIn("warning", self.says("fit", "run.yaml", "--resume", "--epochs", "2"))

    def test_what_was_learned_of_other_data_is_no_edit(self):
        self.passes("fit", "run.yaml")
        rows = self.read("data/rows.csv").replace("red", "1").replace("green", "2")
        for name in ("data/rows.csv", "../all.csv"):
            self.write(name, rows)
        done = self.snug("fit", "run.yaml", "--resume", "--epochs", "2")
        self.assertNotIn("the run file has changed", done.stderr)
        self.assertIn("the columns of the data are not what they were when this run was started last: "
                      "data.columns.colour.missing is mean, and was category; data.columns.colour.use is standardise, and was one_hot",
                      done.stderr)
        self.assertNotIn("take the changes back", done.stderr)
        # What the file says itself is an edit.
        self.edit("label: y", "label: y, columns: {a: min_max}")
        done = self.snug("fit", "run.yaml", "--resume", "--epochs", "2")
        self.assertIn("the run file has changed since this run was started last: data.columns.a.use is min_max, and was standardise.", done.stderr)


class Backup(ArraysCase):
    """backup_and_restore has a folder of its own, and empties it at the end."""

    WORDS = ("fit", "run.yaml", "fit.callbacks=[backup_and_restore: backup]")

    def test_a_run_that_came_to_its_end_is_not_trained_over(self):
        text = self.passes(*self.WORDS, "--epochs", "2")
        self.assertNotIn("--resume", text)
        before = (self.folder / "runs/run/1/last.keras").read_bytes()
        line = self.refuses(2, "runs/run/1: the run came to its end and has no checkpoint", words=(*self.WORDS[:2], "--resume", "--epochs", "4"))
        self.assertEqual((self.folder / "runs/run/1/last.keras").read_bytes(), before)
        self.assertEqual(self.json(*shlex.split(line[line.index("snug fit run.yaml"):])[1:])["directory"], "runs/run/2")

    def test_one_that_keeps_its_backup_goes_on(self):
        text = self.passes("fit", "run.yaml", "fit.callbacks=[backup_and_restore: {backup_dir: backup, delete_checkpoint: false}]", "--epochs", "1")
        advised = next(line for line in text.splitlines() if "train longer" in line)
        self.assertIn("Going on from backup/", self.passes(*shlex.split(advised[advised.index("snug "):])[1:]))
        self.assertEqual(json.loads(self.read("runs/run/1/summary.json"))["epochs"], 2)


class Named(ArraysCase):
    """--run, where it is given and where it is not."""

    def test_advice_names_the_run_that_was_named(self):
        self.passes("fit", "run.yaml")
        self.passes("fit", "run.yaml")
        self.write_x([3e38] * (self.ROWS * self.FEATURES))
        text = self.says("evaluate", "run.yaml", "--run", "1")
        advised = text[text.index("snug predict"):].splitlines()[0]
        self.assertEqual(advised, "snug predict run.yaml --run 1 --output predictions.csv")
        self.assertIn("runs/run/1/best.keras", self.says(*shlex.split(advised)[1:]))

    def test_a_model_file_is_of_no_run(self):
        self.passes("fit", "run.yaml")
        model, data = "runs/run/1/best.keras", ("data.x=x.npy", "data.y=y.npy")
        for command in (("evaluate",), ("predict", "--output", "o.csv")):
            self.refuses(2, "--run 1: the model is the file ", model, "leave --run out", words=(*command, model, *data, "--run", "1"))
            self.refuses(2, "--run 1: the model is the file ", words=(*command, "run.yaml", f"model={model}", "--run", "1"))
            self.passes(*command, model, *data)

    def test_an_older_run_of_a_model_file_advises_what_can_be_run(self):
        self.passes("fit", "run.yaml")
        start = ("fit", "runs/run/1/best.keras", "name=more")
        for _ in range(2):
            self.passes(*start, "data.x=x.npy", "data.y=y.npy")
        text = self.passes(*start, "--resume", "--run", "1", "--epochs", "4")
        self.passes(*shlex.split(text[text.index("snug predict"):].splitlines()[0])[1:])

    def test_advice_about_a_run_of_the_file_of_another_run(self):
        """That file alone means the run that it is of."""
        self.passes("fit", "run.yaml")
        text = self.passes("fit", "runs/run/1/run.yaml", "fit.seed=3")
        self.assertIn("Kept:   runs/run/2/", text)
        for advised in ("snug fit runs/run/1/run.yaml --run 2 --resume fit.epochs=4",
                        "snug predict runs/run/1/run.yaml --run 2 --output predictions.csv"):
            self.assertIn(advised + "\n", text)
            self.assertIn("runs/run/2/", self.passes(*shlex.split(advised)[1:]))
        # Of its own run it need not be said.
        self.assertIn("snug predict runs/run/1/run.yaml --output", self.passes("fit", "runs/run/1/run.yaml", "--resume", "--epochs", "4"))

    def test_a_run_without_a_model_that_nobody_has_numbered(self):
        self.passes("fit", "run.yaml")
        for model in ("best", "last"):
            (self.folder / f"runs/run/1/{model}.keras").unlink()
        line = self.refuses(2, "runs/run/1: this run has left no model", words=("evaluate", "runs/run/1/run.yaml"))
        self.assertNotIn("--run", line)
        self.assertIn("snug fit runs/run/1/run.yaml --resume", line)
        self.refuses(2, "runs/run/1: this run has left no model", "leave --run out", words=("evaluate", "run.yaml", "--run", "1"))


if __name__ == "__main__":
    snug_case.main()
