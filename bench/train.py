#!/usr/bin/env python3
"""Times Snug against its peers in one run, and writes a table and a picture."""

import argparse
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys

import train_picture
import train_report
from train_rows import BENCH, ENTRANTS, PEERS, ROWS
from train_runner import Probe, Runner, RunnerError

GUIDE = """\
For each row of the table every entrant is started (one after the other, so that first steps are not disturbed), trains
its first step and warms up. Then they take turns: in each round each of them trains alone for --seconds while the others
wait, and a probe of the machine stands beside each turn. The table takes the median of the turns that nothing else
disturbed and that the probe found in the row's usual state; figures from other turns carry a ~.

All that is measured goes to the log at once. A run that was broken off goes on where it was when it is called again with
the same log; a new log starts afresh. With the log of a whole run, --report writes the table again in no time.

  bench/peers.sh                                  once: the peers, into bench/.venv (or $SNUG_PEERS)
  cmake --build build --target train_bench machine_probe
  bench/train.py                                  everything: about half an hour on a quiet machine
  bench/train.py --workloads W1,W5 --blocks 3     two rows, three rounds
  bench/train.py --peers torch-tuned,jax          against these only
  bench/train.py --report                         the table and the picture from the log
"""


def names_of(text, known, what):
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"there is no {what} {name}; there are {', '.join(known)}")
    return names


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/train.py", description=__doc__, epilog=GUIDE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=lambda t: names_of(t, ROWS, "workload"), default=list(ROWS), metavar="W1,...",
                        help="default: " + ",".join(ROWS))
    parser.add_argument("--peers", type=lambda t: names_of(t, PEERS, "peer"), default=PEERS, metavar="NAME,...",
                        help="default: " + ",".join(PEERS))
    parser.add_argument("--blocks", type=int, default=7, help="rounds of turns; default 7")
    parser.add_argument("--seconds", type=float, default=1, help="of a turn, at least one block; default 1")
    parser.add_argument("--steps", type=int, default=0, metavar="N",
                        help="at most so many steps a block: a quick look whether all works, not for figures")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every entrant; default: all cores")
    parser.add_argument("--build", type=pathlib.Path, default=BENCH.parent / "build", help="where Snug was built")
    parser.add_argument("--environment", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("SNUG_PEERS", BENCH / ".venv")), metavar="FOLDER",
                        help="the peers' virtual environment; default: $SNUG_PEERS or bench/.venv")
    parser.add_argument("--output", type=pathlib.Path, default=BENCH / "results", metavar="FOLDER",
                        help="train.jsonl (the log), train.md and train.svg go here; default: bench/results")
    parser.add_argument("--limit", type=float, default=900, help="seconds of silence after which an entrant is given up")
    parser.add_argument("--report", action="store_true", help="measure nothing: write the table from the log")
    return parser.parse_args(arguments)


class Log:
    """Lines of JSON; what is in it counts as done."""

    def __init__(self, path):
        self.path = path
        self.lines = train_report.read_log(path) if path.exists() else []

    def add(self, event, **facts):
        line = dict(event=event, **facts)
        self.lines.append(line)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def rounds_done(self, row, names):
        """Rounds in which all of these have had their turn, or have failed before."""
        failed = {l["entrant"] for l in self.lines if l["event"] == "failed" and l["row"] == row.name}
        turns = [sum(l["event"] == "turn" and l["row"] == row.name and l["entrant"] == name for l in self.lines)
                 for name in names if name not in failed]
        return min(turns, default=sys.maxsize)


def machine():
    model = next((line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    try:
        commit = subprocess.run(["git", "-C", str(BENCH), "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                                check=False).stdout.strip()
    except FileNotFoundError:  # A machine without git.
        commit = ""
    return dict(cpu=model, cores=os.cpu_count(), commit=commit, date=datetime.date.today().isoformat())


def start_all(row, names, options, log, runners):
    """Adds each to `runners` as soon as it is ready, so that the caller can end them whatever happens."""
    for name in names:
        entrant = ENTRANTS[name]
        command = entrant.command(row, options.environment / "bin" / "python", options.build / "bench" / "train_bench",
                                  options.threads, options.steps)
        try:
            runner = Runner(command, entrant.environment(options.threads), options.limit)
        except RunnerError as error:
            give_up(row, name, error, log)
            continue
        runners[name] = runner
        log.add("ready", row=row.name, entrant=name, first_step_s=runner.first_step_s, **runner.facts)
        print(f"{row.name}: {entrant.title} ready, first step after {runner.first_step_s:.2f} s", flush=True)


def give_up(row, name, error, log):
    log.add("failed", row=row.name, entrant=name, why=str(error))
    print(f"{row.name}: {ENTRANTS[name].title} failed: {error}", flush=True)


def run_round(row, number, runners, probe, options, log):
    order = list(runners)
    # Each round begins with another one, so that no entrant always follows the same.
    for name in order[number % len(order):] + order[:number % len(order)]:
        state = probe.state()
        try:
            turn = runners[name].turn(options.seconds)
        except RunnerError as error:
            runners.pop(name).stop()
            give_up(row, name, error, log)
            continue
        log.add("turn", row=row.name, entrant=name, round=number, **turn, **state)


def run_row(row, options, probe, log):
    names = [name for name in ["snug", *options.peers] if ENTRANTS[name].enters(row)]
    done = log.rounds_done(row, names)
    if done >= options.blocks:
        print(f"{row.name}: done already")
        return
    runners = {}
    try:
        start_all(row, names, options, log, runners)
        for number in range(done, options.blocks):
            if not runners:
                break
            run_round(row, number, runners, probe, options, log)
    finally:
        for runner in runners.values():
            runner.stop()
    print(train_report.row_line(train_report.summary(log.lines), row.name), flush=True)


def check_programs(options):
    for program, remedy in [(options.build / "bench" / "train_bench", "cmake --build build --target train_bench"),
                            (options.build / "bench" / "machine_probe", "cmake --build build --target machine_probe"),
                            (options.environment / "bin" / "python", "bench/peers.sh")]:
        if not program.exists():
            sys.exit(f"bench/train.py: {program} is missing; {remedy} makes it")


def measure(options, log):
    check_programs(options)
    log.add("run", threads=options.threads, **machine())
    probe = Probe(options.build / "bench" / "machine_probe")
    try:
        for name in options.workloads:
            run_row(ROWS[name], options, probe, log)
    finally:
        probe.stop()


def main(arguments):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench/train.py: told to end"))  # So that entrants end too.
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    log = Log(options.output / "train.jsonl")
    if not options.report:
        measure(options, log)
    summary = train_report.summary(log.lines)
    if not summary.rows:
        sys.exit(f"bench/train.py: {log.path} holds no turns; run without --report first")
    (options.output / "train.md").write_text(train_report.markdown(summary))
    (options.output / "train.svg").write_text(train_picture.svg(summary))
    print(f"{options.output / 'train.md'} and train.svg are written")


if __name__ == "__main__":
    main(sys.argv[1:])
