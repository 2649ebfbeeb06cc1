"""Sizes and data of the workloads, the same bits for every framework; each runner's models are its own. Needs numpy."""

import numpy as np

# name: (batch, steps a block = batches held in memory)
SIZES = {
    "W1": (32, 1250),
    "W2": (10000, 3),
    "W3": (64, 300),
    "W4": (32, 5),
    "W5": (128, 20),
    "W6": (128, 2),
    "W9": (1024, 10),
    "W10": (32, 32),
    "W11": (8, 3),
    "W12": (32, 4),
}
USER_ROWS = 200_000  # W1 --mode user
SMALL_FIT_ROWS = 1000  # W10
CONV = {"W4", "W5", "W6", "W11", "W12"}
BINARY = {"W1", "W2", "W3", "W9", "W10", "W11"}  # The others have ten classes.
NUMBERS9, TABLES9, ROWS9, WIDTH9 = 13, 26, 100_000, 16
INPUTS = {"W1": (100,), "W2": (1000,), "W3": (200,), "W4": (224, 224, 3), "W5": (28, 28, 1), "W6": (32, 32, 3),
          "W9": (NUMBERS9,), "W10": (100,), "W11": (128, 128, 3), "W12": (96, 96, 3)}


def plan(args):
    """(batch, steps a block)"""
    batch, steps = SIZES[args.workload]
    if args.mode == "user":
        steps = USER_ROWS // batch
    return batch, min(steps, args.steps or steps)


def data(workload, rows):
    """(list of input arrays, label array); images are NHWC."""
    random = np.random.default_rng(0)
    inputs = [random.standard_normal((rows, *INPUTS[workload]), dtype=np.float32)]
    if workload == "W9":
        inputs.append(random.integers(0, ROWS9, (rows, TABLES9), dtype=np.int32))
    if workload in BINARY:
        shape = (rows, 128, 128, 1) if workload == "W11" else (rows, 1)
        return inputs, random.integers(0, 2, shape, dtype=np.int8).astype(np.float32)
    return inputs, random.integers(0, 10, rows, dtype=np.int32)


def mobilenet_v2_blocks():
    """(in, expanded, out, stride) of every inverted residual with alpha .5."""
    blocks, channels = [], 16
    for expansion, out, repeats, stride in [(1, 8, 1, 1), (6, 16, 2, 2), (6, 16, 3, 2), (6, 32, 4, 2), (6, 48, 3, 1),
                                            (6, 80, 3, 2), (6, 160, 1, 1)]:
        for i in range(repeats):
            blocks.append((channels, channels * expansion, out, stride if i == 0 else 1))
            channels = out
    return blocks
