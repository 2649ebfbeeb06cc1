"""Settings of the command line: what the program suggests has them, and what goes on with a run remembers them.

usage: settings_test.py SNUG     SNUG is the program
"""

import json
import random
import shlex
import signal
import subprocess
import unittest
import zipfile

import snug_case
from snug_case import SANITIZED, ArraysCase, npy


class Suggestions(ArraysCase):
    def next_of(self, text, part):
        """The command of the line that holds this part."""
        line = next(line for line in text.splitlines() if part in line)
        return shlex.split(line[line.index("snug "):])[1:]

    def test_what_is_suggested_can_be_run(self):
        given = ("--memory", "512MiB", "fit.optimizer={adam: 0.01}", "fit.validation_split=0.2", "name=my run")
        text = self.passes("fit", "run.yaml", *given)
        for part in ("train longer", "use it", "larger batches"):
            self.passes(*self.next_of(text, part))
        self.assertEqual(len((self.folder / "predictions.csv").read_text().splitlines()), 101)
        longer = json.loads(self.read("runs/my run/1/summary.json"))
        self.assertEqual(longer["epochs"], 4)
        self.assertIn("val_loss", longer["metrics"])
        self.assertEqual(longer["budget_bytes"], 512 << 20)

    def test_a_plan_names_the_fit_that_it_is_of(self):
        words = self.next_of(self.passes("plan", "run.yaml", "--memory", "512MiB", "model.0.dense.units=20"), "It fits")
        self.assertEqual(words, ["fit", "run.yaml", "model.0.dense.units=20", "--memory", "512MiB"])

    @unittest.skipIf(SANITIZED, "a budget")
    def test_a_plan_names_no_budget_that_was_not_tried(self):
        text = self.passes("plan", "run.yaml")
        self.assertNotIn("least budget", text)
        curve = self.passes(*self.next_of(text, "How little memory"))
        self.assertNotIn("How little memory", curve)
        self.assertNotIn("least_budget_bytes", self.json("plan", "run.yaml"))

    def test_a_model_that_is_not_there_yet(self):
        line = self.refuses(2, "train it first", words=("predict", "run.yaml", "--runs", "r", "--output", "o.csv"))
        self.passes(*self.next_of(line, "train it first: "))
        self.passes("predict", "run.yaml", "--runs", "r", "--output", "o.csv")

    def test_longer_training_is_suggested_where_it_helps(self):
        draw = random.Random(3)
        self.write_labels([draw.randrange(2) for _ in range(self.ROWS)])
        text = self.passes("fit", "run.yaml", "fit.validation_split=0.5", "--epochs", "40",
                           "fit.optimizer={adam: 0.05}", "model.1.dropout=0")
        self.assertNotIn("train longer", text)
        self.assertRegex(text, r"the best val_loss was that of epoch \d+ of 40; its model is runs/run/1/best.keras")
        text = self.passes("fit", "run.yaml", "--epochs", "40", "fit.callbacks=[early_stopping: "
                           "{monitor: loss, patience: 1, min_delta: 100}]")
        self.assertNotIn("train longer", text)

    def test_nothing_is_said_to_fall_that_does_not(self):
        text = self.passes("fit", "run.yaml", "--epochs", "1")
        self.assertIn("train longer:   ", text)
        text = self.passes("fit", "run.yaml", "fit.optimizer={sgd: 0}", "model.1.dropout=0", "fit.reproducible=true",
                           "fit.shuffle=false", "--epochs", "3")
        self.assertNotIn("train longer", text)

    def test_a_run_without_a_loss(self):
        """Every batch is left out: each has a row whose loss overflows."""
        x = [1e30] * (self.ROWS * self.FEATURES)
        self.write_x(x)
        text = self.passes("fit", "run.yaml", "fit.loss=mse", "fit.guard={policy: skip, most_skips: 1000, "
                           "most_skips_in_a_row: 1000}", "fit.steps_per_epoch=5", "--batch-size", "10",
                           "model.2.dense.activation=linear")
        self.assertIn("no epoch has a loss: every batch was left out; the warnings above say why", text)
        self.assertNotIn("use it", text)

    def test_a_run_that_has_nothing_left_to_do(self):
        """It says so, and what it advises trains further."""
        self.passes("fit", "run.yaml", "--epochs", "4", "fit.optimizer={adam: 0.01}", "model.1.dropout=0")
        for epochs in ("1", "4"):
            text = self.passes("fit", "run.yaml", "--resume", f"fit.epochs={epochs}")
            self.assertIn(f"nothing was left to train: the run has 4 epochs, and fit.epochs is {epochs}", text)
        words = self.next_of(text, "train longer")
        self.assertIn("fit.epochs=8", words)
        text = self.passes(*words)
        self.assertNotIn("nothing was", text)
        self.assertEqual(json.loads(self.read("runs/run/1/summary.json"))["epochs"], 8)

    def test_a_run_that_a_callback_has_ended(self):
        self.passes("fit", "run.yaml", "--epochs", "20",
                    "fit.callbacks=[early_stopping: {monitor: loss, patience: 1, min_delta: 100}]")
        text = self.passes("fit", "run.yaml", "--resume", "--epochs", "40")
        self.assertIn("nothing was trained: a callback, or the end of the data, has ended this run after epoch 2", text)
        self.assertIn("Done after ", self.passes(*self.next_of(text, "in a new run")))
        self.assertEqual(json.loads(self.read("runs/run/2/summary.json"))["epochs"], 2)

    def test_a_run_of_no_epochs(self):
        text = self.passes("fit", "run.yaml", "--epochs", "0")
        self.assertIn("Note:   nothing was trained: fit.epochs is 0; the model is as it was", text)
        self.assertNotIn("use it:", text)

    def test_a_model_of_no_numbers_is_not_to_be_used(self):
        self.edit("optimizer: adam", "optimizer: {sgd: {learning_rate: 1e30}}",
                  "binary_crossentropy", "mse", ", activation: sigmoid", "")
        text = self.passes("fit", "run.yaml", "fit.guard=off")
        self.assertNotIn("use it", text)
        self.assertIn("the loss is no number", text)
        self.refuses(5, "was not committed", words=self.next_of(text, "what to do"))

    def test_batches_that_are_larger_than_the_data_are_not_suggested(self):
        self.assertNotIn("larger batches", self.passes("fit", "run.yaml", "--batch-size", "60"))


class Remembered(ArraysCase):
    def test_resume_goes_on_with_the_settings_of_the_start(self):
        start = ("fit.validation_split=0.2", "--memory", "512MiB", "fit.seed=7", "model.0.dense.units=20")
        whole = self.json("fit", "run.yaml", *start, "--epochs", "6", "name=whole")
        self.passes("fit", "run.yaml", *start, "--epochs", "3")
        text = self.passes("fit", "run.yaml", "--resume", "--epochs", "6")
        self.assertIn("As at the start of runs/run/1: fit.validation_split=0.2 fit.seed=7 "
                      "model.0.dense.units=20 --memory 512MiB", text)
        resumed = json.loads(self.read("runs/run/1/summary.json"))
        for key in ("metrics", "steps", "epochs", "budget_bytes"):
            self.assertEqual(resumed[key], whole[key])
        self.assertIn("fit.epochs", self.read("runs/run/1/settings.json"))
        self.assertIn("epochs: 6", self.read("runs/run/1/run.yaml"))

    def test_data_that_was_given_on_the_line(self):
        self.passes("fit", "run.yaml")
        model = "runs/run/1/last.keras"
        command = ("fit", model, "data.x=x.npy", "data.y=y.npy", "name=more")
        text = self.passes(*command)
        self.passes("fit", model, "name=more", "--resume", "--epochs", "4")
        self.assertEqual(json.loads(self.read("runs/more/1/summary.json"))["epochs"], 4)
        use = next(line for line in text.splitlines() if "use it" in line)
        self.passes(*shlex.split(use[use.index("snug "):])[1:])
        self.assertIn("runs/more/1/best.keras", use)

    def test_runs_of_models_have_names_of_their_own(self):
        files = ("data.x=x.npy", "data.y=y.npy", "--epochs")
        for name in ("a", "b"):
            self.passes("fit", "run.yaml", f"name={name}", "model.0.dense.units=" + {"a": "16", "b": "20"}[name])
            self.assertEqual(self.json("fit", f"runs/{name}/1/best.keras", *files, "1")["directory"], f"runs/{name}-1-best/1")
        resumed = self.json("fit", "runs/a/1/best.keras", "--resume", "--epochs", "3")
        self.assertEqual((resumed["directory"], resumed["epochs"]), ("runs/a-1-best/1", 3))

    def test_a_run_of_another_model_is_not_gone_on_with(self):
        self.passes("fit", "run.yaml")
        for place in ("a/model.keras", "b/model.keras"):
            self.write(place, (self.folder / "runs/run/1/last.keras").read_bytes())
        self.passes("fit", "a/model.keras", "data.x=x.npy", "data.y=y.npy", "--epochs", "1")
        line = self.refuses(2, "runs/model/1: this run", words=("fit", "b/model.keras", "--resume", "--epochs", "2"))
        for part in ("a/model.keras, not the model ", "b/model.keras", "name=NAME"):
            self.assertIn(part, line)
        self.write("model.yaml", self.RUN_FILE)
        self.refuses(2, "a/model.keras, not the layers of a run file", words=("fit", "model.yaml", "--resume"))
        self.passes("fit", "./a/../a/model.keras", "--resume", "--epochs", "2")
        # It may have been moved.
        (self.folder / "a").rename(self.folder / "c")
        self.assertEqual(self.json("fit", "c/model.keras", "--resume", "--epochs", "3")["epochs"], 3)
        self.refuses(2, "has trained the layers of a run file, not the model ",
                     words=("fit", "c/model.keras", "name=run", "--resume"))

    def test_a_resume_that_is_refused_changes_nothing(self):
        self.passes("fit", "run.yaml")
        run = self.folder / "runs/run/1"
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "lock"}
        resume = ("fit", "run.yaml", "--resume", "--epochs", "4")
        self.refuses(2, "the seed is 99", words=(*resume, "fit.seed=99"))
        self.refuses(2, "it is of another model", words=(*resume, "model.0.dense.units=20"))
        self.assertEqual(before, {path: path.read_bytes() for path in before})
        self.assertEqual(self.json(*resume)["epochs"], 4)

    def test_a_run_file_that_was_edited_is_told_of(self):
        self.passes("fit", "run.yaml")
        self.assertNotIn("has changed", self.says("fit", "run.yaml", "--resume", "--epochs", "3"))
        self.edit("activation: relu", "activation: tanh", "metrics: [accuracy]", "metrics: [accuracy]\n  guard: skip")
        text = self.says("fit", "run.yaml", "--resume", "--epochs", "4")
        self.assertIn("the run file has changed since this run was started last: fit.guard is skip, and was not given; "
                      "model.0.dense.activation is tanh, and was relu.", text)
        self.assertNotIn("has changed", self.says("fit", "run.yaml", "--resume", "--epochs", "5"))
        # What the line itself says is known to whoever writes it.
        self.assertNotIn("has changed", self.says("fit", "run.yaml", "--resume", "--epochs", "6", "fit.guard=stop"))

    def test_a_run_whose_checkpoints_are_all_damaged(self):
        self.passes("fit", "run.yaml")
        for path in (self.folder / "runs/run/1/checkpoints").glob("*.ckpt"):
            path.write_bytes(path.read_bytes()[:1000])
        line = self.refuses(6, "checkpoints can be read", "its model last.keras is there",
                            words=("fit", "run.yaml", "--resume", "--epochs", "4"))
        self.assertEqual(self.json(*shlex.split(line[line.index("snug fit run.yaml"):])[1:])["directory"], "runs/run/2")

    def test_a_checkpoint_is_no_run_file(self):
        self.passes("fit", "run.yaml")
        checkpoint = next((self.folder / "runs/run/1/checkpoints").glob("*.ckpt"))
        self.refuses(2, "this is a checkpoint, and no run file", "snug fit run.yaml --resume",
                     words=("fit", str(checkpoint), "--resume"))

    def test_a_run_without_checkpoints(self):
        """One that has ended is not trained over; one that had not come to its first one begins anew, and says so."""
        self.passes("fit", "run.yaml", "fit.checkpoint=off", "fit.seed=3")
        before = (self.folder / "runs/run/1/last.keras").read_bytes()
        line = self.refuses(2, "has no checkpoint to go on from", words=("fit", "run.yaml", "--resume", "--epochs", "4"))
        self.assertEqual((self.folder / "runs/run/1/last.keras").read_bytes(), before)
        further = shlex.split(line[line.index("snug fit run.yaml"):])[1:]
        self.assertIn("fit.seed=3", further)
        self.assertEqual(self.json(*further)["directory"], "runs/run/2")
        (self.folder / "runs/run/1").rename(self.folder / "runs/run/3")
        (self.folder / "runs/run/3/last.keras").unlink()
        self.refuses(2, "fit.checkpoint is off", words=("fit", "run.yaml", "--resume"))
        text = self.says("fit", "run.yaml", "--resume", "fit.checkpoint=on")
        self.assertIn("was stopped before its first checkpoint", text)
        self.assertIn("it begins anew", text)
        self.assertNotIn("begins anew", self.says("fit", "run.yaml", "--resume", "--epochs", "4"))

    def test_a_run_that_begins_anew_leaves_the_old_one_as_it_is(self):
        self.passes("fit", "run.yaml", "fit.seed=3")
        (self.folder / "runs/run/1/last.keras").unlink()
        for checkpoint in (self.folder / "runs/run/1/checkpoints").glob("*.ckpt"):
            checkpoint.unlink()
        kept = {path: path.read_bytes() for path in (self.folder / "runs/run/1").glob("*.*")}
        self.assertIn(self.folder / "runs/run/1/best.keras", kept)
        again = self.json("fit", "run.yaml", "--resume", "--epochs", "4")
        self.assertEqual((again["directory"], again["epochs"], again["seed"]), ("runs/run/2", 4, 3))
        self.assertEqual({path: path.read_bytes() for path in (self.folder / "runs/run/1").glob("*.*")}, kept)

    def test_other_callbacks_cannot_go_on(self):
        """They are a mistake of the file, which is named with what to do."""
        self.edit("epochs: 2", "epochs: 2\n  callbacks: [early_stopping: {monitor: loss, patience: 9}]")
        self.passes("fit", "run.yaml")
        resume = ("fit", "run.yaml", "--resume", "--epochs", "4")
        for callbacks, change in (("[early_stopping: {monitor: loss, patience: 9}, csv_logger: log.csv]", "the callback CSVLogger was added, and"),
                                  ("[]", "the callback EarlyStopping was removed, and"),
                                  ("[terminate_on_nan]", "the callback TerminateOnNaN was added, EarlyStopping was removed, and")):
            line = self.refuses(2, change, "take the change back", "runs/run/1/last.keras", words=(*resume, f"fit.callbacks={callbacks}"))
        self.assertEqual(self.json(*shlex.split(line[line.index("snug fit run.yaml"):])[1:])["directory"], "runs/run/2")
        self.assertEqual(self.json(*resume, "--run", "1", "fit.callbacks=[EarlyStopping: {monitor: loss, patience: 9}]")["epochs"], 4)

    def test_killed_and_resumed_without_a_word(self):
        words = ("fit", "run.yaml", "--epochs", "1000000", "--json", "fit.verbose=2", "fit.checkpoint.every_epochs=1",
                 "fit.validation_split=0.2")
        with subprocess.Popen(self.command(*words), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for _ in range(3):
                self.until(process, b"5/5")
            # The history is there while the run goes on, and not doubled by what comes again.
            self.assertRegex(self.read("runs/run/1/history.csv"), r"^epoch,accuracy,loss,val_accuracy,val_loss\n0,.*\n1,")
            process.send_signal(signal.SIGKILL)
        process.stdout.close()
        done = len(self.read("runs/run/1/history.csv").splitlines())
        resumed = self.json("fit", "run.yaml", "--resume", "--epochs", str(done + 3))
        self.assertIn("val_loss", resumed["metrics"])
        lines = self.read("runs/run/1/history.csv").splitlines()
        self.assertEqual([line.split(",")[0] for line in lines[1:]], [str(i) for i in range(done + 3)])

    def test_evaluate_and_predict_read_what_the_run_read(self):
        self.edit("data: {train: {x: x.npy, y: y.npy}}", "data: {train: {x: absent.npy, y: absent.npy}}")
        self.passes("fit", "run.yaml", "data.x=x.npy", "data.y=y.npy", "fit.validation_split=0.2")
        self.assertIn("20 rows of validation_split", self.passes("evaluate", "run.yaml"))
        self.passes("predict", "run.yaml", "--output", "o.csv")
        self.write("new.npy", npy((3, self.FEATURES), [0.5] * 3 * self.FEATURES))
        self.passes("predict", "run.yaml", "data.x=new.npy", "--output", "o.csv")
        self.assertEqual(len(self.read("o.csv").splitlines()), 4)

    def test_files_one_by_one_in_the_place_of_one_that_held_all(self):
        self.passes("fit", "run.yaml")
        with zipfile.ZipFile(self.folder / "all.npz", "w") as file:
            for name in ("x", "y"):
                file.write(self.folder / f"{name}.npy", f"{name}.npy")
        model = "runs/run/1/last.keras"
        self.passes("fit", model, "data=all.npz", "name=more")
        self.passes("fit", model, "name=more", "--resume", "--epochs", "4", "data.x=x.npy", "data.y=y.npy")
        self.assertEqual(json.loads(self.read("runs/more/1/summary.json"))["epochs"], 4)

    def test_a_file_that_is_damaged_is_named(self):
        self.passes("fit", "run.yaml", "--epochs", "1")
        self.write("runs/run/1/settings.json", "{")
        self.refuses(2, "runs/run/1/settings.json", "remove it", words=("fit", "run.yaml", "--resume"))


if __name__ == "__main__":
    snug_case.main()
