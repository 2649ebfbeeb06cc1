"""Reads data as the peers do, for bench/data.py: each line on stdin asks for one turn, answered by its seconds.

  run_data.py tfdata-npy X.npy Y.npy BATCH
  run_data.py pandas FILE | pyarrow FILE
  run_data.py tfdata-tfrecord FILE WIDTH BATCH
  run_data.py tfdata-jpeg FOLDER SIZE BATCH
"""

import json
import os
import sys
import time

THREADS = 2


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    return tf


def drain(dataset):
    total = 0.0
    for x, _ in dataset:
        total += float(x[0].numpy().reshape(-1)[0])
    return total


def tfdata_npy(x, y, batch):
    """As its guide says for arrays: all rows in memory, a shuffle buffer over all of them."""
    import numpy as np

    tf = tensorflow()
    x, y = np.load(x), np.load(y)
    dataset = (
        tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(int(batch)).prefetch(tf.data.AUTOTUNE)
    )
    return lambda: drain(dataset)


def tfdata_tfrecord(path, width, batch):
    """Parsed by batches, the fastest way that its guide has."""
    tf = tensorflow()
    spec = {"x": tf.io.FixedLenFeature([int(width)], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}

    def parse(records):
        example = tf.io.parse_example(records, spec)
        return example["x"], example["y"]

    count = sum(1 for _ in tf.data.TFRecordDataset(path))
    dataset = (
        tf.data.TFRecordDataset(path)
        .shuffle(count)
        .batch(int(batch))
        .map(parse, num_parallel_calls=THREADS)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda: drain(dataset)


def tfdata_jpeg(folder, size, batch):
    tf = tensorflow()
    size = int(size)

    def decode(path):
        image = tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), [size, size])
        return tf.image.random_flip_left_right(image), 0

    dataset = (
        tf.data.Dataset.list_files(f"{folder}/*/*.jpg")
        .map(decode, num_parallel_calls=THREADS)
        .batch(int(batch))
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda: drain(dataset)


def pandas_csv(path):
    import pandas

    return lambda: float(pandas.read_csv(path, engine="c").iloc[:, 0].sum())


def pyarrow_csv(path):
    import pyarrow
    import pyarrow.csv

    pyarrow.set_cpu_count(THREADS)
    return lambda: float(pyarrow.csv.read_csv(path).column(0).to_numpy().sum())


KINDS = {
    "tfdata-npy": tfdata_npy,
    "tfdata-tfrecord": tfdata_tfrecord,
    "tfdata-jpeg": tfdata_jpeg,
    "pandas": pandas_csv,
    "pyarrow": pyarrow_csv,
}


def main():
    turn = KINDS[sys.argv[1]](*sys.argv[2:])
    for _ in sys.stdin:
        start = time.perf_counter()
        total = turn()
        print(json.dumps({"seconds": time.perf_counter() - start, "sum": total}), flush=True)


if __name__ == "__main__":
    main()
