"""The program as users meet it: each mistake has its message and its exit code, each result its form.

usage: cli_test.py SNUG     SNUG is the program
"""

import gzip
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

SNUG = pathlib.Path(sys.argv.pop(1)).resolve()
SANITIZED = "SNUG_SANITIZED" in os.environ  # Budgets then hold the sanitizer's own memory too.
RUN_FILE = """\
data: {train: {x: x.npy, y: y.npy}}
model:
  - dense: {units: 16, activation: relu}
  - dropout: 0.1
  - dense: {units: 1, activation: sigmoid}
fit:
  loss: binary_crossentropy
  optimizer: adam
  metrics: [accuracy]
  batch_size: 16
  epochs: 2
"""
ROWS, FEATURES = 100, 8


def write_npy(path, shape, values, descr="<f4", code="f"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    body = struct.pack(f"<{len(values)}{code}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body)


def write_idx(path, shape, values):
    header = struct.pack(">HBB", 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
    path.write_bytes(gzip.compress(header + bytes(values)))


class Case(unittest.TestCase):
    """Each test has a folder with a run file that works."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        draw = random.Random(1)
        x = [draw.gauss(0, 1) for _ in range(ROWS * FEATURES)]
        labels = [int(sum(x[i * FEATURES:(i + 1) * FEATURES]) > 0) for i in range(ROWS)]
        write_npy(self.folder / "x.npy", (ROWS, FEATURES), x)
        write_npy(self.folder / "y.npy", (ROWS,), labels, "<i8", "q")
        self.write(RUN_FILE)

    def write(self, text, name="run.yaml"):
        (self.folder / name).write_text(text)

    def edit(self, old, new):
        self.assertIn(old, RUN_FILE)
        self.write(RUN_FILE.replace(old, new))

    def snug(self, *words):
        return subprocess.run([SNUG, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def passes(self, *words):
        result = self.snug(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def json(self, *words):
        return json.loads(self.passes(*words, "--json"))

    def refuses(self, code, *parts, words=("fit", "run.yaml")):
        """The command ends with this code and one line that holds these parts."""
        result = self.snug(*words)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("snug"), lines[0])
        for part in parts:
            self.assertIn(part, lines[0])
        self.assertNotIn("fault of Snug", lines[0])
        return lines[0]


class RunFileMistakes(Case):
    def test_unknown_section(self):
        self.edit("model:", "modell:")
        self.refuses(2, "snug fit: run.yaml:2: ", '"modell" is no section', "did you mean model?")

    def test_unknown_key_of_fit(self):
        self.edit("epochs: 2", "epoch: 2")
        self.refuses(2, "run.yaml:11: ", '"epoch" is no setting of fit', "did you mean epochs?")

    def test_unknown_setting_of_a_layer(self):
        self.edit("units: 16", "unit: 16")
        self.refuses(2, "run.yaml:3: ", '"unit" is no setting of dense', "did you mean units?")

    def test_unknown_layer(self):
        self.edit("- dropout: 0.1", "- dropuot: 0.1")
        self.refuses(2, "run.yaml:4: ", "dropuot", "dropout")

    def test_unknown_activation(self):
        self.edit("activation: relu", "activation: rellu")
        self.refuses(2, "run.yaml:3: ", "rellu", "relu")

    def test_unknown_loss_optimizer_metric_callback(self):
        self.edit("loss: binary_crossentropy", "loss: binary_crosentropy")
        self.refuses(2, "run.yaml:7: ", 'did you mean "binary_crossentropy"?')
        self.edit("optimizer: adam", "optimizer: adamm")
        self.refuses(2, "run.yaml:8: ", "adamm", 'did you mean "adam"?')
        self.edit("[accuracy]", "[accuracy, acuracy]")
        self.refuses(2, "run.yaml:9: ", "acuracy")
        self.edit("epochs: 2", "epochs: 2\n  callbacks: [early_stoping: {patience: 3}]")
        self.refuses(2, "run.yaml:12: ", "early_stoping", 'did you mean "early_stopping"?')

    def test_unknown_setting_of_an_object(self):
        self.edit("optimizer: adam", "optimizer: {adam: {learning_rte: 0.1}}")
        self.refuses(2, "run.yaml:8: ", "learning_rte", "did you mean learning_rate?")
        self.edit("epochs: 2", "epochs: 2\n  callbacks: [early_stopping: {patence: 3}]")
        self.refuses(2, "run.yaml:12: ", "patence", "did you mean patience?")

    def test_wrong_type(self):
        self.edit("epochs: 2", "epochs: two")
        self.refuses(2, 'run.yaml:11: fit.epochs is "two"; it must be a whole number')
        self.edit("units: 16", "units: [16]")
        self.refuses(2, "run.yaml:3: ", "model.0.dense.units is a list; it must be a whole number")
        self.edit("optimizer: adam", "optimizer: {adam: {learning_rate: fast}}")
        self.refuses(2, "run.yaml:8: ", '"fast"', "it must be a number")
        self.edit("epochs: 2", "epochs: 2\n  memory: much")
        self.refuses(2, "run.yaml:12: ", "much")
        self.edit("epochs: 2", "epochs: -2")
        self.refuses(2, "run.yaml:11: ", '"-2"')

    def test_impossible_values(self):
        self.edit("- dropout: 0.1", "- dropout: 1.5")
        self.refuses(2, "run.yaml:4: ", "1.5")
        self.edit("batch_size: 16", "batch_size: 0")
        self.refuses(2, "run.yaml", "batch_size is 0")
        self.edit("epochs: 2", "epochs: 2\n  validation_split: 1")
        self.refuses(2, "run.yaml", "validation_split is 1")

    def test_float16_is_refused_by_name(self):
        self.edit("units: 16,", "units: 16, dtype: float16,")
        self.refuses(2, "run.yaml:3: ", "dense", "float16", "float32")
        self.edit("units: 16,", "units: 16, dtype: float32,")
        self.passes("fit", "run.yaml")

    def test_duplicate_key(self):
        self.edit("epochs: 2", "epochs: 2\n  batch_size: 32")
        self.refuses(2, 'run.yaml:12: "batch_size" is given twice (first at run.yaml:10)')

    def test_no_yaml(self):
        self.write("fit: [1, 2\nmodel: 3\n")
        self.refuses(2, "run.yaml:", "this is no YAML")
        self.write("")
        self.refuses(2, "run.yaml: it is empty")
        self.write("- a\n")
        self.refuses(2, "run.yaml:1: ", "a map with the sections data, model and fit")

    def test_missing_parts(self):
        self.edit("  loss: binary_crossentropy\n", "")
        self.refuses(2, "run.yaml:", "there is no loss")
        self.write(RUN_FILE[:RUN_FILE.index("fit:")])
        self.refuses(2, "run.yaml: there is no fit")
        self.write(RUN_FILE[RUN_FILE.index("model:"):])
        self.refuses(2, "run.yaml: there is no data")
        self.write(RUN_FILE[:RUN_FILE.index("model:")] + RUN_FILE[RUN_FILE.index("fit:"):])
        self.refuses(2, "run.yaml: there is no model")

    def test_shape_that_does_not_fit(self):
        self.edit("- dropout: 0.1", "- conv2d: {filters: 4, kernel_size: 3}")
        self.refuses(2, "run.yaml:4: ", "conv2d", "[rows, 16]")
        self.edit("model:", "model:\n  - input: [9]")
        self.refuses(2, "run.yaml", "[8]", "[9]")

    def test_loss_that_does_not_fit_the_labels(self):
        self.edit("units: 1,", "units: 3,")
        self.refuses(2, "run.yaml:7: ", "binary_crossentropy", "[3]")

    def test_loss_that_does_not_fit_the_model(self):
        self.edit("activation: sigmoid", "activation: softmax")
        self.refuses(2, "run.yaml:7: ", "softmax")


class DataMistakes(Case):
    def test_missing_files(self):
        self.refuses(6, "nosuch.yaml", "No such file", words=("fit", "nosuch.yaml"))
        self.edit("x: x.npy", "x: nosuch.npy")
        self.refuses(6, "run.yaml:1: ", "nosuch.npy", "No such file")

    def test_damaged_file(self):
        (self.folder / "x.npy").write_bytes(b"hello")
        self.refuses(4, "x.npy")

    def test_rows_that_differ(self):
        write_npy(self.folder / "y.npy", (3,), [0, 1, 0], "<i8", "q")
        self.refuses(2, "run.yaml:1: ", "100", "3")

    def test_label_out_of_range(self):
        self.edit("units: 1, activation: sigmoid", "units: 3, activation: softmax")
        text = (self.folder / "run.yaml").read_text()
        self.write(text.replace("binary_crossentropy", "sparse_categorical_crossentropy"))
        write_npy(self.folder / "y.npy", (ROWS,), [i % 3 if i != 77 else 9 for i in range(ROWS)], "<i8", "q")
        self.refuses(4, "77", "9")
        summary = json.loads((self.folder / "runs/run/1/summary.json").read_text())
        self.assertEqual(summary["exit"], 4)
        self.assertIn("77", summary["error"])

    def test_nan_is_named(self):
        values = [0.5] * (ROWS * FEATURES)
        values[42 * FEATURES + 3] = float("nan")
        write_npy(self.folder / "x.npy", (ROWS, FEATURES), values)
        self.refuses(4, "42", "nan")

    def test_mistakes_about_files(self):
        self.edit("train: {x: x.npy, y: y.npy}", "train: rows.csv, label: income")
        self.refuses(6, "run.yaml:1: ", "rows.csv")
        self.edit("train: {x: x.npy, y: y.npy}", "train: {x: x.npy, y: y.npy}, label: income")
        self.refuses(2, "run.yaml:1: ", "label is for CSV files")
        self.edit("train: {x: x.npy, y: y.npy}", "train: {x: x.npy}")
        self.refuses(2, "run.yaml:1: ", "data.train has no y")
        self.edit("train: {x: x.npy, y: y.npy}", "train: {x: x.npy, labels: y.npy}")
        self.refuses(2, "run.yaml:1: ", "{x: x.npy, y: y.npy}", "IDX")
        self.edit("train:", "trian:")
        self.refuses(2, "run.yaml:1: ", "did you mean train?")


class Line(Case):
    def test_mistakes(self):
        self.refuses(2, "snug: there is no command fot", "snug fit", words=("fot", "run.yaml"))
        self.refuses(2, "snug fit: there is no option --epoch", "--epochs", words=("fit", "run.yaml", "--epoch", "3"))
        self.refuses(2, "snug fit: which run file?", words=("fit",))
        self.refuses(2, 'snug fit: fit.epoch=3: "epoch" is no', words=("fit", "run.yaml", "fit.epoch=3"))
        self.refuses(2, "snug fit: --memory 3QB: ", words=("fit", "run.yaml", "--memory", "3QB"))
        self.refuses(2, "snug fit: --epochs x: ", words=("fit", "run.yaml", "--epochs", "x"))

    def test_help_teaches(self):
        text = self.passes("--help")
        for word in ("fit", "plan", "summary", "doctor", "run.yaml", "Exit codes"):
            self.assertIn(word, text)
        for command in ("fit", "plan", "summary", "doctor"):
            self.assertGreaterEqual(self.passes(command, "--help").count(f"snug {command}"), 2)
        self.assertRegex(self.passes("--version"), r"^snug \d+\.\d+\.\d+\n$")

    def test_settings_of_the_line(self):
        result = self.json("fit", "run.yaml", "--epochs", "3", "fit.batch_size=50", "model.1.dropout=0.2", "name=b")
        self.assertEqual((result["epochs"], result["steps"]), (3, 6))
        self.assertEqual(result["directory"], "runs/b/1")
        kept = (self.folder / "runs/b/1/run.yaml").read_text()
        for line in ("dropout: 0.2", "epochs: 3", "batch_size: 50", "seed: 0"):
            self.assertIn(line, kept)

    def test_json_of_an_error(self):
        result = self.snug("fit", "nosuch.yaml", "--json")
        self.assertEqual(result.returncode, 6)
        error = json.loads(result.stdout)
        self.assertEqual((error["command"], error["exit"]), ("fit", 6))
        self.assertIn("nosuch.yaml", error["error"])


class Fit(Case):
    def test_run_directory(self):
        text = self.passes("fit", "run.yaml", "fit.validation_split=0.2")
        for part in ("Epoch 2/2", "Done after 10 steps", "runs/run/1", "budget", "Next:"):
            self.assertIn(part, text)
        directory = self.folder / "runs/run/1"
        self.assertEqual({p.name for p in directory.iterdir()}, {"run.yaml", "summary.json", "history.csv", "report.txt", "report.html",
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
                  "{initial_learning_rate: 0.1, decay_steps: 100}}, momentum: 0.9, nesterov: true}}")
        text = (self.folder / "run.yaml").read_text()
        text = text.replace("[accuracy]", "[accuracy, {auc: {curve: PR, name: area}}]")
        text = text.replace("units: 16,", "units: 16, kernel_regularizer: {l2: 0.01}, name: first, ")
        text += "  callbacks: [early_stopping: {monitor: loss, patience: 1, min_delta: 100}]\n  class_weight: {0: 1, 1: 2}\n"
        self.write(text)
        result = self.json("fit", "run.yaml", "--epochs", "20")
        self.assertEqual(result["epochs"], 2)
        self.assertEqual(set(result["metrics"]), {"accuracy", "area", "loss"})

    def test_images(self):
        draw = random.Random(2)
        labels = [i % 2 for i in range(40)]
        write_idx(self.folder / "images.gz", (40, 6, 6), [draw.randrange(100) + 100 * y for y in labels for _ in range(36)])
        write_idx(self.folder / "labels.gz", (40,), labels)
        self.write("""\
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
            command = [SNUG, "fit", "run.yaml", "--epochs", "1000000", "--json", f"name=s{code}", "fit.verbose=2"]
            with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stderr.readline()
                while not process.stderr.readline().startswith(b"7/7"):
                    pass
                process.send_signal(number)
                out, _ = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code)
            self.assertEqual(json.loads(out)["exit"], code)
            summary = json.loads((self.folder / f"runs/s{code}/1/summary.json").read_text())
            self.assertEqual(summary["exit"], code)
            self.assertGreater(summary["steps"], 0)


class Guard(Case):
    def test_a_rate_that_is_too_high(self):
        """Stops with 5 before a weight is spoiled; the checkpoint of that moment can be resumed with another rate."""
        self.edit("optimizer: adam", "optimizer: {sgd: {learning_rate: 1e30}}")
        self.edit_loss_to_mse()
        line = self.refuses(5, "was not committed", "learning rate", "clipnorm")
        self.assertIn("step ", line)
        summary = json.loads((self.folder / "runs/run/1/summary.json").read_text())
        self.assertEqual(summary["exit"], 5)
        self.assertIn("was not committed", summary["error"])
        newest = sorted((self.folder / "runs/run/1/checkpoints").glob("*.ckpt"))[-1]
        self.passes("checkpoint", "verify", str(newest))
        # The weights are finite, but as large as such a rate has made them: a lower one is taken over, and stops again.
        again = self.snug("fit", "run.yaml", "--resume", "fit.optimizer.sgd.learning_rate=0.001")
        self.assertIn("The learning rate is 0.001 from now on", again.stdout)
        self.assertIn("(it is 0.001)", again.stderr)
        self.assertEqual(again.returncode, 5)

    def edit_loss_to_mse(self):
        text = (self.folder / "run.yaml").read_text()
        self.write(text.replace("binary_crossentropy", "mse").replace(", activation: sigmoid", ""))

    def test_policies(self):
        self.passes("fit", "run.yaml", "fit.guard=off")
        self.passes("fit", "run.yaml", "fit.guard.policy=rollback", "fit.guard.rollback_steps=2")
        self.refuses(2, 'guard is "sometimes"; it must be stop, skip, rollback or off',
                     words=("fit", "run.yaml", "fit.guard=sometimes"))
        self.refuses(2, "most_skips is -1; it must be 0 or more",
                     words=("fit", "run.yaml", "fit.guard.most_skips=-1"))
        self.refuses(2, "most_skips_in_a_row", words=("fit", "run.yaml", "fit.guard.most_skips_in_row=1"))

    def test_a_nan_in_the_data_is_named(self):
        values = [0.5] * (ROWS * FEATURES)
        values[37 * FEATURES + 2] = float("nan")
        write_npy(self.folder / "x.npy", (ROWS, FEATURES), values)
        self.refuses(4, "x.npy", "row 37", "nan")


class Checkpoints(Case):
    def test_resume_goes_on(self):
        whole = self.json("fit", "run.yaml", "--epochs", "6", "name=whole")
        self.passes("fit", "run.yaml", "--epochs", "3")
        resumed = self.json("fit", "run.yaml", "--epochs", "6", "--resume")
        self.assertEqual(resumed["directory"], "runs/run/1")
        for key in ("metrics", "steps", "epochs"):
            self.assertEqual(resumed[key], whole[key])
        history = [(self.folder / f"runs/{name}/1/history.csv").read_text() for name in ("whole", "run")]
        self.assertEqual(history[0], history[1])

    def test_terminated_and_resumed(self):
        command = [SNUG, "fit", "run.yaml", "--epochs", "1000000", "--json", "fit.verbose=2"]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while not process.stderr.readline().startswith(b"7/7"):
                pass
            self.refuses(6, "is using this directory", words=("fit", "run.yaml", "--resume"))
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        steps = json.loads(out)["steps"]
        epochs = steps // 7 + 2
        resumed = self.json("fit", "run.yaml", "--resume", "--epochs", str(epochs))
        self.assertEqual(resumed["steps"], epochs * 7)
        lines = (self.folder / "runs/run/1/history.csv").read_text().splitlines()
        self.assertEqual([line.split(",")[0] for line in lines[1:]], [str(i) for i in range(epochs)])

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
                     "all 11 checksums are right"):
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


class Budget(Case):
    def test_a_budget_that_is_too_small(self):
        words = ("fit", "run.yaml", "model.0.dense.units=400000", "--batch-size", "100", "--memory", "40MiB")
        line = self.refuses(3, "--memory 40MiB: ", "does not fit the budget of 40.0 MiB", "largest", "it fits with",
                            words=words)
        self.assertFalse((self.folder / "runs/run").exists())
        budget = line.split("it fits with --memory ")[1].split(",")[0]
        self.passes(*words[:-1], budget)

    def test_weights_that_no_machine_has(self):
        for command in ("plan", "fit"):
            self.refuses(3, "the budget of 1.0 GiB", "largest part", "GiB", "it fits with --memory",
                         words=(command, "run.yaml", "model.0.dense.units=3000000000", "--memory", "1GiB"))

    def test_dry_run(self):
        result = self.json("fit", "run.yaml", "--dry-run")
        self.assertEqual(result["exit"], 0)
        self.assertGreater(result["total_bytes"], result["arena_bytes"])
        self.assertFalse((self.folder / "runs/run").exists())
        self.assertIn("It fits", self.passes("fit", "run.yaml", "--dry-run"))

    @unittest.skipIf(SANITIZED, "a budget")
    def test_plan(self):
        text = self.passes("plan", "run.yaml", "--memory", "64MiB")
        for part in ("batches of 16 rows", "weights", "budget", "64.0 MiB", "peak"):
            self.assertIn(part, text)

    @unittest.skipIf(SANITIZED, "a budget")
    def test_plan_of_several_sizes(self):
        text = self.passes("plan", "run.yaml", "--memory", "64MiB", "--batch-size", "8,16,32")
        self.assertEqual([line.split()[0] for line in text.splitlines()[1:4]], ["8", "16", "32"])
        self.assertIn("The largest batch that fits: 100, all rows of the data", text)
        result = self.json("plan", "run.yaml", "--memory", "5MiB", "--batch-size", "8,16")
        self.assertEqual([(p["batch_size"], p["fits"]) for p in result["plans"]], [(8, False), (16, False)])
        self.assertEqual(result["largest_batch_size"], 0)


class Others(Case):
    def test_summary(self):
        text = self.passes("summary", "run.yaml")
        self.assertIn("Total params: 161", text)
        result = self.json("summary", "run.yaml", "model.0.dense.units=32")
        self.assertEqual(result["parameters"], 32 * FEATURES + 32 + 32 + 1)
        self.assertEqual([layer["class"] for layer in result["layers"]][-3:], ["Dense", "Dropout", "Dense"])

    def test_summary_without_data(self):
        self.write("model: [input: [28, 28, 1], flatten: , dense: 10]\n")
        self.assertIn("7,850", self.passes("summary", "run.yaml"))
        self.write("model: [dense: 10]\n")
        self.refuses(2, "run.yaml:1: ", "- input:", words=("summary", "run.yaml"))

    def test_doctor(self):
        text = self.passes("doctor")
        for word in ("Cores", "Instructions", "Memory", "Budget", "Disk", "oneDNN", "snug"):
            self.assertIn(word, text)
        result = self.json("doctor")
        self.assertGreater(result["cores"], 0)
        free = [limit["free_bytes"] for limit in result["memory_limits"]]
        self.assertEqual(free[0], min(free))


if __name__ == "__main__":
    unittest.main()
