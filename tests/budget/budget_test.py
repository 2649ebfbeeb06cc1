"""Random runs, each in a memory cgroup of exactly its budget: refused before step 1, or trained to the end.

usage: budget_test.py SNUG [--runs N] [--first N] [--seconds N] [--log FILE]
  SNUG       the program
  --runs     how many (100); each is drawn from its number
  --first    the number of the first of them (0)
  --seconds  stop when this time is over, with what was done by then
  --log      a line of JSON for each run; runs that it holds already are not made again, so that a long test can be
             stopped and go on:  budget_test.py build/snug --runs 10000 --log /tmp/budget.jsonl

Of each run it is asked that it ends with 0 or 3 and is not killed; that the resident peak is within the budget; that the
prediction is never under that peak, and over it by at most 2 % or 1.5 MiB; that the cgroup's own peak is within its
limit, which was never reached. Of every other one the least budget that works is asked for first: it must work, and so
must one that is drawn from there to half as much again; two hundredths less must be refused. `plan`, which has 64 KiB of
code of its own, must say the same of one hundredth more and two less. What a refusal offers in place of more memory must
fit. Of every eighth one `evaluate` and `predict` are asked for a budget that works: they must keep to it. Of every tenth one the budgets of `plan --curve` must work. Where the system loads libraries differs from start to
start, and with it 0.1 MiB of their pages: that may decide, in four of a hundred runs, whether two hundredths less train,
`plan` and `fit` agree, and a budget of the curve is enough.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import limits
from run_files import MIB, RandomRun

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("snug", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--log", type=pathlib.Path)
    return parser.parse_args()


class Test:
    def __init__(self, snug):
        self.snug = snug.resolve()
        self.pages = limits.HugePages()
        try:
            self.limit = limits.Cgroup()
        except OSError:
            self.limit = self.address_space()

    def close(self):
        self.pages.close()
        self.limit.close()

    def address_space(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            RandomRun(0).write(folder)
            words = [self.snug, "fit", "run.yaml", "--json", "--epochs", "1"]
            options = {"cwd": folder, "capture_output": True}
            peak = json.loads(subprocess.run(words, check=True, **options).stdout)["peak_resident_bytes"]
            works = lambda limit: limits.AddressSpace.limited(words, limit, **options).returncode == 0
            return limits.AddressSpace(works, peak)

    def run(self, number):
        """The run with this number, as a line of the log."""
        run = RandomRun(number)
        pages = self.pages.words[number % len(self.pages.words)]
        self.pages.set(pages)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run.write(folder)
            line = {"run": number, "huge_pages": pages}
            if number % 2 == 0:
                line.update(self.fit(folder, run.budget))
                line["wrong"] += self.offers(folder, line)
                if number % 8 == 0 and line["exit"] == 0:
                    line["wrong"] += self.forward(folder)
            else:
                line.update(self.tight(folder, 1 + 0.5 * run.draw.random() ** 2))
            if number % 10 == 5:
                line.setdefault("by_chance", []).extend(self.curve(folder, run.draw))
            return line

    def tight(self, folder, share):
        """A run near its least budget, with those at it and below it."""
        asked = self.fit(folder, 1 << 20, limit=1 << 40)
        least = asked["message"].split("--memory ")[-1].split(",")[0].strip() if asked["exit"] == 3 else None
        if least is None:
            return {**asked, "wrong": [f"it trained in 1 MiB, or failed: {asked['exit']}"]}
        bytes_ = int(float(least[:-3]) * UNITS[least[-3:]])
        works, less = self.fit(folder, bytes_, text=least), self.fit(folder, bytes_ * 98 // 100)
        plans = [self.fit(folder, budget, command="plan")["exit"] for budget in (bytes_ * 101 // 100, bytes_ * 98 // 100)]
        line = self.fit(folder, int(bytes_ * share) // 4096 * 4096)
        line.update(least=bytes_, asked_seconds=asked["seconds"], at_least=works, at_less=less["exit"])
        line["wrong"] += works["wrong"] + less["wrong"] + self.offers(folder, less)
        if works["exit"] != 0:
            line["wrong"].append(f"the least budget that was named, {least}, does not work")
        line["by_chance"] = []
        if less["exit"] != 3:
            line["by_chance"].append(f"the least budget that was named, {least}, is not the least by 2 %")
        if plans != [works["exit"], less["exit"]]:
            line["by_chance"].append(f"plan ends with {plans} where fit ends with {[works['exit'], less['exit']]}")
        if line["exit"] != 0:
            line["wrong"].append(f"it was refused above the least budget that was named, {least}")
        return line

    def offers(self, folder, refused):
        """What is wrong with what a refusal offers in place of more memory."""
        found = re.findall(r"or with (--batch-size \d+|fit\.optimizer=\w+)", refused.get("message", ""))
        return [f"{offer} was offered for {refused['budget']} bytes and does not fit" for offer in found
                if self.fit(folder, refused["budget"], more=offer.split())["exit"] != 0]

    def curve(self, folder, draw):
        """What is wrong with the least budget of a curve, and one of the others."""
        asked = self.fit(folder, 1 << 40, limit=1 << 40, command="plan", more=["--curve", "curve.svg"])
        budgets = [point["budget_bytes"] for point in asked.get("curve", [])]
        if not budgets:
            return [f"there is no curve: {asked}"]
        return [f"{budget} bytes, of the curve, do not work" for budget in (budgets[0], draw.choice(budgets))
                if self.fit(folder, budget)["exit"] != 0]

    def forward(self, folder):
        """What is wrong with evaluate and predict within a budget that they name."""
        wrong = []
        for command, more in (("evaluate", ()), ("predict", ("--output", "y.npy"))):
            asked = self.fit(folder, 1 << 20, limit=1 << 40, command=command, more=more)
            least = asked.get("message", "").split("--memory ")[-1]
            if asked["exit"] != 3 or not least.endswith("MiB"):
                wrong.append(f"{command} ends with {asked['exit']} in 1 MiB: {asked}")
                continue
            bytes_ = int(float(least[:-3]) * MIB)
            works = self.fit(folder, bytes_, text=least, command=command, more=more)
            wrong += [f"{command} within {least}: {what}" for what in works["wrong"]]
            if works["exit"] != 0:
                wrong.append(f"{command}: the budget that was named, {least}, does not work: {works['message']}")
        return wrong

    def fit(self, folder, budget, text=None, limit=None, command="fit", more=()):
        """`text` is the budget as the program wrote it; it is held to its budget unless there is a limit."""
        words = [str(self.snug), command, "run.yaml", "--json", "--memory", text or str(budget), *more]
        start = time.monotonic()
        result = self.limit.run(words, limit or budget // 4096 * 4096, cwd=folder, capture_output=True, text=True, timeout=300)
        line = {"budget": budget, "exit": result.returncode, "seconds": round(time.monotonic() - start, 2),
                "cgroup_peak": result.peak, "failures": result.failures, "killed": result.killed}
        if result.returncode == 0:
            summary = json.loads(result.stdout)
            if command == "plan":
                return {**line, "curve": summary.get("curve", [])}
            line["peak"] = summary["peak_resident_bytes"]
            if command == "fit":
                line["planned"] = summary["planned_bytes"]
        else:
            line["message"] = result.stderr.strip()[-2000:]
        line["wrong"] = list(self.wrong(line))
        return line

    @staticmethod
    def wrong(line):
        if line["killed"]:
            yield "killed"
        if line["exit"] not in (0, 3):
            yield f"exit code {line['exit']}"
        if line["failures"]:
            yield f"the limit was reached {line['failures']} times"
        if line["exit"] != 0:
            return
        if line["peak"] > line["budget"]:
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
    text = f"{len(lines)} runs: {len(done)} trained, {sum(line['exit'] == 3 for line in lines)} refused, "
    text += f"{sum(line['killed'] for line in lines)} killed, {sum(bool(line['wrong']) for line in lines)} wrong, "
    text += f"{sum(bool(line.get('by_chance')) for line in lines)} decided by chance"
    tight = [line for line in lines if "at_less" in line]
    if tight:
        text += f"; of {len(tight)} least budgets {sum(line['at_less'] == 0 for line in tight)} were not the least by 2 %, "
        text += f"the slowest was named after {max(line['asked_seconds'] for line in tight)} s"
    if over:
        text += f"; the prediction is over the peak by {over[0] / MIB:.2f} to {over[-1] / MIB:.2f} MiB"
    return text


def main():
    options = arguments()
    lines = []
    if options.log and options.log.exists():
        # A line without an end is of a run that was stopped while it was written: it is made again.
        whole = options.log.read_text().rpartition("\n")[0]
        options.log.write_text(whole + "\n" if whole else "")
        lines = [json.loads(line) for line in whole.splitlines()]
    known = {line["run"] for line in lines}
    test = Test(options.snug)
    print(f"held by {test.limit.name}; huge pages: {', '.join(test.pages.words)}", flush=True)
    end = time.monotonic() + options.seconds
    try:
        for number in range(options.first, options.first + options.runs):
            if number in known:
                continue
            if time.monotonic() > end:
                break
            lines.append(test.run(number))
            if options.log:
                with options.log.open("a") as log:
                    log.write(json.dumps(lines[-1]) + "\n")
            if faults := lines[-1]["wrong"] + lines[-1].get("by_chance", []):
                print(f"run {number}: {'; '.join(faults)}: {lines[-1]}", flush=True)
    finally:
        test.close()
    print(text_of(lines))
    by_chance = sum(bool(line.get("by_chance")) for line in lines)
    return 1 if any(line["wrong"] for line in lines) or by_chance > max(1, len(lines) // 25) else 0


if __name__ == "__main__":
    sys.exit(main())
