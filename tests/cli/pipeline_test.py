"""How rows come to the step, as users say it: sequences of rows, shuffles, what is read ahead.

usage: pipeline_test.py SNUG     SNUG is the program
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SNUG = pathlib.Path(sys.argv.pop(1)).resolve()
FIT = "{loss: mse, optimizer: adam, batch_size: 16, epochs: 2, memory: 256MiB, verbose: 0, checkpoint: off%s}"


def npy(shape, values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (len(text) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}f", *values)


class PipelineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "x.npy").write_bytes(npy((400, 3), [i % 97 / 97 for i in range(1200)]))
        (self.folder / "y.npy").write_bytes(npy((400,), [i % 31 / 31 for i in range(400)]))

    def run_file(self, data="", fit="", model="dense: {units: 1}"):
        (self.folder / "run.yaml").write_text(
            f"name: r\nmodel: [{model}]\ndata: {{train: {{x: x.npy, y: y.npy}}{data}}}\nfit: {FIT % fit}\n")

    def snug(self, *words):
        return subprocess.run([SNUG, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def passes(self, *words):
        done = self.snug(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refuses(self, part, *words):
        done = self.snug(*words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(part, done.stderr)

    def test_timeseries(self):
        self.run_file(", timeseries: {sequence_length: 8, target_delay: 8}", model="flatten, dense: {units: 1}")
        self.passes("fit", "run.yaml")
        self.assertIn("(None, 24)", self.passes("summary", "run.yaml"))

    def test_timeseries_that_cannot_be(self):
        self.run_file(", timeseries: {sequence_length: 500}")
        self.refuses("reaches over 500 rows, but there are 400", "fit", "run.yaml")
        self.run_file(", timeseries: {sequence_lenght: 5}")
        self.refuses("sequence_length", "fit", "run.yaml")

    def test_shuffle_by_blocks(self):
        self.run_file(fit=", shuffle: blocks, validation_split: 0.25")
        self.passes("fit", "run.yaml")
        self.run_file(fit=", shuffle: block")
        self.refuses("true, false, or blocks", "fit", "run.yaml")

    def test_the_plan_says_what_is_read_ahead(self):
        self.run_file()
        plan = json.loads(self.passes("plan", "run.yaml", "--json"))
        text = json.dumps(plan)
        self.assertIn("ahead_bytes", text)
        self.assertIn("rows read ahead", self.passes("plan", "run.yaml"))


if __name__ == "__main__":
    unittest.main()
