"""Random runs, each in a memory cgroup of exactly its budget: refused before step 1, or trained to the end.

usage: budget_test.py SNUG [--runs N] [--first N] [--seconds N] [--jobs N] [--log FILE]
  SNUG       the program
  --runs     how many (100); each is drawn from its number
  --first    the number of the first of them (0)
  --seconds  stop when this time is over, with what was done by then
  --jobs     so many at a time (1), each with a program and libraries of its own
  --log      a line of JSON for each run; runs that it holds already are not made again, so that a long test can be
             stopped and go on:  budget_test.py build/snug --runs 10000 --log /tmp/budget.jsonl

Of each run it is asked that it ends with 0 or 3 and is not killed; that the resident peak is within the budget; that the
prediction is never under that peak, and over it by at most 2 % or 1.5 MiB; that the cgroup's own peak is within its
limit, which was never reached (but by `evaluate` and `predict`, with the file of the model). Four of a hundred have 20 to 120 layers.
Where it is refused, the budget that it names must work, and so must what it offers in place of more memory. Of every
other run the least budget that works is asked for first, where there is no limit: it must work, and so must one that is
drawn from there to half as much again; two hundredths less must be refused. `plan`, which has 64 KiB of code of its own,
must say the same of one hundredth more and two less. Of every fourth one that has trained, `evaluate` and `predict` are
asked for a budget, which must work, and are held to one that is drawn around it. Of every tenth one the budgets of
`plan --curve` must work. Where the system loads libraries differs from start to start, and with it 0.1 MiB of their pages:
that may decide, in four of a hundred runs, whether two hundredths less train, `plan` and `fit` agree, and a budget of the
curve is enough.
"""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import time

import limits
from run_files import MIB, RandomRun

REFUSED, DIVERGED = 3, 5  # Exit codes. A run that the guard ends has kept to its budget as one that trained.
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("snug", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=pathlib.Path)
    return parser.parse_args()


def named(message):
    """The budget that a refusal names: as it is written, and in bytes; None where it names none."""
    text = re.search(r"--memory ([\d.]+)(KiB|MiB|GiB)", message.split("it fits with")[-1])
    return (text[1] + text[2], int(float(text[1]) * UNITS[text[2]])) if text else None


class Test:
    def __init__(self, snug, jobs):
        self.snug = snug.resolve()
        self.pages = limits.HugePages()
        self.free = queue.SimpleQueue()  # Limits that nothing stands under now, each with a program.
        try:
            self.limits = [limits.Cgroup() for _ in range(jobs)]
        except OSError:
            self.limits = [self.address_space()] * jobs
        self.programs = [limits.OwnProgram(self.snug) for _ in range(jobs)]
        for held in zip(self.limits, self.programs):
            self.free.put(held)

    def close(self):
        self.pages.close()
        for one in self.limits + self.programs:
            one.close()

    def address_space(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            RandomRun(0).write(folder)
            words = [self.snug, "fit", "run.yaml", "--json", "--epochs", "1"]
            options = {"cwd": folder, "capture_output": True}
            peak = json.loads(subprocess.run(words, check=True, **options).stdout)["peak_resident_bytes"]
            works = lambda limit: limits.AddressSpace.limited(words, limit, **options).returncode == 0
            return limits.AddressSpace(works, peak)

    def pages_of(self, number):
        return self.pages.words[number // 2 % len(self.pages.words)]

    def run(self, number):
        """The run with this number, as a line of the log."""
        run = RandomRun(number)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run.write(folder)
            line = {"run": number, "huge_pages": self.pages_of(number)}
            if number % 2 == 0:
                line.update(self.fit(folder, run.budget))
                line["wrong"] += self.offers(folder, line) + self.works_as_named(folder, line)
            else:
                line.update(self.tight(folder, 1 + 0.5 * run.draw.random() ** 2))
            if number % 4 == 0 and line["exit"] == 0:
                line["wrong"] += self.forward(folder, run.draw)
            if number % 10 == 5:
                line.setdefault("by_chance", []).extend(self.curve(folder, run.draw))
            return line

    def tight(self, folder, share):
        """A run near its least budget, with those at it and below it."""
        asked = self.fit(folder, 1 << 20, limit=1 << 40)
        if asked["exit"] != REFUSED or not named(asked["message"]):
            return {**asked, "wrong": [f"it trained in 1 MiB, or failed: {asked['exit']}"]}
        least, bytes_ = named(asked["message"])
        works, less = self.fit(folder, bytes_, text=least), self.fit(folder, bytes_ * 98 // 100)
        planned = [self.fit(folder, budget, command="plan") for budget in (bytes_ * 101 // 100, bytes_ * 98 // 100)]
        plans = [plan["exit"] for plan in planned]
        line = self.fit(folder, int(bytes_ * share) // 4096 * 4096)
        line["wrong"] += planned[0]["wrong"] + planned[1]["wrong"]
        line.update(least=bytes_, asked_seconds=asked["seconds"], at_least=works, at_less=less["exit"])
        line["wrong"] += works["wrong"] + less["wrong"] + self.offers(folder, less)
        if works["exit"] == REFUSED:
            line["wrong"].append(f"the least budget that was named, {least}, does not work")
        line["by_chance"] = []
        if less["exit"] != REFUSED:
            line["by_chance"].append(f"the least budget that was named, {least}, is not the least by 2 %")
        fits = [works["exit"], less["exit"]]
        if [end == REFUSED for end in plans] != [end == REFUSED for end in fits]:
            line["by_chance"].append(f"plan ends with {plans} where fit ends with {fits}")
        if line["exit"] == REFUSED:
            line["wrong"].append(f"it was refused above the least budget that was named, {least}")
        return line

    def offers(self, folder, refused):
        """What is wrong with what a refusal offers in place of more memory."""
        found = re.findall(r"or with (--batch-size \d+|fit\.optimizer=\w+)", refused.get("message", ""))
        return [f"{offer} was offered for {refused['budget']} bytes and does not fit" for offer in found
                if self.fit(folder, refused["budget"], more=offer.split())["exit"] == REFUSED]

    def works_as_named(self, folder, refused, command="fit", more=()):
        """What is wrong with the budget that a refusal names."""
        if refused["exit"] != REFUSED:
            return []
        if not named(refused["message"]):
            return [f"a refusal names no budget: {refused['message']}"]
        text, bytes_ = named(refused["message"])
        works = self.fit(folder, bytes_, text=text, command=command, more=more)
        if works["exit"] == REFUSED:
            return [f"{command}: {text}, which was named for {refused['budget']} bytes, does not work: {works['message']}"]
        return [f"{command} within {text}: {what}" for what in works["wrong"]]

    def forward(self, folder, draw):
        """What is wrong with evaluate and predict."""
        wrong = []
        for command, more in (("evaluate", ()), ("predict", ("--output", draw.choice(("predicted.npy", "predicted.csv"))))):
            asked = self.fit(folder, 1 << 20, limit=1 << 40, command=command, more=more)
            wrong += asked["wrong"] + self.works_as_named(folder, asked, command, more)
            if asked["exit"] != REFUSED or not named(asked["message"]):
                wrong.append(f"{command} names no budget: {asked}")
                continue
            near = int(named(asked["message"])[1] * (0.7 + 0.6 * draw.random())) // 4096 * 4096
            line = self.fit(folder, near, command=command, more=more)
            wrong += [f"{command} within {near} bytes: {what}" for what in line["wrong"]]
            wrong += self.works_as_named(folder, line, command, more)
        return wrong

    def curve(self, folder, draw):
        """What is wrong with the least budget of a curve, and one of the others."""
        asked = self.fit(folder, 1 << 40, limit=1 << 40, command="plan", more=["--curve", "curve.svg"])
        budgets = [point["budget_bytes"] for point in asked.get("curve", [])]
        if not budgets:
            return [f"there is no curve: {asked}"]
        return [f"{budget} bytes, of the curve, do not work" for budget in (budgets[0], draw.choice(budgets))
                if self.fit(folder, budget)["exit"] == REFUSED]

    def fit(self, folder, budget, text=None, limit=None, command="fit", more=()):
        """`text` is the budget as the program wrote it; it is held to its budget unless there is a limit."""
        held = self.free.get()
        group, program = held
        words = [program.path, command, "run.yaml", "--json", "--memory", text or str(budget), *more]
        start = time.monotonic()
        try:
            result = group.run(words, limit or budget // 4096 * 4096, cwd=folder, capture_output=True, text=True, timeout=300,
                               env=program.environment)
        finally:
            self.free.put(held)
        line = {"command": command, "budget": budget, "exit": result.returncode, "seconds": round(time.monotonic() - start, 2),
                "cgroup_peak": result.peak, "failures": result.failures, "killed": result.killed}
        if result.returncode == 0:
            summary = json.loads(result.stdout)
            line["curve"] = summary.get("curve", [])
            for key, name in (("planned", "planned_bytes"), ("peak", "peak_resident_bytes")):
                if name in summary:
                    line[key] = summary[name]
        else:
            line["message"] = result.stderr.strip()[-2000:]
        line["wrong"] = list(self.wrong(line))
        return line

    @staticmethod
    def wrong(line):
        if line["killed"]:
            yield "killed"
        if line["exit"] not in (0, REFUSED, DIVERGED):
            yield f"exit code {line['exit']}"
        # A model's file is read through the page cache, which is charged, too, and given up at the limit.
        if line["failures"] and line["command"] in ("fit", "plan"):
            yield f"the limit was reached {line['failures']} times"
        if line.get("peak", 0) > line["budget"]:
            yield "the resident peak is over the budget"
        if "planned" not in line:
            return
        over = line["planned"] - line["peak"]
        if over < 0:
            yield f"the prediction is {-over} bytes under the peak"
        if over > max(0.02 * line["peak"], 1.5 * MIB):
            yield f"the prediction is {over} bytes over the peak"


def text_of(lines):
    done = [line for line in lines if line["exit"] == 0]
    over = sorted(line["planned"] - line["peak"] for line in done if "planned" in line)
    text = f"{len(lines)} runs: {len(done)} trained, {sum(line['exit'] == REFUSED for line in lines)} refused, "
    text += f"{sum(line['exit'] == DIVERGED for line in lines)} ended by the guard, "
    text += f"{sum(line['killed'] for line in lines)} killed, {sum(bool(line['wrong']) for line in lines)} wrong, "
    text += f"{sum(bool(line.get('by_chance')) for line in lines)} decided by chance"
    tight = [line for line in lines if "at_less" in line]
    if tight:
        text += f"; of {len(tight)} least budgets {sum(line['at_less'] == 0 for line in tight)} were not the least by 2 %, "
        text += f"the slowest was named after {max(line['asked_seconds'] for line in tight)} s"
    if over:
        text += f"; the prediction is over the peak by {over[0] / MIB:.2f} to {over[-1] / MIB:.2f} MiB"
    return text


def lines_of(test, numbers, jobs, end):
    """Makes the runs, all with one word for huge pages together: that is the machine's."""
    def made(number):
        return test.run(number) if time.monotonic() < end else None

    # In hundreds, so that what is stopped early has some of each.
    for first in range(0, len(numbers), 100):
        for word in test.pages.words:
            test.pages.set(word)
            some = [number for number in numbers[first:first + 100] if test.pages_of(number) == word]
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                yield from filter(None, pool.map(made, some))


def main():
    options = arguments()
    lines = []
    if options.log and options.log.exists():
        # A line without an end is of a run that was stopped while it was written: it is made again.
        whole = options.log.read_text().rpartition("\n")[0]
        options.log.write_text(whole + "\n" if whole else "")
        lines = [json.loads(line) for line in whole.splitlines()]
    known = {line["run"] for line in lines}
    end = time.monotonic() + options.seconds
    with contextlib.closing(Test(options.snug, options.jobs)) as test:
        print(f"held by {test.limits[0].name}; huge pages: {', '.join(test.pages.words)}", flush=True)
        missing = [number for number in range(options.first, options.first + options.runs) if number not in known]
        for line in lines_of(test, missing, options.jobs, end):
            lines.append(line)
            if options.log:
                with options.log.open("a") as log:
                    log.write(json.dumps(line) + "\n")
            if faults := line["wrong"] + line.get("by_chance", []):
                print(f"run {line['run']}: {'; '.join(faults)}: {line}", flush=True)
    print(text_of(lines))
    by_chance = sum(bool(line.get("by_chance")) for line in lines)
    return 1 if any(line["wrong"] for line in lines) or by_chance > max(1, len(lines) // 25) else 0


if __name__ == "__main__":
    sys.exit(main())
