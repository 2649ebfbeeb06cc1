"""What a runner says to bench/train.py, and hears: one line of JSON or a number each.

  -> {"event": "first_step", "data_s": ...}   step 1 has ended; data_s of the time so far went into drawing rows
  -> {"event": "ready", ...}                  compiled and warm, with what is known of the run
  <- 1.5                                      a turn: run blocks for so many seconds, at least one
  -> {"event": "turn", "us": [...], "loss": ...}   microseconds a step of each block
  <- end of file                              no more turns

By hand: echo 2 | python run_torch.py W5 --tuned
"""

import argparse
import json
import sys
import time

import workloads


class Turns:
    def __init__(self, steps):
        self.steps = steps
        self.out = sys.stdout
        self.seconds = None  # Of the turn that runs, if any.

    def say(self, event, **facts):
        print(json.dumps(dict(event=event, **facts)), file=self.out, flush=True)

    def begin(self):
        """Starts a block; waits for the next turn if none runs. False: there are no more."""
        if self.seconds is None:
            line = sys.stdin.readline()
            if not line.strip():
                return False
            self.seconds, self.us, self.started = float(line), [], time.perf_counter()
        self.block_started = time.perf_counter()
        return True

    def end(self, loss):
        now = time.perf_counter()
        self.us.append(round(1e6 * (now - self.block_started) / self.steps, 2))
        if now - self.started >= self.seconds:
            self.say("turn", us=self.us, loss=loss)
            self.seconds = None


def parser(text):
    result = argparse.ArgumentParser(description=text)
    result.add_argument("workload", choices=list(workloads.SIZES))
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--steps", type=int, default=0, help="at most so many steps a block, for a quick look")
    result.add_argument("--mode", default="step", choices=["step", "user"],
                        help="user: as a user writes it, shuffled and with what is usually printed")
    return result


def timed_data(workload, rows):
    """The rows, and how many seconds they took."""
    start = time.perf_counter()
    inputs, labels = workloads.data(workload, rows)
    return inputs, labels, round(time.perf_counter() - start, 4)


def mib(*arrays):
    return round(sum(a.nbytes for a in arrays) / 2**20, 2)
