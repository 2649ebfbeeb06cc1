#!/usr/bin/env python3
"""Fails when a folder of snug/ includes a folder that stands to its right in ORDER.

usage: check_layers.py [ROOT]     ROOT is the repository, the working directory if not given
"""

import pathlib
import re
import sys

ORDER = "base tensor kernels graph ops autodiff plan exec optim nn data interop train api cli".split()
API = "api"  # The headers directly in snug/, which only the CLI and other projects include.
TESTING = "testing"  # For tests only; it may include everything.
INCLUDE = re.compile(r'\s*#\s*include\s*["<]snug/(?:(\w+)/)?([\w.-]+)[">]')


def layer_of(path):
    """The folder of a file, given relative to snug/."""
    return path.parts[0] if len(path.parts) > 1 else API


def is_for_tests(path):
    return layer_of(path) == TESTING or path.stem.endswith(("_test", "_testing"))


def complaint(path, included, header):
    """What is wrong with `path` including the `header` of the folder `included`, or None."""
    here = layer_of(path)
    for folder in (here, included):
        if folder not in ORDER and folder != TESTING:
            return f"{folder}/ has no place in the order of folders; add it to ORDER"
    if is_for_tests(path):
        return None
    if included == TESTING or header.endswith("_testing.h"):
        return f"{here}/ may not include {included}/{header}, which is for tests"
    if here != API and ORDER.index(included) > ORDER.index(here):
        return f"{here}/ may not include {included}/, which stands above it"
    return None


def complaints(root):
    library = root / "snug"
    sources = [p for p in sorted(library.rglob("*")) if p.suffix in (".h", ".cpp")]
    for source in sources:
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if found := INCLUDE.match(line):
                if text := complaint(source.relative_to(library), found[1] or API, found[2]):
                    yield f"{source}:{number}: {text}"
    if not sources:
        yield f"{library}: no sources there; give the repository as ROOT"


def main(arguments):
    found = list(complaints(pathlib.Path(arguments[0] if arguments else ".")))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
