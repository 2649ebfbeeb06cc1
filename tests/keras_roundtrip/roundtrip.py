"""Keras's models through Snug and back: Keras -> Snug -> Keras, with no step and with 5 of them.

usage: roundtrip.py TRAIN_STEPS [--graphs N] [--table FILE] [NAME...]
README.md has the whole command. Exits with 1 when anything differs.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import models

BATCH, STEPS = 4, 5


def data_for(model, generator):
    def values(tensor):
        shape = (BATCH * STEPS,) + tuple(tensor.shape[1:])
        if tensor.dtype == "int32":
            # Each id once a batch: Keras on TensorFlow squares the gradient of each occurrence by itself.
            return np.concatenate([generator.permutation(20).reshape(4, 5) for _ in range(STEPS)]).astype("int32")
        return generator.normal(size=shape).astype("float32")

    def target(tensor, loss):
        shape = (BATCH * STEPS,) + tuple(tensor.shape[1:])
        name = loss if isinstance(loss, str) else type(loss).__name__.lower()
        if "sparse" in name:
            return generator.integers(0, shape[-1], shape[:1]).astype("int32")
        if "categorical" in name:
            return np.eye(shape[-1], dtype="float32")[generator.integers(0, shape[-1], shape[:1])]
        if "binary" in name:
            return generator.integers(0, 2, shape).astype("float32")
        return generator.normal(size=shape).astype("float32")

    outputs = model.outputs
    losses = getattr(model, "loss", None) or "mse"
    if isinstance(losses, dict):
        losses = [losses[name] for name in sorted(losses)]
        outputs = [model.get_layer(name).output for name in output_keys(model)]
    if not isinstance(losses, list):
        losses = [losses] * len(outputs)
    return [values(x) for x in model.inputs], [target(y, loss) for y, loss in zip(outputs, losses)]


def output_keys(model):
    named = not isinstance(model, keras.Sequential) and isinstance(model.output, dict)
    return sorted(model.output) if named else []


def structured(model, x, y):
    keys = output_keys(model)
    y = dict(zip(keys, y)) if keys else (y if len(y) > 1 else y[0])
    return (x if len(x) > 1 else x[0]), y


def load_quietly(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = keras.models.load_model(path)
    texts = [str(w.message) for w in caught]
    if texts:
        raise AssertionError(f"warnings: {texts[:2]}")
    return model


def train(model, x, y, steps=STEPS):
    for i in range(steps):
        part = slice(i * BATCH, (i + 1) * BATCH)
        model.train_on_batch(*structured(model, [a[part] for a in x], [a[part] for a in y]))
    if model.optimizer is not None and getattr(model.optimizer, "use_ema", False):
        model.optimizer.finalize_variable_values(model.trainable_weights)


def state(model):
    names = [(v.path, v.numpy()) for v in model.weights]
    if getattr(model, "optimizer", None) is not None:
        names += [(v.path, v.numpy()) for v in model.optimizer.variables]
    return names


def difference(have, want):
    if len(have) != len(want):
        raise AssertionError(f"{len(have)} variables, expected {len(want)}")
    worst = 0.0
    for (_, a), (path, b) in zip(have, want):
        if a.shape != b.shape:
            raise AssertionError(f"{path}: {a.shape}, expected {b.shape}")
        a, b = a.astype("float64"), b.astype("float64")
        if a.size:
            worst = max(worst, float(np.max(np.abs(a - b)) / max(1e-3, float(np.max(np.abs(b))))))
    return worst


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"snug: {done.stderr.strip()}")


def check(name, program, folder):
    """The line of the table: layers, and the differences without and with steps."""
    keras.utils.set_random_seed(7)
    generator = np.random.default_rng(7)
    model = models.MODELS[name]()
    x, y = data_for(model, generator)
    compiled = name != "not_compiled"
    if compiled:
        train(model, x, y, 2)
    kinds = {}
    for end in ("keras",) if name in models.NO_H5 else ("keras", "h5"):
        given, back = folder / f"{name}.{end}", folder / f"{name}.snug.{end}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save(given)
            if end == "h5":  # Keras takes the optimizer out of the model that it saves so.
                model = keras.models.load_model(folder / f"{name}.keras")
        run(program, given, back)
        # Keras does not find the optimizer's state in an .h5 again, neither in its own nor in Snug's.
        have = state(load_quietly(back) if end == "keras" else load_legacy(back))
        want = state(model) if end == "keras" else legacy_state(given, model)
        kinds[end] = difference(have[:len(want)], want)
    result = f"{kinds['keras']:.1g}", (f"{kinds['h5']:.1g}" if "h5" in kinds else "not by Keras")
    if kinds["keras"] != 0 or kinds.get("h5", 0) != 0:
        raise AssertionError(f"differs after loading and saving: {kinds}")
    if name in models.NO_STEPS:
        return (*result, "-")
    files = []
    for letter, arrays in (("x", x), ("y", y)):
        if letter == "y":
            files.append("--")
        for i, array in enumerate(arrays):
            np.save(folder / f"{name}.{letter}{i}.npy", array)
            files.append(folder / f"{name}.{letter}{i}.npy")
    trained = folder / f"{name}.trained.keras"
    run(program, folder / f"{name}.keras", trained, STEPS, BATCH, *files)
    loaded = load_quietly(trained)
    train(model, x, y)
    worst = difference(state(loaded), state(model))
    if worst > 2e-4:
        raise AssertionError(f"5 steps differ by {worst:.2g}")
    loaded.fit(*structured(loaded, x, y), batch_size=BATCH, verbose=0)
    return (*result, f"{worst:.1g}")


def legacy_state(path, model):
    try:
        return state(load_legacy(path))
    except ValueError:  # Keras cannot load what it saved: a loss by its short name.
        return state(model)[:len(model.weights)]


def load_legacy(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return keras.models.load_model(path)


def check_graphs(count, program, folder):
    generator = np.random.default_rng(11)
    for i in range(count):
        keras.backend.clear_session()
        model = models.random_graph(generator)
        given, back = folder / f"graph{i}.keras", folder / f"graph{i}.snug.keras"
        model.save(given)
        run(program, given, back)
        loaded = load_quietly(back)
        if [l.name for l in loaded.layers] != [l.name for l in model.layers]:
            raise AssertionError(f"graph {i}: other layers")
        if difference(state(loaded), state(model)) != 0:
            raise AssertionError(f"graph {i}: weights in other places")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--table")
    arguments = parser.parse_args()
    lines, failed = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for name in arguments.names or models.MODELS:
            try:
                cells = check(name, arguments.program, folder)
            except Exception as error:  # Every model is tried.
                cells, failed = (f"FAILED: {' '.join(str(error).split())[-300:]}", "", ""), failed + 1
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
        if arguments.graphs:
            try:
                check_graphs(arguments.graphs, arguments.program, folder)
                lines.append(f"| {arguments.graphs} random functional graphs | 0 | - | - |")
            except Exception as error:
                lines.append(f"| random graphs | FAILED: {str(error)[:300]} | | |")
                failed += 1
            print(lines[-1], flush=True)
    if arguments.table:
        head = ["| model | .keras there and back | .h5 there and back | 5 steps in Snug against 5 in Keras |",
                "|---|---|---|---|"]
        pathlib.Path(arguments.table).write_text("\n".join(head + lines) + "\n")
    print(f"{len(lines) - failed} of {len(lines)} agree (Keras {keras.__version__}, {keras.backend.backend()})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
