#!/usr/bin/env python3
"""Puts sources into groups that compile as one, and prints the group of each.

usage: group_sources.py MOST SOURCE...      run by cmake/SnugTogether.cmake

A source that stands alone has the group `alone`. No group has more than MOST sources, and no two sources of a group have a name in common that each of them defines for
itself alone (in an unnamed namespace, or as an alias). A source whose names cannot be told apart in this way, because it
takes in a namespace whole, defines macros, includes itself or has a type of its own that some
header has too, stands alone.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
USING = re.compile(r"^using ([\w:]+::(\w+));", re.MULTILINE)
TYPE = re.compile(r"(?:template.*> ?)?(?:struct|class|enum class|enum|union|using|namespace) (?:alignas\(\w+\) )?(\w+)")
SHADOWING = re.compile(r"[A-Z]|k[A-Z]")  # Functions of one name differ in what they take.
OTHER = re.compile(r"[\w:<>,&*\[\]() ]*?[\s&*](\w+)(?:\(| =|\{|;|\[)")
SEVERAL = re.compile(r"([A-Za-z]\w*)(?= =|\(|\{|\[|;)")
ALIAS = re.compile(r"^(?:using|namespace) (\w+) =", re.MULTILINE)
ALONE = re.compile(r"^using namespace |hwy/foreach_target\.h|^#define ", re.MULTILINE)


def defined(line):
    """The names that a line defines, which begins where the namespace does."""
    if not re.match(r"[A-Za-z]", line):
        return []
    if line.startswith(("const", "static", "thread_local")):
        return SEVERAL.findall(line)
    found = TYPE.match(line) or OTHER.match(line)
    return [found[1]] if found else []


def shared_names(root):
    """Types and constants that headers define for all."""
    texts = [path.read_text() for path in sorted(root.glob("snug/**/*.h"))]
    lines = [line.removeprefix("inline ") for text in texts for line in text.split("\n")]
    return {name for line in lines for name in defined(line) if SHADOWING.match(name)}


def own_names(number, text):
    """What the source alone means by each of its names; a name too many only makes groups smaller."""
    own = [line for body in UNNAMED.findall(text) for line in body.split("\n") if not USING.match(line)]
    names = {name: number for line in own for name in defined(line)}
    names |= {name: number for name in ALIAS.findall(text)}
    return names | {name: path for path, name in USING.findall(text)}


class Group:
    def __init__(self, most):
        self.room = most
        self.names = {}

    def takes(self, names):
        return self.room > 0 and all(self.names.get(name, meaning) == meaning for name, meaning in names.items())

    def add(self, names):
        self.room -= 1
        self.names |= names


def groups_of(most, texts, shared=frozenset()):
    """The group of each source: a number from 0, or `alone`."""
    groups = []
    chosen = []
    for number, text in enumerate(texts):
        names = own_names(number, text)
        if ALONE.search(text) or any(name in shared for name in names if names[name] == number or name[0] == "k"):
            chosen.append("alone")
            continue
        place = next((i for i, group in enumerate(groups) if group.takes(names)), len(groups))
        if place == len(groups):
            groups.append(Group(most))
        groups[place].add(names)
        chosen.append(place)
    return chosen


def main(most, paths):
    # What the build itself writes is not there yet.
    known = [path for path in paths if path.exists()]
    chosen = dict(zip(known, groups_of(most, [path.read_text() for path in known], shared_names(ROOT))))
    print(";".join(str(chosen.get(path, "alone")) for path in paths), end="")


if __name__ == "__main__":
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    main(int(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]])
