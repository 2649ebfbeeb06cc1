"""snug fit as users meet it: what a run leaves, the guard, checkpoints, going on.

usage: fit_test.py SNUG     SNUG is the program
"""

import json
import pathlib
import random
import signal
import subprocess
import time
import unittest

import snug_case
from snug_case import SANITIZED, ArraysCase, idx

HDF5 = pathlib.Path(__file__).parents[1] / "data/hdf5"


class Fit(ArraysCase):
    def test_run_directory(self):
        text = self.passes("fit", "run.yaml", "fit.validation_split=0.2")
        for part in ("Epoch 2/2", "Done after 10 steps", "runs/run/1", "budget", "Next:"):
            self.assertIn(part, text)
        directory = self.folder / "runs/run/1"
        self.assertEqual({p.name for p in directory.iterdir()}, {"run.yaml", "settings.json", "summary.json", "history.csv", "report.txt", "report.html",
                                                                "checkpoints", "events", "best.keras", "last.keras"})
        summary = json.loads((directory / "summary.json").read_text())
        self.assertEqual((summary["exit"], summary["epochs"], summary["steps"], summary["seed"]), (0, 2, 10, 0))
        self.assertEqual(set(summary["metrics"]), {"accuracy", "loss", "val_accuracy", "val_loss"})
        for key in ("seconds", "budget_bytes", "planned_bytes", "peak_resident_bytes", "versions"):
            self.assertTrue(summary[key], key)
        history = (directory / "history.csv").read_text().splitlines()
        self.assertEqual(history[0], "epoch,accuracy,loss,val_accuracy,val_loss")
        self.assertEqual([line.split(",")[0] for line in history[1:]], ["0", "1"])
        self.assertIn("total", (directory / "report.txt").read_text())
        self.assertIn("batches of 16 rows", (directory / "report.html").read_text())

    @unittest.skipIf(SANITIZED, "a budget")
    def test_epochs_without_number_stay_within_the_plan(self):
        summary = self.json("fit", "run.yaml", "fit.epochs=3000", "fit.validation_split=0.2")
        self.assertLessEqual(summary["peak_resident_bytes"], summary["planned_bytes"])
        history = (self.folder / summary["directory"] / "history.csv").read_text().splitlines()
        self.assertEqual(len(history), 3001)

    def test_the_kept_run_file_gives_the_same_run(self):
        first = self.json("fit", "run.yaml", "fit.seed=5")
        second = self.json("fit", "runs/run/1/run.yaml")
        self.assertEqual(second["directory"], "runs/run/2")
        self.assertEqual(first["metrics"], second["metrics"])
        self.assertNotEqual(first["metrics"], self.json("fit", "run.yaml")["metrics"])

    def test_it_learns(self):
        result = self.json("fit", "run.yaml", "--epochs", "60", "fit.optimizer={adam: 0.01}", "model.1.dropout=0")
        self.assertGreater(result["metrics"]["accuracy"], 0.97)

    def test_objects_with_settings(self):
        self.edit("optimizer: adam", "optimizer: {sgd: {learning_rate: {cosine_decay: "
                  "{initial_learning_rate: 0.1, decay_steps: 100}}, momentum: 0.9, nesterov: true}}",
                  "[accuracy]", "[accuracy, {auc: {curve: PR, name: area}}]",
                  "units: 16,", "units: 16, kernel_regularizer: {l2: 0.01}, name: first, ",
                  "epochs: 2", "epochs: 2\n  class_weight: {0: 1, 1: 2}\n"
                  "  callbacks: [early_stopping: {monitor: loss, patience: 1, min_delta: 100}]")
        result = self.json("fit", "run.yaml", "--epochs", "20")
        self.assertEqual(result["epochs"], 2)
        self.assertEqual(set(result["metrics"]), {"accuracy", "area", "loss"})

    def test_images(self):
        draw = random.Random(2)
        labels = [i % 2 for i in range(40)]
        self.write("images.gz", idx((40, 6, 6), [draw.randrange(100) + 100 * y for y in labels for _ in range(36)]))
        self.write("labels.gz", idx((40,), labels))
        self.write("run.yaml", """\
data:
  train: {images: images.gz, labels: labels.gz}
  validation: {images: images.gz, labels: labels.gz}
model: [{rescaling: 1/255}, {conv2d: {filters: 4, kernel_size: [3, 3], activation: relu}}, max_pooling2d, flatten,
        {dense: {units: 2, activation: softmax}}]
fit: {loss: sparse_categorical_crossentropy, optimizer: {adam: {learning_rate: 0.01}}, metrics: accuracy, epochs: 20}
""")
        result = self.json("fit", "run.yaml")
        self.assertGreater(result["metrics"]["val_accuracy"], 0.95)

    def test_signals(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            command = self.command("fit", "run.yaml", "--epochs", "1000000", "--json", f"name=s{code}", "fit.verbose=2")
            with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stderr.readline()
                self.until(process, b"7/7")
                process.send_signal(number)
                out, _ = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code)
            self.assertEqual(json.loads(out)["exit"], code)
            summary = json.loads(self.read(f"runs/s{code}/1/summary.json"))
            self.assertEqual(summary["exit"], code)
            self.assertGreater(summary["steps"], 0)


class Guard(ArraysCase):
    def test_a_rate_that_is_too_high(self):
        """Stops with 5 before a weight is spoiled; the checkpoint of that moment can be resumed with another rate."""
        self.edit("optimizer: adam", "optimizer: {sgd: {learning_rate: 1e30}}",
                  "binary_crossentropy", "mse", ", activation: sigmoid", "")
        line = self.refuses(5, "was not committed", "learning rate", "clipnorm")
        self.assertIn("step ", line)
        summary = json.loads(self.read("runs/run/1/summary.json"))
        self.assertEqual(summary["exit"], 5)
        self.assertIn("was not committed", summary["error"])
        newest = sorted((self.folder / "runs/run/1/checkpoints").glob("*.ckpt"))[-1]
        self.passes("checkpoint", "verify", str(newest))
        # The weights are finite, but as large as such a rate has made them: a lower one is taken over, and stops again.
        again = self.snug("fit", "run.yaml", "--resume", "fit.optimizer.sgd.learning_rate=0.001")
        self.assertIn("The learning rate is 0.001 from now on", again.stdout)
        self.assertIn("(it is 0.001)", again.stderr)
        self.assertEqual(again.returncode, 5)

    def test_policies(self):
        self.passes("fit", "run.yaml", "fit.guard=off")
        self.passes("fit", "run.yaml", "fit.guard.policy=rollback", "fit.guard.rollback_steps=2")
        self.refuses(2, 'guard is "sometimes"; it must be stop, skip, rollback or off',
                     words=("fit", "run.yaml", "fit.guard=sometimes"))
        self.refuses(2, "most_skips is -1; it must be 0 or more",
                     words=("fit", "run.yaml", "fit.guard.most_skips=-1"))
        self.refuses(2, "most_skips_in_a_row", words=("fit", "run.yaml", "fit.guard.most_skips_in_row=1"))

    def test_a_nan_in_the_data_is_named(self):
        values = [0.5] * (self.ROWS * self.FEATURES)
        values[37 * self.FEATURES + 2] = float("nan")
        self.write_x(values)
        self.refuses(4, "x.npy", "row 37", "nan")


class Checkpoints(ArraysCase):
    def test_resume_goes_on(self):
        whole = self.json("fit", "run.yaml", "--epochs", "6", "name=whole")
        self.passes("fit", "run.yaml", "--epochs", "3")
        resumed = self.json("fit", "run.yaml", "--epochs", "6", "--resume")
        self.assertEqual(resumed["directory"], "runs/run/1")
        for key in ("metrics", "steps", "epochs"):
            self.assertEqual(resumed[key], whole[key])
        history = [self.read(f"runs/{name}/1/history.csv") for name in ("whole", "run")]
        self.assertEqual(history[0], history[1])

    def test_resume_warns_of_other_data(self):
        self.passes("fit", "run.yaml", "--epochs", "2")
        self.assertNotIn("is not what it was", self.says("fit", "run.yaml", "--resume", "--epochs", "3"))
        self.write_x([2.0] * (self.ROWS * self.FEATURES))
        text = self.says("fit", "run.yaml", "--resume", "--epochs", "4")
        self.assertIn("the training data is not what it was when the checkpoint was written: x.npy: row 0 has other "
                      "numbers, and so have 31 more", text)
        self.assertNotIn("is not what it was", self.says("fit", "run.yaml", "--resume", "--epochs", "5"))

    def test_a_newer_run_beside_it_is_named(self):
        """--resume alone would go on with that one."""
        command = self.command("fit", "run.yaml", "--epochs", "1000000", "fit.verbose=2")
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True) as process:
            while "7/7" not in (line := process.stdout.readline()):
                self.assertTrue(line)
            self.passes("fit", "run.yaml", "--epochs", "1")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        self.assertIn("go on where it stopped: snug fit run.yaml --run 1 --resume\n", out)
        steps = json.loads(self.read("runs/run/1/summary.json"))["steps"]
        resumed = self.json("fit", "run.yaml", "--resume", "--run", "1", "--epochs", str(steps // 7 + 2))
        self.assertEqual(resumed["directory"], "runs/run/1")

    def test_an_older_run_is_gone_on_with(self):
        """With its own settings; the newest is left alone."""
        self.passes("fit", "run.yaml", "fit.seed=5")
        self.passes("fit", "run.yaml", "fit.seed=6")
        newest = self.read("runs/run/2/summary.json")
        text = self.passes("fit", "run.yaml", "--resume", "--run", "1", "--epochs", "4")
        self.assertIn("As at the start of runs/run/1: fit.seed=5", text)
        self.assertIn("snug predict run.yaml --run 1 --output predictions.csv", text)
        of_files = [self.json("evaluate", f"runs/run/{n}/best.keras", "data.x=x.npy", "data.y=y.npy",
                              "fit.batch_size=16")["metrics"] for n in (1, 2)]
        self.assertNotEqual(of_files[0], of_files[1])
        for n in (1, 2):
            self.assertEqual(self.json("evaluate", "run.yaml", "--run", str(n))["metrics"], of_files[n - 1])
        self.refuses(2, "runs/run/3: there is no such run", words=("evaluate", "run.yaml", "--run", "3"))
        self.assertEqual(json.loads(self.read("runs/run/1/summary.json"))["epochs"], 4)
        self.assertEqual(self.read("runs/run/2/summary.json"), newest)
        # The run file that stands in a run is that run's.
        self.assertEqual(self.json("fit", "runs/run/1/run.yaml", "--resume", "--epochs", "5")["directory"], "runs/run/1")
        self.refuses(2, "runs/run/3: there is no such run", "the newest of the name is runs/run/2",
                     words=("fit", "run.yaml", "--resume", "--run", "3"))
        self.refuses(2, "--run 1: it names the run that --resume goes on with; give --resume too",
                     words=("fit", "run.yaml", "--run", "1"))
        for wrong in ("--resume=1", "--resume 1", "--resume runs/run/1", "--resume runs/run/1/"):
            self.refuses(2, "--resume takes no value", "give --resume --run 1", words=("fit", "run.yaml", *wrong.split()))
        self.refuses(2, "--run 0", "a whole number of 1 or more", words=("fit", "run.yaml", "--resume", "--run", "0"))

    def test_terminated_and_resumed(self):
        command = self.command("fit", "run.yaml", "--epochs", "1000000", "--json", "fit.verbose=2")
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.until(process, b"7/7")
            text = self.fails(6, "fit", "run.yaml", "--resume")
            self.assertIn("is using this directory", text)
            self.assertNotIn("begins anew", text)
            # More than once, as `timeout` does.
            for _ in range(20):
                process.send_signal(signal.SIGTERM)
                time.sleep(0.0002)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        steps = json.loads(out)["steps"]
        epochs = steps // 7 + 2
        resumed = self.json("fit", "run.yaml", "--resume", "--epochs", str(epochs))
        self.assertEqual(resumed["steps"], epochs * 7)
        lines = self.read("runs/run/1/history.csv").splitlines()
        self.assertEqual([line.split(",")[0] for line in lines[1:]], [str(i) for i in range(epochs)])

    def test_a_run_that_never_began_is_not_the_newest(self):
        """Its mistake would come back with --resume."""
        self.passes("fit", "run.yaml")
        self.refuses(2, "val_loss", words=("fit", "run.yaml", "fit.callbacks=[early_stopping]"))
        self.refuses(6, "no/log.csv", words=("fit", "run.yaml", "fit.callbacks=[csv_logger: no/log.csv]"))
        self.assertEqual([path.name for path in (self.folder / "runs/run").iterdir()], ["1"])
        resumed = self.json("fit", "run.yaml", "--resume", "--epochs", "3")
        self.assertEqual((resumed["directory"], resumed["epochs"]), ("runs/run/1", 3))

    def test_a_log_is_not_written_over_what_is_read(self):
        self.passes("fit", "run.yaml")
        (self.folder / "link.npy").symlink_to("x.npy")
        model = "runs/run/1/best.keras"
        names = ("x.npy", "link.npy", "./y.npy", "run.yaml", model)
        before = [(self.folder / name).read_bytes() for name in names]
        for name, what in zip(names, 3 * ["among the data"] + ["the run file itself", "the model that is read"]):
            for callback in (f"csv_logger: {name}", f"CSVLogger: {{filename: {name}, append: true}}"):
                self.refuses(2, f"csv_logger {name}: this file is {what}",
                             words=("fit", "run.yaml", f"fit.callbacks=[{callback}]", *([f"model={model}"] if name == model else [])))
        self.assertEqual([(self.folder / name).read_bytes() for name in names], before)
        self.assertEqual([path.name for path in (self.folder / "runs/run").iterdir()], ["1"])
        self.passes("fit", "run.yaml", "fit.callbacks=[csv_logger: log.csv]")
        self.passes("fit", "run.yaml", "fit.callbacks=[csv_logger: log.csv]")

    def test_a_model_is_not_written_over_what_is_read(self):
        """But for the model: that it is trained further in its place is usual."""
        for name in ("data.h5", "part-3.h5"):
            self.write(name, (HDF5 / "latest.h5").read_bytes())
        data = "data={hdf5: [data.h5, part-3.h5], x: float64, y: labels}"
        words = ("fit", "run.yaml", data, "model.1=flatten", "fit.loss=mse")
        for path in ("data.h5", "./data.h5", "'part-{epoch}.h5'", "{filepath: 'part-{epoch:01d}.h5', save_best_only: false}"):
            self.refuses(2, "model_checkpoint ", "this file is among the data that is read",
                         words=(*words, f"fit.callbacks=[model_checkpoint: {path}]"))
        for name in ("data.h5", "part-3.h5"):
            self.assertEqual((self.folder / name).read_bytes(), (HDF5 / "latest.h5").read_bytes())
        self.passes(*words, "fit.callbacks=[model_checkpoint: 'part-{epoch}-{loss:.2f}.h5']")
        self.passes("fit", "run.yaml", "fit.callbacks=[model_checkpoint: model.keras]")
        for start in ("run.yaml", "model.keras"):
            self.passes("fit", start, "data.x=x.npy", "data.y=y.npy", "fit.callbacks=[model_checkpoint: model.keras]",
                        *(["model=model.keras"] if start == "run.yaml" else []))

    def test_a_plan_is_not_written_over_what_is_read(self):
        self.passes("fit", "run.yaml", "fit.callbacks=[model_checkpoint: model.keras]")
        names = ("run.yaml", "x.npy", "model.keras")
        before = [(self.folder / name).read_bytes() for name in names]
        for option in ("--html", "--curve", "--dump-problem"):
            for name, what in zip(names, ("the run file itself", "among the data", "the model that is read")):
                self.refuses(2, f"{option} {name}: this file is {what}", words=("plan", "run.yaml", "model=model.keras", option, name))
        self.assertEqual([(self.folder / name).read_bytes() for name in names], before)

    def test_nothing_to_resume(self):
        self.refuses(2, "there is no run to go on with", words=("fit", "run.yaml", "--resume"))

    def test_settings(self):
        self.passes("fit", "run.yaml", "fit.checkpoint=off")
        self.assertFalse((self.folder / "runs/run/1/checkpoints").exists())
        self.passes("fit", "run.yaml", "fit.checkpoint.every_steps=3", "fit.checkpoint.keep=4",
                    "fit.checkpoint.best=loss")
        names = sorted(path.name for path in (self.folder / "runs/run/2/checkpoints").glob("*.ckpt"))
        self.assertEqual(names, ["0000000006.ckpt", "0000000009.ckpt", "0000000012.ckpt", "0000000014.ckpt",
                                 "best.ckpt"])
        self.refuses(2, "keep is 0; it must be 1 or more", words=("fit", "run.yaml", "fit.checkpoint.keep=0"))
        self.refuses(2, 'checkpoint is "never"; it must be on, off', words=("fit", "run.yaml", "fit.checkpoint=never"))
        self.refuses(2, "val_loss", words=("fit", "run.yaml", "fit.checkpoint.best=val_loss"))

    def test_show_and_verify(self):
        self.passes("fit", "run.yaml")
        file = "runs/run/1/checkpoints/0000000014.ckpt"
        shown = self.passes("checkpoint", "show", file)
        for part in ("progress", "epoch = 2", "weights/dense/kernel", "float32[8, 16]", "optimizer/0/iteration",
                     "all 14 checksums are right"):
            self.assertIn(part, shown)
        self.assertIn("good", self.passes("checkpoint", "verify", file))
        listed = self.json("checkpoint", "show", file)
        self.assertIn("epoch = 2", listed["state"]["progress"])
        path = self.folder / file
        data = bytearray(path.read_bytes())
        data[-100] ^= 4
        path.write_bytes(data)
        self.refuses(6, file, 'the section "values" is damaged', words=("checkpoint", "verify", file))
        self.refuses(6, "cannot open it", words=("checkpoint", "show", "no.ckpt"))
        self.refuses(6, "is it one?", words=("checkpoint", "show", "run.yaml"))
        self.refuses(2, "snug checkpoint show FILE", words=("checkpoint",))
        self.refuses(2, "which file?", words=("checkpoint", "verify"))


if __name__ == "__main__":
    snug_case.main()
