"""A process held to a number of bytes: by a memory cgroup of its own, or else by its address space."""

import os
import pathlib
import resource
import subprocess
import tempfile

V1 = pathlib.Path("/sys/fs/cgroup/memory")
V2 = pathlib.Path("/sys/fs/cgroup")
HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


def own_group(version):
    """The folder of this process's memory cgroup; None where there is none."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if version == 1 and "memory" in controllers.split(","):
            return V1 / path.lstrip("/")
        if version == 2 and number == "0" and (V2 / "cgroup.controllers").exists():
            return V2 / path.lstrip("/")
    return None


class Cgroup:
    """v1, or v2 where only that has memory."""

    # The files of both versions.
    FILES = {1: {"limit": "memory.limit_in_bytes", "peak": "memory.max_usage_in_bytes"},
             2: {"limit": "memory.max", "peak": "memory.peak"}}

    def __init__(self):
        """Raises OSError where no group can be made."""
        self.version = 1 if own_group(1) else 2
        top = own_group(self.version)
        if top is None:
            raise OSError("no memory cgroup is mounted")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="snug-budget-", dir=top))
        try:
            if self.version == 2:
                (self.folder / "memory.swap.max").write_text("0")
            self.write("limit", 1 << 40)
        except OSError:
            self.folder.rmdir()
            raise

    name = property(lambda self: f"memory cgroup v{self.version}")

    def write(self, what, value):
        (self.folder / self.FILES[self.version][what]).write_text(str(value))

    def run(self, words, limit, **options):
        """The result, with .peak, .failures (times that the limit was reached) and .killed."""
        (self.folder / "memory.force_empty").write_text("0") if self.version == 1 else None
        self.write("limit", 1 << 40)
        self.write("peak", 0)
        failures, kills = self.failures(), self.kills()
        self.write("limit", limit)
        # A small shell joins the group, and becomes the program: nothing else is ever charged.
        shell = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs"), *words]
        result = subprocess.run(shell, **options)
        result.peak = int((self.folder / self.FILES[self.version]["peak"]).read_text())
        result.failures, result.killed = self.failures() - failures, self.kills() - kills
        return result

    def field(self, file, key):
        for line in (self.folder / file).read_text().splitlines():
            if line.split()[0] == key:
                return int(line.split()[1])
        return 0

    def failures(self):
        if self.version == 1:
            return int((self.folder / "memory.failcnt").read_text())
        return self.field("memory.events", "max")

    def kills(self):
        return self.field("memory.oom_control" if self.version == 1 else "memory.events", "oom_kill")

    def close(self):
        self.folder.rmdir()


THREADS, STACK = 6, 8 << 20  # Of a step, of those that read ahead and save; what glibc maps for each.


class AddressSpace:
    """Where no cgroup can be made: the address space is limited, with room for what an empty run maps and never
    touches, and for the stacks of threads that it can do without."""

    name = "RLIMIT_AS, for no memory cgroup can be made here"

    def __init__(self, empty_run, empty_peak):
        """`empty_run(limit)` says whether a small run works; `empty_peak` is its resident peak."""
        low, high = 0, 1 << 34
        while high - low > 1 << 20:
            middle = (low + high) // 2
            low, high = (low, middle) if empty_run(middle) else (middle, high)
        self.surplus = high - empty_peak + THREADS * STACK

    @staticmethod
    def limited(words, limit, **options):
        return subprocess.run(words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), **options)

    def run(self, words, limit, **options):
        result = self.limited(words, limit + self.surplus, **options)
        result.peak, result.failures, result.killed = 0, 0, int(result.returncode < 0)
        return result

    def close(self):
        pass


class Unlimited:
    """Where no cgroup can be made, and the resident peak is all that is asked for."""

    name = "nothing"

    @staticmethod
    def run(words, _limit, **options):
        result = subprocess.run(words, **options)
        result.peak, result.failures, result.killed = 0, 0, int(result.returncode < 0)
        return result

    def close(self):
        pass


class HugePages:
    """Sets the machine's word for transparent huge pages, and puts it back."""

    def __init__(self):
        self.before = None
        try:
            text = HUGE_PAGES.read_text()
            self.before = text[text.index("[") + 1:text.index("]")]
            HUGE_PAGES.write_text(self.before)
            self.words = ("madvise", "always")
        except (OSError, ValueError):
            self.words = (self.before or "unknown",)

    def set(self, word):
        if len(self.words) > 1:
            HUGE_PAGES.write_text(word)

    def close(self):
        if len(self.words) > 1:
            HUGE_PAGES.write_text(self.before)
