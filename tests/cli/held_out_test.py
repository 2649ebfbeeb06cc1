"""What people stumbled over: which rows are scored, labels that fit no loss, files in each other's place.

usage: held_out_test.py SNUG     SNUG is the program
"""

import random

import snug_case


class HeldOutTest(snug_case.Case):
    RUN_FILE = """\
data: {train: rows.csv, label: y}
model:
  - dense: {units: 4, activation: relu}
  - dense: {units: 1, activation: sigmoid}
fit: {loss: binary_crossentropy, optimizer: adam, epochs: 2, validation_split: 0.2, checkpoint: {every_epochs: 1}}
"""

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        rows = [f"{draw.random():.3f},{draw.random():.3f},{draw.randint(0, 1)}" for _ in range(100)]
        self.write("rows.csv", "a,b,y\n" + "\n".join(rows) + "\n")

    def test_evaluate_scores_the_rows_that_were_held_out(self):
        fitted = self.json("fit", "run.yaml")
        self.assertIn("20 rows of validation_split", self.passes("evaluate", "run.yaml"))
        scored = self.json("evaluate", "runs/run/1/last.keras", "data=rows.csv")
        self.assertEqual(scored["rows"], 100)
        (self.folder / "runs/run/1/best.keras").unlink()
        scored = self.json("evaluate", "run.yaml")
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
        text = self.read("rows.csv").splitlines()
        text[7] = "0.1,0.2,3"
        self.write("rows.csv", "\n".join(text) + "\n")
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
    snug_case.main()
