"""Programs that wait for their turn: started, timed and watched from outside. See bench/peers/turns.py."""

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")


class RunnerError(Exception):
    pass


def busy_seconds():
    """CPU seconds that the whole machine has used."""
    with open("/proc/stat") as file:
        fields = list(map(int, file.readline().split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def process_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    return 0.0


class Program:
    """One process with a line in for every line out."""

    def __init__(self, command, environment=None, limit=600):
        self.limit = limit
        self.errors = tempfile.TemporaryFile()
        self.started = time.perf_counter()
        # A session of its own: what it starts itself (compilers) is ended with it.
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, start_new_session=True)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.pending = b""

    def hear(self):
        """The next line of JSON. Throws RunnerError if the program ends, or is silent for too long."""
        while b"\n" not in self.pending:
            if not self.selector.select(self.limit):
                raise RunnerError(f"silent for {self.limit:.0f} s")
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise RunnerError(self.last_words())
            self.pending += chunk
        line, _, self.pending = self.pending.partition(b"\n")
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            return self.hear()  # Something that a library printed.

    def say(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise RunnerError(self.last_words()) from None

    def last_words(self):
        code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"exit code {code}: {lines[-1] if lines else 'it wrote nothing'}"

    def stop(self):
        """Ends the process and what it started."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Runner:
    """An entrant at one row: its first step is done and it is warm when the constructor returns."""

    def __init__(self, command, environment, limit):
        self.program = Program(command, environment, limit)
        try:
            first = self.program.hear()
            self.first_step_s = round(time.perf_counter() - self.program.started - first["data_s"], 3)
            self.facts = self.program.hear()
            self.facts.pop("event")
        except BaseException:
            self.program.stop()
            raise

    def turn(self, seconds):
        """One turn: its blocks, and what else used the machine meanwhile (in cores)."""
        pid = self.program.process.pid
        before = time.perf_counter(), busy_seconds(), process_seconds(pid)
        self.program.say(seconds)
        answer = self.program.hear()
        wall, busy, own = (b - a for a, b in zip(before, (time.perf_counter(), busy_seconds(), process_seconds(pid))))
        return dict(us=answer["us"], loss=answer["loss"], others=round(max(0.0, (busy - own) / wall), 3),
                    hwm_mib=peak_mib(pid))

    def stop(self):
        self.program.stop()


class Probe:
    """The machine's peak and cache bandwidth, just now."""

    def __init__(self, command):
        self.program = Program([str(command)], limit=120)

    def state(self):
        self.program.say("")
        return self.program.hear()

    def stop(self):
        self.program.stop()
