"""Every file of the system that a build has read belongs to a package that scripts/install_packages.sh installs, to one that
such a package needs, or to a base Debian: so a machine that has only those can build Snug.

usage: check_packages.py BUILD...
  BUILD   folders of finished builds (build, build/asan, build/tsan): ninja knows what each source has read
"""

import pathlib
import re
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parent.parent / "scripts" / "install_packages.sh"
LIBRARIES = ("snug",)  # Programs whose shared libraries are asked for, too.


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def named_packages():
    """Of the script: the words of its lists."""
    lists = re.findall(r"^(?:build|tests)\+?=\(([^)]*)\)", SCRIPT.read_text(), re.MULTILINE)
    return {word for words in lists for word in words.split()}


def base_packages():
    """What debootstrap brings: essential packages, and those that Debian calls required or important."""
    lines = output("dpkg-query", "--show", "--showformat=${Package} ${Essential} ${Priority}\n").splitlines()
    return {line.split()[0] for line in lines if "yes" in line.split() or line.split()[-1] in ("required", "important")}


def needed_by(packages):
    """These and all that they depend on, without what is only recommended."""
    options = ("--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances")
    lines = output("apt-cache", "depends", *options, *sorted(packages)).splitlines()
    return {line.strip().split(":")[0] for line in lines if not line.startswith(" ")}


def files_read(folder):
    found = re.findall(r"^    (/\S+)$", output("ninja", "-C", str(folder), "-t", "deps"), re.MULTILINE)
    for program in LIBRARIES:
        if (folder / program).exists():
            found += re.findall(r"(/\S+) \(0x", output("ldd", str(folder / program)))
    own = str(SCRIPT.parent.parent.resolve())
    return {str(pathlib.Path(path).resolve()) for path in found if not path.startswith(own)}


def packages_of(paths):
    """Of each path its package; None where no package has it. Debian names some files of /usr as they were called before."""
    owners = dict.fromkeys(paths)
    asked = paths | {path.removeprefix("/usr") for path in paths}
    for line in subprocess.run(["dpkg", "--search", *sorted(asked)], capture_output=True, text=True).stdout.splitlines():
        names, _, path = line.rpartition(": ")
        for one in (path, f"/usr{path}"):
            if one in owners:
                owners[one] = names.split(",")[0].split(":")[0]
    return owners


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folders = [pathlib.Path(word).resolve() for word in sys.argv[1:]]
    allowed = needed_by(named_packages()) | needed_by(base_packages())
    owners = packages_of(set().union(*(files_read(folder) for folder in folders)))
    wrong = {path: owner for path, owner in owners.items() if owner not in allowed}
    for path, owner in sorted(wrong.items()):
        print(f"{path}: of {owner or 'no package'}, which install_packages.sh does not install")
    packages = sorted({owner for owner in owners.values() if owner})
    print(f"{len(owners)} files of {len(packages)} packages were read: {', '.join(packages)}")
    return 1 if wrong or not owners else 0


if __name__ == "__main__":
    sys.exit(main())
