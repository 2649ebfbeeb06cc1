"""Keras on one backend: fit on arrays. Without --mode user: no shuffling, metrics or progress."""

import os
import random
import sys

import turns as protocol
import workloads as wl

parser = protocol.parser(__doc__)
parser.add_argument("--backend", default="tensorflow", choices=["tensorflow", "jax"])
args = parser.parse_args()
os.environ["KERAS_BACKEND"] = args.backend
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if args.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["OMP_NUM_THREADS"] = "1"

import keras
from keras import layers

if args.backend == "tensorflow":
    import tensorflow as backend

    backend.config.threading.set_intra_op_parallelism_threads(args.threads)
    backend.config.threading.set_inter_op_parallelism_threads(args.threads)
else:
    import jax as backend

W = args.workload
random.seed(0)  # Seeds the initializers; keras.utils.set_random_seed would import TensorFlow on every backend.


def mlp(inputs, hidden, drop=0.0):
    m = [keras.Input((inputs,))]
    for h in hidden:
        m.append(layers.Dense(h, activation="relu"))
        if drop:
            m.append(layers.Dropout(drop))
    return keras.Sequential(m + [layers.Dense(1, activation="sigmoid")])


def resnet20():
    def unit(x, c, s, k=3):
        x = layers.Conv2D(c, k, strides=s, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)
    inp = keras.Input((32, 32, 3))
    x = layers.ReLU()(unit(inp, 16, 1))
    for stage, c in enumerate((16, 32, 64)):
        for i in range(3):
            s = 2 if stage and i == 0 else 1
            y = layers.ReLU()(unit(x, c, s))
            y = unit(y, c, 1)
            short = unit(x, c, s, 1) if s == 2 else x
            x = layers.ReLU()(layers.Add()([y, short]))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inp, layers.Dense(10, activation="softmax")(x))


def tabular():
    num = keras.Input((wl.NUMBERS9,))
    cat = keras.Input((wl.TABLES9,), dtype="int32")
    parts = [num] + [layers.Embedding(wl.ROWS9, wl.WIDTH9)(cat[:, i]) for i in range(wl.TABLES9)]
    x = layers.Concatenate()(parts)
    x = layers.Dense(256, activation="relu")(x)
    x = layers.Dense(128, activation="relu")(x)
    return keras.Model([num, cat], layers.Dense(1, activation="sigmoid")(x))


def unet():
    def two(x, c):
        for _ in range(2):
            x = layers.Conv2D(c, 3, padding="same", activation="relu")(x)
        return x
    inp = keras.Input((128, 128, 3))
    x, skips = inp, []
    for c in (16, 32, 64):
        x = two(x, c)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = two(x, 128)
    for c in (64, 32, 16):
        x = layers.Conv2DTranspose(c, 2, strides=2)(x)
        x = two(layers.Concatenate()([x, skips.pop()]), c)
    return keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(x))


def build():
    bce, cce = "binary_crossentropy", "sparse_categorical_crossentropy"
    if W in ("W1", "W10"):
        return mlp(100, [64]), bce, "adam"
    if W == "W2":
        return mlp(1000, [1000]), bce, "adam"
    if W == "W3":
        return mlp(200, [512, 256], 0.5), bce, "adam"
    if W == "W4":
        return keras.Sequential([
            keras.Input((224, 224, 3)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
            layers.Flatten(), layers.Dense(10, activation="softmax")]), cce, "adam"
    if W == "W5":
        return keras.Sequential([
            keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
            layers.Dropout(0.5), layers.Dense(10, activation="softmax")]), cce, "adam"
    if W == "W6":
        return resnet20(), cce, keras.optimizers.SGD(0.1, momentum=0.9)
    if W == "W9":
        return tabular(), bce, "adam"
    if W == "W11":
        return unet(), bce, "adam"
    if W == "W12":
        return keras.applications.MobileNetV2(
            input_shape=(96, 96, 3), alpha=0.5, weights=None, classes=10), cce, keras.optimizers.SGD(0.01)


def compiled():
    model, loss, optimizer = build()
    model.compile(optimizer=optimizer, loss=loss, metrics=["accuracy"] if args.mode == "user" else None)
    return model


class NoMoreTurns(Exception):
    pass


class Blocks(keras.callbacks.Callback):
    """An epoch is a block; the first one warms up."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch > 0 and not turns.begin():
            raise NoMoreTurns  # stop_training would be looked at only after this epoch.

    def on_epoch_end(self, epoch, logs=None):
        if epoch > 0:
            turns.end(float(logs["loss"]))
        else:
            turns.say("ready", **facts)


def fit_small():
    history = compiled().fit(xs[0], y, batch_size=batch, epochs=2, verbose=0)
    return history.history["loss"][-1]


batch, steps = wl.plan(args)
turns = protocol.Turns(1 if W == "W10" else steps)
xs, y, data_s = protocol.timed_data(W, wl.SMALL_FIT_ROWS if W == "W10" else batch * steps)
facts = dict(version=f"Keras {keras.__version__}, {backend.__name__} {backend.__version__}",
             data_mib=protocol.mib(*xs, y))
x = xs if len(xs) > 1 else xs[0]
model = compiled()
first = [a[:batch] for a in xs]
model.fit(first if len(xs) > 1 else first[0], y[:batch], batch_size=batch, shuffle=False, verbose=0)
turns.say("first_step", data_s=data_s)

if W == "W10":
    fit_small()
    turns.say("ready", **facts)
    while turns.begin():
        turns.end(fit_small())
    sys.exit()
options = dict(shuffle=False, verbose=0)
if args.mode == "user":
    options = {}
    sys.stdout = open(os.devnull, "w")  # The progress bar is made and written, and nobody looks at it.
try:
    model.fit(x, y, batch_size=batch, epochs=1_000_000, callbacks=[Blocks()], **options)
except NoMoreTurns:
    pass
