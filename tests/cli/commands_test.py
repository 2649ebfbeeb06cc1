"""The command line and the other commands: each result has its form.

usage: commands_test.py SNUG     SNUG is the program
"""

import json
import shlex
import subprocess
import unittest

import snug_case
from snug_case import SANITIZED, ArraysCase


class Line(ArraysCase):
    def test_mistakes(self):
        self.refuses(2, "snug: there is no command fot", "snug fit", words=("fot", "run.yaml"))
        self.refuses(2, "snug fit: there is no option --epoch", "--epochs", words=("fit", "run.yaml", "--epoch", "3"))
        self.refuses(2, "snug fit: which run file?", words=("fit",))
        self.refuses(2, 'snug fit: fit.epoch=3: "epoch" is no', words=("fit", "run.yaml", "fit.epoch=3"))
        self.refuses(2, "snug fit: --memory 3QB: ", words=("fit", "run.yaml", "--memory", "3QB"))
        self.refuses(2, "snug fit: --epochs x: ", words=("fit", "run.yaml", "--epochs", "x"))

    def test_words_that_are_no_settings(self):
        self.write("b.yaml", self.RUN_FILE)
        self.write("b.keras", "")
        self.write("rows.csv", "")
        self.write("pics/a/1.png", "")
        for word, part in ((300 * "a", "what is it? A setting has the form path=value"), ("x.npy", "given as data.x=x.npy, their targets as data.y="),
                           ("rows.csv", "given as data=rows.csv"), ("pics", "given as data.train.image_folder=pics"),
                           ("b.yaml", "one run file at a time, and run.yaml is given"), ("b.keras", "a model is given as model=b.keras")):
            self.refuses(2, f"{word}: ", part, words=("fit", "run.yaml", word))

    def test_options_that_are_used_otherwise(self):
        for words, part in ((("--epochs",), "--epochs has no value; give --epochs N"),
                            (("--epochs", "3", "--epochs", "4"), "--epochs is given more than once"),
                            (("--lr", "0.1"), "there is no option --lr; there are --help,"),
                            (("--lr", "0.1"), "; other settings are given by their paths, such as fit.batch_size=32 or name=NAME")):
            self.refuses(2, part, words=("fit", "run.yaml", *words))
        self.refuses(2, "--html has no value; give --html FILE.HTML", words=("plan", "run.yaml", "--html"))
        self.assertNotIn("other settings", self.refuses(2, "no option --epoch; did you mean --epochs?", words=("fit", "run.yaml", "--epoch", "3")))
        self.assertNotIn("other settings", self.refuses(2, "no option --memory", words=("doctor", "--memory", "3")))
        self.refuses(2, "x: what is it? snug doctor --help says what there is", words=("doctor", "x"))
        self.refuses(2, "x: what is it? snug convert --help says what there is", words=("convert", "a.h5", "b.h5", "x"))
        self.refuses(6, "--runs run.yaml: this is a file; give a folder", words=("fit", "run.yaml", "--runs", "run.yaml"))

    def test_settings_that_contradict_each_other(self):
        for words in (("fit.epochs=3", "fit.epochs=4"), ("--epochs", "4", "fit.epochs=3"), ("data=a.csv", "data.train=b.csv")):
            self.refuses(2, "is given twice: ", "remove one of them", words=("fit", "run.yaml", *words))
        self.assertEqual(self.json("fit", "run.yaml", "--epochs", "3", "fit.epochs=3")["epochs"], 3)

    def test_settings_without_a_value_or_a_name(self):
        for word in ("data=", "fit.epochs=", "name="):
            self.refuses(2, f"{word}: it has no value; give one, or leave it out", words=("fit", "run.yaml", word))
        for section in ("fit", "data.", "fit."):
            line = self.refuses(2, words=("fit", "run.yaml", section + "={epochs: 3}"))
            self.assertNotIn("fit.fit", line)
            self.assertIn("such as fit.epochs=3" if section == "fit" else section, line)

    def test_a_folder_in_the_place_of_a_run_file(self):
        self.passes("fit", "run.yaml")
        for command in (("evaluate",), ("fit",), ("predict", "--output", "o.csv")):
            self.refuses(6, "runs/run/1: it is a folder; did you mean runs/run/1/run.yaml?", words=(*command, "runs/run/1"))
            self.refuses(6, "runs: it is a folder; give the path of a run file or a model", words=(*command, "runs"))

    def test_help_teaches(self):
        self.assertEqual(self.passes("fit", "--help"), self.passes("help", "fit"))
        self.refuses(2, "there is no command fot; did you mean snug fit?", words=("help", "fot"))
        text = self.passes("--help")
        self.assertEqual(text, self.passes("help"))
        for word in ("fit", "plan", "summary", "doctor", "run.yaml", "Exit codes"):
            self.assertIn(word, text)
        for command in ("fit", "plan", "summary", "doctor"):
            self.assertGreaterEqual(self.passes(command, "--help").count(f"snug {command}"), 2)
        self.assertRegex(self.passes("--version"), r"^snug \d+\.\d+\.\d+\n$")

    def test_settings_of_the_line(self):
        result = self.json("fit", "run.yaml", "--epochs", "3", "fit.batch_size=50", "model.1.dropout=0.2", "name=b")
        self.assertEqual((result["epochs"], result["steps"]), (3, 6))
        self.assertEqual(result["directory"], "runs/b/1")
        kept = self.read("runs/b/1/run.yaml")
        for line in ("dropout: 0.2", "epochs: 3", "batch_size: 50", "seed: 0"):
            self.assertIn(line, kept)

    def test_json_of_an_error(self):
        result = self.snug("fit", "nosuch.yaml", "--json")
        self.assertEqual(result.returncode, 6)
        error = json.loads(result.stdout)
        self.assertEqual((error["command"], error["exit"]), ("fit", 6))
        self.assertIn("nosuch.yaml", error["error"])


    def test_what_cannot_be_printed_is_a_failure(self):
        """Who reads it would take nothing for the result."""
        for words in (("fit", "run.yaml", "--json"), ("evaluate", "run.yaml"), ("--help",), ("doctor",)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(self.command(*words), cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 6, done.stderr)
            self.assertIn("stdout: cannot write all that was to be printed", done.stderr)


    def test_a_log_on_a_full_disk_does_not_end_a_run(self):
        for words, code in ((("fit", "run.yaml", "--json"), 0), (("fit", "run.yaml", "fit.guard=off", "fit.epochs=1"), 0), (("fit", "no.yaml"), 6)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(self.command(*words), cwd=self.folder, stdout=subprocess.PIPE, stderr=full, timeout=60, check=False)
            self.assertEqual(done.returncode, code, words)

    def test_a_closed_stdout_is_no_file_of_ours(self):
        """The next file that is opened would be what is printed to."""
        done = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *self.command("fit", "run.yaml")], cwd=self.folder, timeout=60, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(self.read("runs/run/1/checkpoints/lock"), r"^\d+\n$")


class Budget(ArraysCase):
    def test_a_budget_that_is_too_small(self):
        words = ("fit", "run.yaml", "model.0.dense.units=400000", "--batch-size", "100", "--memory", "40MiB")
        line = self.refuses(3, "--memory 40MiB: ", "does not fit the budget of 40.0 MiB", "largest", "it fits with",
                            words=words)
        self.assertFalse((self.folder / "runs/run").exists())
        budget = line.split("it fits with --memory ")[1].split(",")[0]
        self.passes(*words[:-1], budget)

    @unittest.skipIf(SANITIZED, "a budget")
    def test_the_batch_that_is_offered_is_near_the_largest(self):
        words = ("fit", "run.yaml", "model.0.dense.units=20000", "model.1=batch_normalization", "--batch-size")
        line = self.refuses(3, "it fits with", words=(*words, "100", "--memory", "28MiB"))
        least = float(line.split("it fits with --memory ")[1].split("MiB")[0])
        budget = ("--memory", f"{least * 0.96:.2f}MiB")
        line = self.refuses(3, "or with --batch-size ", words=(*words, "100", *budget))
        offered = int(line.split("or with --batch-size ")[1].split(",")[0])
        self.assertGreater(offered, 60)
        self.passes(*words, str(offered), *budget)

    def test_weights_that_no_machine_has(self):
        for command in ("plan", "fit"):
            self.refuses(3, "the budget of 1.0 GiB", "largest part", "GiB", "it fits with --memory",
                         words=(command, "run.yaml", "model.0.dense.units=3000000000", "--memory", "1GiB"))

    @unittest.skipIf(SANITIZED, "a budget")
    def test_a_budget_that_this_machine_does_not_have(self):
        """Plan says that it is for another machine, and fit does not advise the budget that it has just cut down."""
        words = ("run.yaml", "model.0.dense.units=30000000000", "--memory", "40000GiB")
        self.assertRegex(self.passes("plan", *words), "It fits, but not this machine, which leaves .*B. Next, on one with more: snug fit")
        self.assertRegex(self.fails(3, "fit", *words), r"it fits with --memory \d+MiB on a machine that has so much \(this one leaves .*B\)")
        self.assertNotIn("on a machine", self.fails(3, "fit", "run.yaml", "--memory", "4MiB"))

    def test_dry_run(self):
        result = self.json("fit", "run.yaml", "--dry-run")
        self.assertEqual(result["exit"], 0)
        self.assertGreater(result["total_bytes"], result["arena_bytes"])
        self.assertFalse((self.folder / "runs/run").exists())
        self.assertIn("It fits", self.passes("fit", "run.yaml", "--dry-run"))
        self.assertNotIn("before the first step", " ".join(self.passes("fit", "--help").split()))

    @unittest.skipIf(SANITIZED, "a budget")
    def test_plan(self):
        text = self.passes("plan", "run.yaml", "--memory", "64MiB")
        self.assertRegex(text, r"a step, with its rows \(measured\) +[\d.e+]+ ms")
        self.assertGreater(self.json("plan", "run.yaml", "--memory", "64MiB")["step_ns"], 0)
        for part in ("batches of 16 rows", "weights", "budget", "64.0 MiB", "peak"):
            self.assertIn(part, text)

    def test_what_is_drawn_is_of_one_size(self):
        for option in ("--curve", "--html", "--dump-problem"):
            self.refuses(2, f"{option} drawn.file: it is of one batch size, and --batch-size gives 2",
                         words=("plan", "run.yaml", "--batch-size", "8,16", option, "drawn.file"))
            self.assertFalse((self.folder / "drawn.file").exists())

    def test_next_commands_work_as_they_are_printed(self):
        text = self.passes("fit", "run.yaml", "--epochs", "1", "--seed", "3")
        line = next(line for line in text.splitlines() if "larger batches" in line)
        self.passes(*shlex.split(line.split(": snug ")[1]))

    @unittest.skipIf(SANITIZED, "a budget")
    def test_plan_of_several_sizes(self):
        text = self.passes("plan", "run.yaml", "--memory", "64MiB", "--batch-size", "8,16,32")
        self.assertEqual([line.split()[0] for line in text.splitlines()[1:4]], ["8", "16", "32"])
        self.assertIn("The largest batch that fits: 100, all rows of the data", text)
        words = ("plan", "run.yaml", "--memory", "5MiB", "--batch-size", "8,16")
        refused = self.snug(*words, "--json")
        result = json.loads(refused.stdout)
        self.assertEqual((refused.returncode, result["exit"]), (3, 3))
        self.assertEqual([(p["batch_size"], p["fits"]) for p in result["plans"]], [(8, False), (16, False)])
        self.assertEqual(result["largest_batch_size"], 0)
        refused = self.snug(*words)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("No batch fits, not even one row", refused.stdout)
        next_line = refused.stdout.split("this says: snug ")[1].split()
        self.refuses(3, "it fits with --memory", words=next_line)

    @unittest.skipIf(SANITIZED, "a budget")
    def test_plan_of_several_sizes_of_which_some_fit(self):
        """One that fits is enough, and none is told by the exit code, though smaller ones would."""
        words = ("plan", "run.yaml", "model.0.dense.units=20000", "model.1=batch_normalization", "--memory", "36MiB", "--batch-size")
        largest = json.loads(self.snug(*words, "99,100", "--json").stdout)["largest_batch_size"]
        self.assertGreater(largest, 1)
        self.assertLess(largest, 99)
        self.assertEqual(self.snug(*words, "99,100").returncode, 3)
        self.passes(*words, f"{largest // 2},100")


class Others(ArraysCase):
    def test_summary(self):
        text = self.passes("summary", "run.yaml")
        self.assertIn("Total params: 161", text)
        result = self.json("summary", "run.yaml", "model.0.dense.units=32")
        self.assertEqual(result["parameters"], 32 * self.FEATURES + 32 + 32 + 1)
        self.assertEqual([layer["class"] for layer in result["layers"]][-3:], ["Dense", "Dropout", "Dense"])

    def test_summary_without_data(self):
        self.write("run.yaml", "model: [input: [28, 28, 1], flatten: , dense: 10]\n")
        self.assertIn("7,850", self.passes("summary", "run.yaml"))
        self.write("run.yaml", "model: [dense: 10]\n")
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
    snug_case.main()
