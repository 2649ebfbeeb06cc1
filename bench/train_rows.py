"""What bench/train.py compares: the rows of its table, who enters, and how each is called."""

import dataclasses
import os
import pathlib

BENCH = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    title: str
    goal: float  # Times faster than the best peer.
    snug: tuple
    peers: tuple
    unit: str = "step"
    first_step_goal: float = 0  # Seconds from the start of the process; 0: none.
    only: tuple = ()  # The peers that have it; empty: all.


def _row(workload, title, goal, **more):
    return Row(workload, title, goal, (workload,), (workload,), **more)


ROWS = {row.name: row for row in [
    _row("W1", "small MLP, batch 32", 5, first_step_goal=0.15),
    Row("W1-user", "W1 as users call fit", 10, ("W1", "--mode", "user"), ("W1", "--mode", "user")),
    _row("W2", "MLP, batch 10,000", 1.05),
    _row("W3", "MLP 512-256 with dropout", 1.7),
    _row("W4", "convolution on 224 x 224", 3),
    _row("W5", "MNIST CNN", 2.2),
    _row("W6", "ResNet-20", 1.2, first_step_goal=1.5),
    _row("W9", "26 embeddings, Adam", 3),
    Row("W9-touched", "W9, every row touched", 1.05, ("W9", "--mode", "touched"), ("W9",)),
    Row("W9-lazy", "W9, lazy Adam against SparseAdam", 1.2, ("W9", "--mode", "lazy"), ("W9", "--sparse"),
        only=("torch", "torch-tuned")),
    _row("W10", "build, compile, fit a small model", 12, unit="model"),
    _row("W11", "U-Net", 1.3),
    _row("W12", "MobileNetV2", 2),
]}


@dataclasses.dataclass(frozen=True)
class Entrant:
    name: str
    title: str
    script: str = ""  # Empty: Snug's own program.
    options: tuple = ()
    rows: tuple = ()  # Empty: all.
    keeps_heap: bool = False

    def enters(self, row):
        if self.script and row.only and self.name not in row.only:
            return False
        return not self.rows or row.name in self.rows

    def command(self, row, python, train_bench, threads, steps):
        common = ("--threads", str(threads), "--steps", str(steps))
        if not self.script:
            return [str(train_bench), *row.snug, "--turns", *common]
        return [str(python), str(BENCH / "peers" / self.script), *row.peers, *self.options, *common]

    def environment(self, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        if self.keeps_heap:  # glibc gives nothing back to the kernel: PyTorch gains most from this.
            for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"):
                environment[name] = str(2**29)
        return environment


ENTRANTS = {entrant.name: entrant for entrant in [
    Entrant("snug", "Snug"),
    Entrant("keras-tf", "Keras on TF", "run_keras.py", ("--backend", "tensorflow")),
    Entrant("keras-jax", "Keras on JAX", "run_keras.py", ("--backend", "jax")),
    Entrant("jax", "JAX jit", "run_jax.py", (), ("W1", "W3", "W5")),
    Entrant("torch", "PyTorch eager", "run_torch.py"),
    Entrant("torch-tuned", "PyTorch tuned", "run_torch.py", ("--tuned",), keeps_heap=True),
    Entrant("torch-compiled", "PyTorch compiled", "run_torch.py", ("--tuned", "--compile"), keeps_heap=True),
]}
PEERS = [name for name in ENTRANTS if name != "snug"]
