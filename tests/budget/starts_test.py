"""One run, started again and again: its resident peak is the same, but for what the addresses of libraries change.

usage: starts_test.py SNUG [--starts N]
  SNUG      the program
  --starts  how many (20)

A budget that one process names as enough must be enough for the next one. What differs between them is how much of their
code is resident: the system maps whole stretches around a page that is touched, and their bounds depend on random
addresses. The program's own are aligned, so that only those of small libraries are left.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from run_files import RandomRun

# 240 KiB were the most in 20 starts on a machine that takes cold pages away, 164 in 160 starts elsewhere; with a program
# that is not aligned 20 starts are 300 to 700 apart.
MOST = 256 << 10


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("snug", type=pathlib.Path)
    parser.add_argument("--starts", type=int, default=20)
    return parser.parse_args()


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        RandomRun(75).write(folder)
        words = [options.snug.resolve(), "fit", "run.yaml", "--json", "--memory", "40MiB"]
        runs = [subprocess.run(words, cwd=folder, capture_output=True, check=True) for _ in range(options.starts)]
    peaks = [json.loads(run.stdout)["peak_resident_bytes"] for run in runs]
    spread = max(peaks) - min(peaks)
    print(f"{len(peaks)} starts: resident peaks from {min(peaks) >> 10} to {max(peaks) >> 10} KiB, {spread >> 10} apart")
    return 1 if spread > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
