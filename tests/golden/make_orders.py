"""Random functional models, as a real Keras orders their layers and names their weights: orders.json.

usage: KERAS_BACKEND=jax python make_orders.py [COUNT [SEED]] > orders.json

Each entry: the model's config (less the settings that do not matter here), the names of model.layers in Keras's
order, and the paths of all groups and arrays in its .weights.h5, each with its shape. Made with Keras 3.15.1.
"""

import json
import os
import random
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "jax")
import h5py
import keras
from keras import layers

WIDTH = 3
DROPPED = {"kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer", "kernel_constraint",
           "bias_constraint", "quantization_config", "dtype", "sparse", "ragged", "optional", "build_config",
           "compile_config", "gamma_initializer", "beta_initializer", "gamma_regularizer", "beta_regularizer",
           "gamma_constraint", "beta_constraint", "moving_mean_initializer", "moving_variance_initializer",
           "registered_name", "synchronized", "renorm", "renorm_clipping", "renorm_momentum", "trainable"}


def stripped(part, keeps=()):
    if isinstance(part, dict):
        return {k: stripped(v) for k, v in part.items() if k not in DROPPED or (k == "dtype" and "batch_shape" in part)}
    if isinstance(part, (list, tuple)):
        return [stripped(item) for item in part]
    return part


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.shared = []

    def inner(self, depth):
        """A model to nest: a Sequential, or a functional one of its own."""
        if self.random.random() < 0.4:
            return keras.Sequential([keras.Input((WIDTH,))] + [self.layer() for _ in range(self.random.randint(1, 3))])
        return self.model(self.random.randint(2, 5), depth + 1, ins=1, outs=1)

    def layer(self):
        return self.random.choice([
            lambda: layers.Dense(WIDTH), lambda: layers.Dense(WIDTH, activation="relu"), lambda: layers.ReLU(),
            lambda: layers.BatchNormalization(), lambda: layers.LayerNormalization(), lambda: layers.Dropout(0.5),
            lambda: layers.LeakyReLU(), lambda: layers.Activation("tanh")])()

    def apply(self, values, depth):
        """One more value from those there are."""
        kind = self.random.random()
        x, y = self.random.choice(values), self.random.choice(values)
        if kind < 0.42:
            return self.layer()(x)
        if kind < 0.55 and self.shared:
            return self.random.choice(self.shared)(x)
        if kind < 0.65:
            self.shared.append(layers.Dense(WIDTH))
            return self.shared[-1](x)
        if kind < 0.78:
            return self.random.choice([layers.Add, layers.Subtract, layers.Multiply, layers.Average])()([x, y])
        if kind < 0.84:
            return layers.Dense(WIDTH)(layers.Concatenate()([x, y, self.random.choice(values)]))
        if kind < 0.94 or depth > 1:
            return self.random.choice([lambda: x + y, lambda: x * 2.0, lambda: 1.0 - x, lambda: -y])()
        nested = self.inner(depth)
        if self.random.random() < 0.5:
            self.shared.append(nested)
        return nested(x)

    def model(self, count, depth=0, ins=0, outs=0):
        outer, self.shared = self.shared, []
        inputs = [keras.Input((WIDTH,)) for _ in range(ins or self.random.choice([1, 1, 1, 2, 2, 3]))]
        values = list(inputs)
        for _ in range(count):
            # Mostly from the newest values, so that the graph is deep too.
            near = values[-4:] if self.random.random() < 0.7 else values
            values.append(self.apply(near, depth))
        outputs = [values[-1]]
        for _ in range((outs or self.random.choice([1, 1, 2, 3])) - 1):
            outputs.append(self.random.choice(values[len(inputs):]))
        unique = list({id(o): o for o in outputs}.values())
        self.random.shuffle(unique)
        self.shared = outer
        one = lambda tensors: tensors[0] if len(tensors) == 1 else tensors
        return keras.Model(one(inputs), one(unique))


def weight_tree(model):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.weights.h5")
        model.save_weights(path)
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.append(
                [name, list(item.shape)] if isinstance(item, h5py.Dataset) else name))
    return [item for item in found if not isinstance(item, str) or item.split("/")[-1] == "vars"]


def entry(seed):
    keras.backend.clear_session()
    maker = Maker(seed)
    model = maker.model(maker.random.randint(3, 24))
    return {"config": stripped(keras.saving.serialize_keras_object(model)),
            "layers": [layer.name for layer in model.layers], "tree": weight_tree(model)}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    entries, tried = [], seed * 100000
    while len(entries) < count:
        tried += 1
        try:
            entries.append(entry(tried))
        except ValueError as error:  # A value that needs no input, a layer met twice in a list: draw again.
            print("left out:", str(error)[:80], file=sys.stderr)
    print("[\n" + ",\n".join(json.dumps(e, separators=(",", ":")) for e in entries) + "\n]")


main()
