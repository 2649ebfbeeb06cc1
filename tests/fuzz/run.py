#!/usr/bin/env python3
"""Runs fuzzers, each from its seeds and from what earlier runs found.

usage: run.py [FUZZER...] --seconds N [--work FOLDER] [--log FILE]

FUZZER are programs of the preset `asan`; without any, all of them: build/asan/tests/fuzz/*_fuzz. With --work what was found
is kept there, and the time that each fuzzer has run is counted in the log (FOLDER/log.jsonl unless said): the same command again
goes on until each has run for N seconds. An input that breaks a reader is kept in FOLDER/found (else in the
current folder) and named; the exit code is 1 then.
"""

import argparse
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLICE = 300  # Seconds between two entries of the log.
MEMORY_MIB = 1024


def seeds_of(fuzzer):
    patterns = pathlib.Path(f"{fuzzer}.seeds").read_text().split()
    found = sorted({path for pattern in patterns for path in glob.glob(pattern)})
    if not found:
        sys.exit(f"run.py: {fuzzer.name} has no seeds; put small files into tests/fuzz/corpus")
    return found


def fill(corpus, seeds):
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in map(pathlib.Path, seeds):
        place = corpus / f"seed_{seed.parent.name}_{seed.name}"
        if not place.exists():
            shutil.copyfile(seed, place)


def environment():
    options = os.environ.get("ASAN_OPTIONS", "")
    return os.environ | {"ASAN_OPTIONS": f"{options}:detect_leaks=1:allocator_may_return_null=1"}


def run(fuzzer, seconds, corpus, found):
    """Runs one fuzzer; its output, and whether it found nothing."""
    found.mkdir(parents=True, exist_ok=True)
    name = fuzzer.name.removesuffix("_fuzz")
    command = [fuzzer, f"-max_total_time={seconds}", f"-rss_limit_mb={MEMORY_MIB}", "-timeout=20", "-max_len=131072",
               f"-malloc_limit_mb={MEMORY_MIB // 2}", f"-artifact_prefix={found}/{name}-", "-print_final_stats=1", corpus]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment())
    return done.stderr, done.returncode == 0


def number_of(output, name):
    line = next((line for line in output.splitlines() if line.startswith(f"stat::{name}:")), "0")
    return int(line.split()[-1])


def time_spent(log):
    """Seconds of each fuzzer that the log tells of."""
    spent = {}
    if log.exists():
        for line in log.read_text().splitlines():
            entry = json.loads(line)
            spent[entry["fuzzer"]] = spent.get(entry["fuzzer"], 0) + entry["seconds"]
    return spent


def fuzz(fuzzer, goal, work, log):
    """Runs one fuzzer until it has run for `goal` seconds in all; whether it found nothing."""
    name = fuzzer.name.removesuffix("_fuzz")
    corpus = work / "corpus" / name
    fill(corpus, seeds_of(fuzzer))
    left = goal - time_spent(log).get(name, 0)
    while left > 0:
        began = time.time()
        output, clean = run(fuzzer, min(left, SLICE), corpus, work / "found")
        entry = {"fuzzer": name, "seconds": round(time.time() - began, 1), "clean": clean, "corpus": len(list(corpus.iterdir())),
                 "runs": number_of(output, "number_of_executed_units")}
        with log.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(json.dumps(entry), flush=True)
        if not clean:
            print(output[-6000:], flush=True)
            return False
        left -= entry["seconds"]
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzzers", nargs="*", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--log", type=pathlib.Path)
    given = parser.parse_args()
    fuzzers = given.fuzzers or sorted((ROOT / "build/asan/tests/fuzz").glob("*_fuzz"))
    if not fuzzers:
        sys.exit("run.py: no fuzzers; build them: cmake --preset asan && cmake --build build/asan")
    with tempfile.TemporaryDirectory() as passing:
        work = given.work or pathlib.Path(passing)
        work.mkdir(parents=True, exist_ok=True)
        log = given.log or work / "log.jsonl"
        clean = [fuzz(fuzzer.resolve(), given.seconds, work, log) for fuzzer in fuzzers]
        if not given.work and not all(clean):
            for path in (work / "found").iterdir():
                print(f"kept: {shutil.copy(path, '.')}")
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
