"""A process held to a number of bytes: by a memory cgroup of its own, or else by its address space."""

import contextlib
import os
import pathlib
import re
import resource
import shutil
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


class ProgramFiles:
    """A program and its libraries in the page cache. Who reads a page first is charged for it, and for those that the system
    reads ahead: a group that is emptied again and again comes to own the program, reaches its limit with pages that nobody
    needs, and tells nothing of what runs in it."""

    def __init__(self):
        self.paths = {}

    def of(self, program, environment=None):
        if program not in self.paths:
            shown = subprocess.run(["ldd", program], capture_output=True, text=True, env=environment).stdout
            self.paths[program] = [program, *re.findall(r"(/\S+) \(0x", shown)]
        return self.paths[program]

    def read(self, program, environment=None):
        for path in self.of(program, environment):
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass


class OwnProgram:
    """A program and its libraries in files that nobody else has: of two processes that touch the same page of a file at the
    same moment one goes without what the system maps around it, and is smaller by up to 0.8 MiB."""

    def __init__(self, program):
        # Beside it: /tmp may be memory, whose pages are others.
        self.folder = tempfile.TemporaryDirectory(prefix="snug-budget-", dir=program.parent)
        for path in ProgramFiles().of(str(program)):
            shutil.copy(path, self.folder.name)
        self.path = str(pathlib.Path(self.folder.name, program.name))
        self.environment = os.environ | {"LD_LIBRARY_PATH": self.folder.name}

    def close(self):
        self.folder.cleanup()


class Cgroup:
    """v1, or v2 where only that has memory."""

    # The files of both versions.
    FILES = {1: {"limit": "memory.limit_in_bytes", "peak": "memory.max_usage_in_bytes"},
             2: {"limit": "memory.max", "peak": "memory.peak"}}

    def __init__(self):
        """Raises OSError where no group can be made."""
        self.version = 1 if own_group(1) else 2
        self.files = ProgramFiles()
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
        self.empty()
        self.files.read(words[0], options.get("env"))
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

    def empty(self):
        """Gives up the pages of files that those before have read and written."""
        if self.version == 1:
            (self.folder / "memory.force_empty").write_text("0")
        elif (self.folder / "memory.reclaim").exists():
            with contextlib.suppress(OSError):  # There was less.
                (self.folder / "memory.reclaim").write_text("1G")

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
