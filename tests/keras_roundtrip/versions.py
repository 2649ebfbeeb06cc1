"""Models that several versions of Keras saved, predicted by Snug.

usage: versions.py SNUG [VERSION...]       in an environment with numpy, h5py, dm-tree and, for Keras 2, TensorFlow

Each version (installed in a folder of its own; Keras 3 with the NumPy backend) makes a convolutional Sequential and a functional model with
branches, shared and nested layers and Dropout, saves each as .keras, .h5 and weights, and predicts random rows; Snug
must predict the same from the files. Exits with 1 when anything differs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

# Keras 2 lives on as tf_keras, which needs TensorFlow.
VERSIONS = ["tf_keras==2.21.0", "3.0.5", "3.1.1", "3.3.3", "3.4.1", "3.5.0", "3.6.0", "3.8.0", "3.10.0", "3.12.0"]

MAKER = r"""
import os, sys
os.environ["KERAS_BACKEND"] = "numpy"
import importlib, numpy as np
keras = importlib.import_module(sys.argv[1])
layers = keras.layers
keras.utils.set_random_seed(3)

def sequential():
    return keras.Sequential([
        keras.Input((8, 8, 3)), layers.Rescaling(0.5), layers.Conv2D(4, 3, padding="same", activation="relu"),
        layers.BatchNormalization(), layers.MaxPooling2D(), layers.SeparableConv2D(5, 3), layers.ReLU(),
        layers.Dropout(0.3), layers.GlobalAveragePooling2D(), layers.Dense(3, activation="softmax")])

def functional():
    x = keras.Input((6,), name="in")
    shared = layers.Dense(6, activation="tanh")
    inner_in = keras.Input((6,))
    inner = keras.Model(inner_in, layers.LayerNormalization()(layers.Dense(6)(inner_in)))
    a, b = shared(x), shared(layers.Dropout(0.5)(layers.Dense(6, kernel_regularizer="l2")(x)))
    y = layers.Concatenate()([inner(a), layers.Add()([a, b]), layers.LeakyReLU()(b)])
    return keras.Model(x, layers.Dense(2)(y))

for name, make in (("sequential", sequential), ("functional", functional)):
    model = make()
    for weight in model.weights:
        value = np.random.default_rng(1).normal(size=weight.shape).astype("float32") * 0.3
        weight.assign(abs(value) + 0.5 if "variance" in getattr(weight, "path", weight.name) else value)
    x = np.random.default_rng(2).normal(size=(16,) + tuple(model.inputs[0].shape[1:])).astype("float32")
    np.save(f"{name}_x.npy", x)
    np.save(f"{name}_y.npy", np.asarray(model.predict(x, verbose=0), "float32"))
    model.save(f"{name}.keras")
    model.save(f"{name}.h5")
print(keras.__version__)
"""


def check(snug, version, folder):
    import numpy as np
    packages = folder / "packages"
    package = version if "==" in version else f"keras=={version}"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), package]
    subprocess.run(pip, check=True)
    environment = dict(os.environ, PYTHONPATH=str(packages))
    made = subprocess.run([sys.executable, "-c", MAKER, package.split("==")[0]], cwd=folder, env=environment, capture_output=True, text=True)
    if made.returncode:
        print(f"{version}: this Keras does not run here: {made.stderr.strip().splitlines()[-1]}")
        return 0
    failed = 0
    for file in sorted([*folder.glob("*.keras"), *folder.glob("*.h5")]):
        name = file.stem
        words = [snug, "predict", file.name, f"data.x={name}_x.npy", "--output", "out.npy", "--memory", "256MiB"]
        result = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if result.returncode:
            print(f"{version} {file.name}: {result.stderr.strip()}")
            failed += 1
            continue
        want, have = np.load(folder / f"{name}_y.npy"), np.load(folder / "out.npy")
        error = np.abs(want - have.reshape(want.shape)).max()
        failed += not error < 1e-5
        print(f"{version} {file.name}: largest difference {error:.1e}")
    return failed


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    snug = str(pathlib.Path(sys.argv[1]).resolve())
    failed = 0
    for version in sys.argv[2:] or VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            failed += check(snug, version, pathlib.Path(folder))
    return 1 if failed else 0


sys.exit(main())
