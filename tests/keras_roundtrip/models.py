"""The models of the round trip: every layer that Snug has at least once."""

import keras
from keras import layers as L, losses, metrics, ops, optimizers, regularizers
from keras.optimizers import schedules


def sequential(*items, **compile):
    model = keras.Sequential(list(items))
    model.compile(**compile)
    return model


def functional(inputs, outputs, **compile):
    model = keras.Model(inputs, outputs)
    model.compile(**compile)
    return model


def image(*items, classes=3, **compile):
    compile.setdefault("optimizer", "adam")
    compile.setdefault("loss", "sparse_categorical_crossentropy")
    return sequential(keras.Input((8, 8, 3)), *items, L.Flatten(), L.Dense(classes, "softmax"), **compile)


def steps(*items, **compile):
    compile.setdefault("optimizer", "adam")
    compile.setdefault("loss", "mse")
    return sequential(keras.Input((8, 4)), *items, L.Flatten(), L.Dense(2), **compile)


def rows(*items, **compile):
    compile.setdefault("loss", "mse")
    return sequential(keras.Input((6,)), *items, L.Dense(2), **compile)


def merged(layer, units=4):
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    x = layer([L.Dense(units, "relu")(a), L.Dense(units, "tanh")(b)])
    return functional([a, b], L.Dense(2)(x), optimizer="sgd", loss="mse")


def nested():
    inner_in = keras.Input((4,))
    inner = keras.Model(inner_in, L.Dense(4, "relu")(L.Dense(5)(inner_in)), name="inner")
    x = keras.Input((6,))
    y = inner(L.Dense(4)(x))
    return functional(x, L.Dense(2)(inner(y)), optimizer="adam", loss="mse")


def nested_end():
    inner_in = keras.Input((6,))
    inner = keras.Model(inner_in, L.Dense(2)(inner_in))
    x = keras.Input((6,))
    return functional(x, inner(L.Dense(6, "relu")(x)), optimizer="adam", loss="mse")


def nested_sequential():
    block = keras.Sequential([keras.Input((4,)), L.Dense(4), L.BatchNormalization(), L.ReLU()])
    x = keras.Input((6,))
    return functional(x, L.Dense(2)(block(L.Dense(4)(x))), optimizer="sgd", loss="mse")


def shared():
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    dense = L.Dense(4, "relu", name="shared")
    return functional([a, b], L.Dense(2)(L.Concatenate()([dense(a), dense(b), L.Dense(3)(b)])),
                      optimizer=optimizers.Adam(amsgrad=True), loss="mae")


def operators():
    x = keras.Input((6,))
    a, b = L.Dense(4)(x), L.Dense(4, "sigmoid")(x)
    return functional(x, L.Dense(2)(2.0 * a + b * a - (1.0 - b) / (b + 2.0)), optimizer="sgd", loss="mse")


def operations():
    x = keras.Input((4, 6))
    h = L.Dense(5, "tanh")(x)
    near = ops.softmax(ops.matmul(h, ops.transpose(h, (0, 2, 1))), axis=-1)
    ends = ops.maximum(h[:, 0], 0.1) * ops.exp(-ops.square(h[:, -1])) + ops.max(h, axis=1)
    some = ops.reshape(ops.clip(h[:, 1:3, ::2], -0.5, 0.5), (-1, 6))
    norms = ops.squeeze(ops.expand_dims(ops.sqrt(ops.sum(h**2, axis=-1) + 1.0), 1), axis=1)
    sums = ops.log(ops.sum(2.0**h, axis=(1, 2), keepdims=True))[..., 0]
    y = ops.concatenate([ops.mean(ops.matmul(near, h), axis=1), ends, some, ops.abs(norms), sums], axis=-1)
    return functional(x, L.Dense(2)(ops.relu(y) + ops.sigmoid(y) - ops.minimum(ops.tanh(y), y)), optimizer="adam", loss="mse")


def two_outputs():
    x = keras.Input((6,))
    h = L.Dense(5, "relu")(x)
    return functional(x, [L.Dense(2, name="first")(h), L.Dense(3, "softmax", name="second")(h)],
                      optimizer="adam", loss=["mse", "categorical_crossentropy"], loss_weights=[0.5, 2.0],
                      metrics=[["mae"], ["accuracy"]])


def named_outputs():
    x = keras.Input((6,), name="features")
    h = L.Dense(5, "relu")(x)
    return functional(x, {"price": L.Dense(2, name="price")(h), "kind": L.Dense(3, "softmax", name="kind")(h)},
                      optimizer=optimizers.AdamW(0.01), loss={"price": "mse", "kind": "categorical_crossentropy"},
                      metrics={"price": ["mae"], "kind": ["accuracy"]})


def frozen():
    model = rows(L.Dense(4, "relu", trainable=False), L.Dense(3), optimizer="adam")
    return model


MODELS = {
    "dense_sgd": lambda: rows(L.Dense(4, "relu"), optimizer=optimizers.SGD(0.1)),
    "dense_momentum": lambda: rows(L.Dense(4, "elu"), optimizer=optimizers.SGD(0.05, momentum=0.9, nesterov=True)),
    "dense_adagrad": lambda: rows(L.Dense(4, "selu"), optimizer=optimizers.Adagrad(0.1)),
    "dense_adadelta": lambda: rows(L.Dense(4, "gelu"), optimizer=optimizers.Adadelta(1.0)),
    "dense_adamax": lambda: rows(L.Dense(4, "softplus"), optimizer=optimizers.Adamax(0.01)),
    "dense_nadam": lambda: rows(L.Dense(4, "silu"), optimizer=optimizers.Nadam(0.01)),
    "dense_lion": lambda: rows(L.Dense(4, "tanh"), optimizer=optimizers.Lion(0.001)),
    "dense_rmsprop": lambda: rows(L.Dense(4, "swish"), optimizer=optimizers.RMSprop(0.01, momentum=0.5, centered=True)),
    "dense_schedule": lambda: rows(L.Dense(4, "relu"), optimizer=optimizers.Adam(
        schedules.CosineDecay(0.01, 20, warmup_target=0.05, warmup_steps=3), clipnorm=0.5)),
    "dense_exponential": lambda: rows(L.Dense(4, "relu"), optimizer=optimizers.SGD(
        schedules.ExponentialDecay(0.1, 5, 0.9, staircase=True))),
    "dense_ema": lambda: rows(L.Dense(4, "relu"), optimizer=optimizers.Adam(use_ema=True, ema_overwrite_frequency=3)),
    "dense_regularized": lambda: rows(L.Dense(4, "relu", kernel_regularizer=regularizers.L2(0.01),
                                              bias_regularizer=regularizers.L1(0.01)),
                                      L.Dense(4, kernel_regularizer=regularizers.L1L2(0.01, 0.02),
                                              kernel_initializer="he_normal", use_bias=False), optimizer="adam"),
    "frozen": frozen,
    "conv": lambda: image(L.Conv2D(4, 3, strides=2, padding="same", activation="relu"), L.BatchNormalization(),
                          L.MaxPooling2D(), metrics=["accuracy"]),
    "conv_kinds": lambda: image(L.ZeroPadding2D(((0, 1), (1, 0))), L.DepthwiseConv2D(3, depth_multiplier=2),
                                L.SeparableConv2D(5, 3, padding="same"), L.AveragePooling2D(2),
                                L.Conv2DTranspose(4, 3, strides=2, padding="same"), L.Cropping2D(1)),
    "conv_groups": lambda: image(L.Conv2D(6, 3, groups=3, dilation_rate=2), L.LeakyReLU(),
                                 L.UpSampling2D(2, interpolation="bilinear"), L.SpatialDropout2D(0.0)),
    "conv_global": lambda: sequential(keras.Input((8, 8, 3)), L.Rescaling(1 / 255.0, offset=0.1), L.Conv2D(4, 3),
                                      L.PReLU(shared_axes=[1, 2]), L.GlobalAveragePooling2D(), L.Dense(3, "softmax"),
                                      optimizer="adam", loss="sparse_categorical_crossentropy"),
    "conv_global_max": lambda: sequential(keras.Input((8, 8, 3)), L.Conv2D(4, 3), L.ReLU(6.0),
                                          L.GlobalMaxPooling2D(keepdims=True), L.Flatten(), L.Dense(3, "softmax"),
                                          optimizer="sgd", loss=losses.SparseCategoricalCrossentropy()),
    "image_sizes": lambda: sequential(keras.Input((8, 9, 3)), L.Resizing(7, 6), L.CenterCrop(5, 4),
                                      L.Resizing(6, 6, interpolation="nearest", crop_to_aspect_ratio=True),
                                      L.RandomRotation(0.0), L.RandomZoom(0.0), L.RandomTranslation(0.0, 0.0),
                                      L.RandomContrast(0.0, value_range=(-9, 9)),
                                      L.RandomBrightness(0.0, value_range=(-9, 9)), L.Flatten(), L.Dense(3),
                                      optimizer="adam", loss="mse"),
    "augmentation": lambda: sequential(keras.Input((8, 9, 3)), L.RandomFlip("horizontal", seed=3), L.RandomRotation(0.1),
                                       L.RandomZoom((-0.2, 0.1), 0.1, fill_mode="wrap"),
                                       L.RandomTranslation(0.1, (0.0, 0.2), fill_mode="constant", fill_value=0.5),
                                       L.RandomContrast(0.3), L.RandomBrightness(0.2), L.Flatten(), L.Dense(3),
                                       optimizer="adam", loss="mse"),
    "steps": lambda: steps(L.Conv1D(4, 3, padding="causal"), L.MaxPooling1D(), L.ZeroPadding1D(1), L.Cropping1D(1),
                           L.UpSampling1D(2), L.AveragePooling1D(2), L.SpatialDropout1D(0.0)),
    "steps_mean": lambda: sequential(keras.Input((8, 4)), L.Conv1D(4, 3), L.GlobalAveragePooling1D(), L.Dense(2),
                                     optimizer="adam", loss="mse"),
    "steps_max": lambda: sequential(keras.Input((8, 4)), L.Permute((2, 1)), L.GlobalMaxPooling1D(), L.Dense(2),
                                    optimizer="adam", loss=losses.Huber()),
    "norms": lambda: rows(L.Dense(8), L.LayerNormalization(), L.Dense(8), L.GroupNormalization(groups=2), L.Dense(8),
                          L.RMSNormalization(), L.Dense(8), L.UnitNormalization(), optimizer="adam"),
    "activations": lambda: rows(L.Dense(4), L.Activation("relu"), L.ELU(), L.Dense(4), L.Softmax(), L.Identity(),
                                optimizer="adam"),
    "shapes": lambda: rows(L.Reshape((2, 3)), L.Permute((2, 1)), L.Flatten(), L.RepeatVector(3), L.Flatten(),
                           L.GaussianNoise(0.0), L.Dropout(0.0), optimizer="adam"),
    "normalization": lambda: rows(L.Normalization(mean=[0.5] * 6, variance=[2.0] * 6), L.Dense(4), optimizer="adam"),
    "dropout": lambda: rows(L.Dense(4, "relu"), L.Dropout(0.5), L.GaussianNoise(0.1), optimizer="adam"),
    "embedding": lambda: sequential(keras.Input((5,), dtype="int32"), L.Embedding(20, 4), L.GlobalAveragePooling1D(),
                                    L.Dense(2), optimizer="adam", loss="mse"),
    "add": lambda: merged(L.Add()),
    "subtract": lambda: merged(L.Subtract()),
    "multiply": lambda: merged(L.Multiply()),
    "average": lambda: merged(L.Average()),
    "maximum": lambda: merged(L.Maximum()),
    "minimum": lambda: merged(L.Minimum()),
    "concatenate": lambda: merged(L.Concatenate()),
    "dot": lambda: merged(L.Dot(axes=1, normalize=True)),
    "nested": nested,
    "nested_end": nested_end,
    "nested_sequential": nested_sequential,
    "shared": shared,
    "operators": operators,
    "operations": operations,
    "two_outputs": two_outputs,
    "named_outputs": named_outputs,
    "binary": lambda: sequential(keras.Input((6,)), L.Dense(4, "relu"), L.Dense(1, "sigmoid"), optimizer="adam",
                                 loss=losses.BinaryCrossentropy(label_smoothing=0.1),
                                 metrics=[metrics.AUC(name="area"), metrics.Precision(), metrics.BinaryAccuracy()]),
    "weighted_metrics": lambda: rows(L.Dense(4, "relu"), optimizer="adam", metrics=["mae"],
                                     weighted_metrics=["mse"]),
    "not_compiled": lambda: keras.Sequential([keras.Input((6,)), L.Dense(4, "relu"), L.Dense(2)]),
}

# Keras cannot read its own .h5 of raw ops, nor write one of layers that prepare images.
NO_H5 = {"operators", "operations", "image_sizes", "augmentation"}
# Random numbers differ: only loading and saving is compared.
NO_STEPS = {"dropout", "augmentation", "not_compiled"}


def random_graph(generator):
    """A functional model of dense layers of one size, so that weights in the wrong place would fit."""
    count = generator.integers(1, 3)
    tensors = [keras.Input((3,)) for _ in range(count)]
    inputs, pool = list(tensors), []
    for _ in range(generator.integers(3, 14)):
        pick = lambda: tensors[generator.integers(len(tensors))]
        kind = generator.integers(6)
        if kind == 0:
            tensors.append(L.Add()([pick(), pick()]))
        elif kind == 1:
            tensors.append(pick() + pick())
        elif kind == 2 and pool:
            tensors.append(pool[generator.integers(len(pool))](pick()))
        elif kind == 3:
            tensors.append(L.BatchNormalization()(pick()))
        else:
            pool.append(L.Dense(3))
            tensors.append(pool[-1](pick()))
    outputs = [L.Dense(3)(tensors[-1])]
    if generator.integers(2):
        outputs.append(L.Dense(3)(tensors[generator.integers(len(tensors))]))
    return keras.Model(inputs, outputs if len(outputs) > 1 else outputs[0])
