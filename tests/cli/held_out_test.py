"""What people stumbled over: which rows are scored, labels that fit no loss, files in each other's place.

usage: held_out_test.py SNUG     SNUG is the program
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

SNUG = pathlib.Path(sys.argv.pop(1)).resolve()
RUN_FILE = """\
data: {train: rows.csv, label: y}
model:
  - dense: {units: 4, activation: relu}
  - dense: {units: 1, activation: sigmoid}
fit: {loss: binary_crossentropy, optimizer: adam, epochs: 2, validation_split: 0.2, checkpoint: {every_epochs: 1}}
"""


class HeldOutTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        draw = random.Random(1)
        rows = [f"{draw.random():.3f},{draw.random():.3f},{draw.randint(0, 1)}" for _ in range(100)]
        (self.folder / "rows.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
        (self.folder / "run.yaml").write_text(RUN_FILE)

    def run_snug(self, *words):
        return subprocess.run([SNUG, *words], cwd=self.folder, capture_output=True, text=True)

    def passes(self, *words):
        done = self.run_snug(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def fails(self, code, *words):
        done = self.run_snug(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def test_evaluate_scores_the_rows_that_were_held_out(self):
        fitted = json.loads(self.passes("fit", "run.yaml", "--json"))
        self.assertIn("20 rows of validation_split", self.passes("evaluate", "run.yaml"))
        scored = json.loads(self.passes("evaluate", "runs/run/1/last.keras", "data=rows.csv", "--json"))
        self.assertEqual(scored["rows"], 100)
        (self.folder / "runs/run/1/best.keras").unlink()
        scored = json.loads(self.passes("evaluate", "run.yaml", "--json"))
        self.assertEqual(scored["rows"], 20)
        self.assertAlmostEqual(scored["metrics"]["loss"], fitted["metrics"]["val_loss"], places=5)

    def test_a_model_is_found_without_its_last_epoch(self):
        self.passes("fit", "run.yaml")
        (self.folder / "runs/run/1/last.keras").unlink()
        self.assertIn("best.keras", self.passes("evaluate", "run.yaml"))

    def test_several_checkpoints(self):
        self.passes("fit", "run.yaml")
        files = sorted(str(p.relative_to(self.folder)) for p in (self.folder / "runs/run/1/checkpoints").glob("*.ckpt"))
        self.assertEqual(len(files), 2)
        self.assertEqual(self.passes("checkpoint", "verify", *files).count("good"), 2)

    def test_labels_that_are_no_probabilities(self):
        text = (self.folder / "rows.csv").read_text().splitlines()
        text[7] = "0.1,0.2,3"
        (self.folder / "rows.csv").write_text("\n".join(text) + "\n")
        message = self.fails(4, "fit", "run.yaml")
        self.assertIn("line 8 has the label 3", message)
        self.assertIn("sparse_categorical_crossentropy", message)

    def test_data_in_the_place_of_a_run_file(self):
        message = self.fails(2, "fit", "rows.csv")
        self.assertIn("this is no run file", message)
        self.assertLess(len(message), 400)

    def test_a_budget_without_a_unit(self):
        self.assertIn("64MiB", self.fails(2, "fit", "run.yaml", "--memory", "64"))


if __name__ == "__main__":
    unittest.main()
