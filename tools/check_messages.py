#!/usr/bin/env python3
"""Fails when a message of an op has no test: each Error and ShapeError that snug/ops throws must be expected, word for word
or by a distinctive part, in a test of that folder.

usage: check_messages.py [ROOT]     ROOT is the repository, the working directory if not given
"""

import pathlib
import re
import sys

FOLDER = "snug/ops"
THROW = re.compile(r'throw\s+(?:Shape)?Error\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
LITERALS = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*)+')
PLACE = re.compile(r"\{[^{}]*\}")
LEAST = 10  # Characters of a part that tells a message from others.


def joined(literals):
    """The text of string literals that stand one after the other."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))


def is_tested(message, expected):
    """Whether some expected text is the message with values in its places, or a part of its fixed text."""
    pattern = re.compile(".+?".join(re.escape(part) for part in PLACE.split(message)))
    parts = [part for part in PLACE.split(message) if len(part) >= LEAST]
    return any(pattern.fullmatch(text) or any(text in part for part in parts if len(text) >= LEAST) for text in expected)


def complaints(root):
    folder = root / FOLDER
    tests = sorted(folder.glob("*_test.cpp"))
    expected = {joined(found[0]) for test in tests for found in LITERALS.finditer(test.read_text())}
    sources = [p for p in sorted(folder.glob("*")) if p.suffix in (".h", ".cpp") and p not in tests]
    for source in sources:
        text = source.read_text()
        for found in THROW.finditer(text):
            message = joined(found[1])
            if not is_tested(message, expected):
                yield f"{source}:{text[:found.start()].count(chr(10)) + 1}: no test expects \"{message}\""
    if not sources:
        yield f"{folder}: no sources there; give the repository as ROOT"


def main(arguments):
    found = list(complaints(pathlib.Path(arguments[0] if arguments else ".")))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
