"""How rows come to the step, as users say it: sequences of rows, shuffles, what is read ahead.

usage: pipeline_test.py SNUG     SNUG is the program
"""

import snug_case
from snug_case import npy

FIT = "{loss: mse, optimizer: adam, batch_size: 16, epochs: 2, memory: 256MiB, verbose: 0, checkpoint: off%s}"


class PipelineTest(snug_case.Case):
    def setUp(self):
        super().setUp()
        self.write("x.npy", npy((400, 3), [i % 97 / 97 for i in range(1200)]))
        self.write("y.npy", npy((400,), [i % 31 / 31 for i in range(400)]))

    def run_file(self, data="", fit="", model="dense: {units: 1}"):
        self.write(
            "run.yaml", f"name: r\nmodel: [{model}]\ndata: {{train: {{x: x.npy, y: y.npy}}{data}}}\nfit: {FIT % fit}\n")

    def edit_fit(self, old, new):
        self.write("run.yaml", self.read("run.yaml").replace(old, new))

    def test_timeseries(self):
        self.run_file(", timeseries: {sequence_length: 8, target_delay: 8}", model="flatten, dense: {units: 1}")
        self.passes("fit", "run.yaml")
        self.assertIn("(None, 24)", self.passes("summary", "run.yaml"))

    def test_timeseries_that_cannot_be(self):
        self.run_file(", timeseries: {sequence_length: 500}")
        self.refuses(2, "reaches over 500 rows, but there are 400")
        self.run_file(", timeseries: {sequence_lenght: 5}")
        self.refuses(2, "sequence_length")

    def test_shuffle_by_blocks(self):
        self.run_file(fit=", shuffle: blocks, validation_split: 0.25")
        self.passes("fit", "run.yaml")
        self.run_file(fit=", shuffle: block")
        self.refuses(2, "true, false, or blocks")

    def test_a_run_by_blocks_goes_on_with_another_budget(self):
        rows = 40000
        self.write("x.npy", npy((rows, 1024), b"", "|u1") + bytes(rows * 1024))  # More than a window.
        self.write("y.npy", npy((rows,), [i % 31 / 31 for i in range(rows)]))
        self.run_file(fit=", shuffle: blocks, steps_per_epoch: 2")
        self.edit_fit(", checkpoint: off", "")
        self.passes("fit", "run.yaml")
        text = self.says("fit", "run.yaml", "--resume", "--epochs", "3", "--memory", "600MiB")
        self.assertNotIn("not what it was", text)
        self.refuses(2, "rows are shuffled in windows of ", "the checkpoint is of a run with windows of ",
                     words=("fit", "run.yaml", "--resume", "--epochs", "4", "--memory", "128MiB"))

    def test_the_plan_says_what_is_read_ahead(self):
        self.run_file()
        self.assertIn("ahead_bytes", self.json("plan", "run.yaml"))
        self.assertIn("rows read ahead", self.passes("plan", "run.yaml"))


if __name__ == "__main__":
    snug_case.main()
