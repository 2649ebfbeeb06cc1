#!/usr/bin/env python3
"""Writes tests/data/pictures: small JPEG and PNG files with what Keras on TensorFlow makes of them, and images seen through affine maps.

Needs keras and tensorflow. usage: make_pictures.py
"""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras.src.utils import image_dataset_utils

FOLDER = pathlib.Path(__file__).parent / "pictures"
SIZE = (9, 12)


def pictures():
    """Names with their bytes."""
    draw = np.random.default_rng(3)
    y, x = np.mgrid[0:23, 0:31]
    smooth = np.stack([y * 9, x * 7, (x + y) * 4], -1).clip(0, 255).astype("uint8")
    noise = draw.integers(0, 256, (17, 14, 4), dtype="uint8")
    return {
        "smooth.jpg": tf.io.encode_jpeg(smooth, quality=90),
        "progressive.jpg": tf.io.encode_jpeg(smooth, quality=80, progressive=True),
        "grey.jpg": tf.io.encode_jpeg(smooth[..., :1], format="grayscale"),
        "noise.png": tf.io.encode_png(noise[..., :3]),
        "alpha.png": tf.io.encode_png(noise),
        "grey.png": tf.io.encode_png(noise[..., :1]),
        "deep.png": tf.io.encode_png(noise[..., :3].astype("uint16") * 257 + 11),
    }


def loaded(path, channels, interpolation, crop):
    image = image_dataset_utils._load_image_tf(str(path), SIZE, channels, interpolation, "channels_last", crop_to_aspect_ratio=crop)
    return np.asarray(image, "float32")


def warped():
    """One image through one map, in all ways of filling and reading."""
    images = np.random.default_rng(5).normal(size=(1, 6, 7, 2)).astype("float32")
    arrays = {"warp_x": images[0]}
    maps = [[0.8, -0.6, 1.5, 0.6, 0.8, -2.5], [1.9, 0.0, -4.2, 0.0, 1.7, -3.1], [-1, 0, 6, 0, 1, 0], [1, 0, -9.4, 0, 1, 13.3]]
    for i, matrix in enumerate(maps):
        arrays[f"warp_map_{i}"] = np.array(matrix, "float32")
        for fill in ["reflect", "wrap", "constant", "nearest"]:
            for interpolation in ["bilinear", "nearest"]:
                result = keras.ops.image.affine_transform(
                    images, np.array([matrix + [0, 0]], "float32"), interpolation=interpolation, fill_mode=fill, fill_value=0.5
                )
                arrays[f"warp_{i}_{fill}_{interpolation}"] = np.asarray(result)[0]
    return arrays


def main():
    FOLDER.mkdir(exist_ok=True)
    arrays = warped()
    for name, content in pictures().items():
        (FOLDER / name).write_bytes(content.numpy())
        for mode, channels in [("grey", 1), ("rgb", 3)]:
            for interpolation in ["bilinear", "nearest"]:
                for crop in [False, True]:
                    key = f"{name}_{mode}_{interpolation}_{'crop' if crop else 'whole'}"
                    arrays[key] = loaded(FOLDER / name, channels, interpolation, crop)
    np.savez(FOLDER / "keras.npz", **arrays)


if __name__ == "__main__":
    main()
