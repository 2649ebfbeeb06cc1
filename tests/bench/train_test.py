"""bench/train.py: turns, resuming and failures with programs that only pretend to train; the table and the picture."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import train_picture  # noqa: E402
import train_report  # noqa: E402

PROBE = """
import sys
for _ in sys.stdin:
    print('{"gflops": 100.0, "l2_gbs": 50.0, "l3_gbs": 20.0}', flush=True)
"""
# Takes the part of train_bench and of the peers' python: their first argument tells them apart.
ENTRANT = """
import json, sys
words = " ".join(sys.argv[1:])
us = 10.0
if "run_keras.py" in words:
    us = 40.0 if "jax" in words else 80.0
if "run_torch.py" in words:
    us = 30.0 if "--tuned" in words else 50.0
if "--compile" in words:
    sys.exit("no compiler on this machine")
print("a line that a library prints")
print(json.dumps({"event": "first_step", "data_s": 0.0}), flush=True)
print(json.dumps({"event": "ready", "version": "pretender 1", "data_mib": 2, "arena_mib": 1}), flush=True)
for line in sys.stdin:
    print(json.dumps({"event": "turn", "us": [us, us, 99 * us], "loss": 0.5}), flush=True)
"""


def turn(row, entrant, us, **more):
    return dict(event="turn", row=row, entrant=entrant, us=[us], loss=1, others=0, hwm_mib=100, gflops=100, l2_gbs=50,
                l3_gbs=20) | more


def ready(row, entrant, **more):
    return dict(event="ready", row=row, entrant=entrant, first_step_s=0.5, data_mib=2) | more


def figures(*lines):
    return train_report.summary(list(lines)).rows["W1"].figures


class Summary(unittest.TestCase):
    def test_median_of_turns(self):
        turns = [turn("W1", "snug", us) for us in (10, 11, 90)]
        self.assertEqual(figures(ready("W1", "snug"), *turns)["snug"].us, 11)

    def test_disturbed_turns_are_left_out(self):
        clean = [turn("W1", "snug", 10) for _ in range(3)]
        others = [turn("W1", "snug", 50, others=0.5), turn("W1", "snug", 50, gflops=80), turn("W1", "snug", 50, l2_gbs=30)]
        figure = figures(*clean, *others)["snug"]
        self.assertEqual((figure.us, figure.turns, figure.clean), (10, 3, True))

    def test_too_few_undisturbed_turns(self):
        turns = [turn("W1", "snug", 10), *(turn("W1", "snug", 20, others=1) for _ in range(4))]
        figure = figures(*turns)["snug"]
        self.assertEqual((figure.us, figure.clean), (20, False))

    def test_the_best_peer_and_the_ratio(self):
        lines = [turn("W1", "snug", 10), turn("W1", "torch", 50), turn("W1", "jax", 30), turn("W1", "keras-tf", 90)]
        row = train_report.summary(lines).rows["W1"]
        self.assertEqual((row.best_peer, row.ratio), ("jax", 3))

    def test_without_peers(self):
        summary = train_report.summary([turn("W1", "snug", 10)])
        self.assertIsNone(summary.rows["W1"].best_peer)
        self.assertIn("| – |", train_report.markdown(summary))
        xml.etree.ElementTree.fromstring(train_picture.svg(summary))

    def test_without_snug(self):
        summary = train_report.summary([dict(event="failed", row="W1", entrant="snug", why="a & b"), turn("W1", "jax", 1)])
        self.assertIn("W1, Snug: a & b", train_report.markdown(summary))
        xml.etree.ElementTree.fromstring(train_picture.svg(summary))

    def test_broken_off_before_the_first_turn(self):
        row = train_report.summary([ready("W1", "snug")]).rows["W1"]
        self.assertEqual(train_report.time_cell(row.figures["snug"]), "–")

    def test_units(self):
        texts = [train_report.time_text(us) for us in (3.456, 99.96, 999.4, 999.6, 12_340, 999_600, 2_500_000)]
        self.assertEqual(texts, ["3.46 µs", "100 µs", "999 µs", "1.00 ms", "12.3 ms", "1.00 s", "2.50 s"])

    def test_a_line_that_was_cut_off(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "train.jsonl")
            log.write_text(json.dumps(turn("W1", "snug", 10)) + "\n" + '{"event": "tur')
            self.assertEqual(len(train_report.read_log(log)), 1)


class Recorded(unittest.TestCase):
    """A real log, of a disturbed machine."""

    def setUp(self):
        self.summary = train_report.summary(train_report.read_log(pathlib.Path(__file__).with_name("recorded.jsonl")))

    def test_table(self):
        text = train_report.markdown(self.summary)
        for title in ("Snug", "Keras on TF", "Keras on JAX", "JAX jit", "PyTorch tuned", "W1 small MLP"):
            self.assertIn(title, text)
        rows = [line for line in text.splitlines() if line.startswith("| W1 ")]
        self.assertEqual(len(rows), 3)  # Time, memory, first step.

    def test_picture(self):
        root = xml.etree.ElementTree.fromstring(train_picture.svg(self.summary))
        width, height = float(root.get("width")), float(root.get("height"))
        for element in root.iter():
            if element.tag.endswith("rect") and element.get("x"):
                self.assertLessEqual(float(element.get("x")) + float(element.get("width")), width)
                self.assertLessEqual(float(element.get("y")) + float(element.get("height")), height)


class Run(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        for name, text in (("build/bench/train_bench", ENTRANT), ("build/bench/machine_probe", PROBE),
                           ("venv/bin/python", ENTRANT)):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!{sys.executable} -IS\n{text}")  # Quick to start.
            path.chmod(0o755)

    def tearDown(self):
        self.temporary.cleanup()

    def run_train(self, *arguments):
        command = [sys.executable, str(BENCH / "train.py"), "--build", str(self.folder / "build"), "--environment",
                   str(self.folder / "venv"), "--output", str(self.folder / "out"), "--seconds", "0", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    def log(self):
        return train_report.read_log(self.folder / "out" / "train.jsonl")

    def turns(self, row, entrant):
        return [l["round"] for l in self.log() if l["event"] == "turn" and (l["row"], l["entrant"]) == (row, entrant)]

    def test_rows(self):
        result = self.run_train("--blocks", "1", "--workloads", "W1-user,W9-touched,W10")
        self.assertEqual(result.returncode, 0, result.stderr)
        table = (self.folder / "out" / "train.md").read_text()
        for row in ("W1-user", "W9-touched", "W10"):
            self.assertIn(f"| {row}", table)
        self.assertIn("PyTorch compiled: exit code 1: no compiler on this machine", table)
        self.assertIn("3.00 ×", table)
        xml.etree.ElementTree.parse(self.folder / "out" / "train.svg")

    def test_a_run_goes_on_where_it_was(self):
        self.run_train("--blocks", "2", "--workloads", "W2")
        result = self.run_train("--blocks", "3", "--workloads", "W2,W3", "--peers", "torch")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.turns("W2", "torch"), [0, 1, 2])
        self.assertEqual(self.turns("W2", "keras-tf"), [0, 1])
        self.assertEqual(self.turns("W3", "snug"), [0, 1, 2])
        self.assertIn("W3: done already", self.run_train("--blocks", "3", "--workloads", "W3", "--peers", "torch").stdout)

    def test_the_table_again(self):
        self.run_train("--blocks", "1", "--workloads", "W5")
        (self.folder / "out" / "train.md").unlink()
        before = len(self.log())
        self.assertEqual(self.run_train("--report").returncode, 0)
        self.assertTrue((self.folder / "out" / "train.md").exists())
        self.assertEqual(len(self.log()), before)

    def test_mistakes(self):
        for arguments, message in ((["--workloads", "W99"], "there is no workload W99; there are W1"),
                                   (["--peers", "mxnet"], "there is no peer mxnet; there are keras-tf"),
                                   (["--report"], "holds no turns"),
                                   (["--environment", "/nowhere"], "bench/peers.sh makes it")):
            result = self.run_train(*arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(message, result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_help_teaches(self):
        result = self.run_train("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("bench/peers.sh", result.stdout)


if __name__ == "__main__":
    unittest.main()
