#!/usr/bin/env python3
"""Writes tests/data/hdf5: small files as h5py writes them in its several ways. Needs h5py.

Every array but those that say otherwise holds (7 i) % 101 at element i of 50 x 3 x 4.

usage: make_hdf5.py
"""

import pathlib

import h5py
import numpy as np

FOLDER = pathlib.Path(__file__).parent / "hdf5"
SHAPE = (50, 3, 4)
VALUES = ((7 * np.arange(600)) % 101).reshape(SHAPE)


def fill(file):
    """All ways of standing in a file."""
    for name in ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">f4", ">f8", ">i2", ">i8"]:
        file.create_dataset(name.replace(">", "big_"), data=VALUES.astype(name))
    x = VALUES.astype("float32")
    file.create_dataset("bool", data=VALUES % 3 == 0)
    file.create_dataset("chunks", data=x, chunks=(7, 3, 4))
    file.create_dataset("edges", data=x, chunks=(7, 2, 3))
    file.create_dataset("gzip", data=x, chunks=(8, 3, 4), compression="gzip")
    file.create_dataset("shuffled", data=x, chunks=(8, 2, 3), compression="gzip", shuffle=True)
    file.create_dataset("checked", data=x, chunks=(9, 3, 4), fletcher32=True, compression="gzip", shuffle=True)
    file.create_dataset("single", data=x, chunks=SHAPE)
    file.create_dataset("single_gzip", data=x, chunks=SHAPE, compression="gzip")
    file.create_dataset("growing", data=x, chunks=(1, 3, 4), maxshape=(None, 3, 4))
    file.create_dataset("growing_gzip", data=x, chunks=(1, 3, 2), maxshape=(None, 3, 4), compression="gzip")
    file.create_dataset("growing_twice", data=x, chunks=(2, 3, 2), maxshape=(None, None, 4))
    file.create_dataset("growing_twice_gzip", data=x, chunks=(1, 1, 2), maxshape=(None, None, 4), compression="gzip")
    file.create_dataset("lzf", data=x, chunks=(7, 3, 4), compression="lzf")
    hole = file.create_dataset("hole", SHAPE, "float32", chunks=(10, 3, 4), fillvalue=5)
    hole[:20] = x[:20]
    file.create_dataset("labels", data=(np.arange(50) % 5).astype("int64"))
    file.create_dataset("scalar", data=3.0)
    file.create_dataset("texts", data=[b"a", b"bc"])
    file.attrs["note"] = "a text"
    many = file.create_group("many")
    for i in range(60):
        many.create_dataset(f"array_{i:03}", data=np.full((2,), i, "int32"))
    small = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    small.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((6, 2))
    compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT16, space, small)
    compact.write(h5py.h5s.ALL, h5py.h5s.ALL, VALUES.reshape(-1)[:12].reshape(6, 2).astype("int16"))


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, version in [("earliest", "earliest"), ("v108", "v108"), ("latest", "latest")]:
        with h5py.File(FOLDER / f"{name}.h5", "w", libver=version) as file:
            fill(file)
    for name in ("earliest", "latest"):  # What leads elsewhere troubles nobody who does not want it.
        with h5py.File(FOLDER / f"links_{name}.h5", "w", libver=name) as file:
            file["group/x"] = VALUES.astype("float32")
            file["soft"] = h5py.SoftLink("/group/x")
            file["other"] = h5py.ExternalLink("other.h5", "/x")
            file["type"] = np.dtype("float32")
            file.create_dataset("named", (50, 2), file["type"])
    with h5py.File(FOLDER / "links_old.h5", "w", libver="earliest") as file:  # A table of symbols: it has no other links.
        file["group/x"] = VALUES.astype("float32")
        file["soft"] = h5py.SoftLink("/group/x")
    with h5py.File(FOLDER / "compact_big.h5", "w") as file:
        small = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        small.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((6, 2))
        compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32BE, space, small)
        compact.write(h5py.h5s.ALL, h5py.h5s.ALL, VALUES.reshape(-1)[:12].reshape(6, 2).astype(">i4"))
    with h5py.File(FOLDER / "small.h5", "w") as file:
        x = VALUES.reshape(-1)[:128].reshape(16, 8).astype("float32")
        file.create_dataset("x", data=x, chunks=(8, 8), compression="gzip", fletcher32=True)
        file.create_dataset("plain", data=x)
        file.create_dataset("y", data=np.arange(15, dtype="int64"))
        file.create_dataset("nan", data=np.array([1, np.nan, 3], "float32"))
        file.create_dataset("texts", data=[b"a", b"bc"])
    with h5py.File(FOLDER / "matlab.h5", "w", userblock_size=512) as file:
        file.create_dataset("gzip", data=VALUES.astype("float64"), chunks=(8, 3, 4), compression="gzip")
        file.create_dataset("float64", data=VALUES.astype("float64"))


if __name__ == "__main__":
    main()
