#!/usr/bin/env python3
"""Prints how long files and functions are, how much of them is comment and how much is tested; fails above LIMITS.

usage: check_size.py [ROOT]     ROOT is the repository, the working directory if not given
"""

import pathlib
import re
import statistics
import sys

FILE_LINES = 500
FUNCTION_LINES = 60
LINE_WIDTH = 100
TEST_SHARE = 0.5
FOLDERS = ("snug", "tests", "bench", "examples")

CONTAINER = re.compile(r"^\s*(template\s*<.*>\s*)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b", re.S)
INITIALIZER = re.compile(r"\)\s*(noexcept\s*)?:[^;{]*[\w>]\s*$", re.S)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])\'', re.S)


def blank(match):
    """The same number of lines, without text."""
    return " " + "\n" * match[0].count("\n")


def bare_code(text):
    """The text without comments, strings and preprocessor lines; line numbers stay."""
    text = COMMENT_OR_STRING.sub(blank, text)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, text, flags=re.M)


def kind_of_block(header, outer):
    """What a `{` opens, from the text before it and the block around it."""
    if outer in ("function", "other"):
        return "other"
    if CONTAINER.match(header) and "(" not in re.sub(r"\(\s*\)|alignas\(\w+\)", "", header):
        return "container"
    if INITIALIZER.search(header):
        return "initializer"
    return "function" if re.search(r"\w\s*\(", header) and "=" not in header.split("(")[0] else "other"


def functions(text):
    """(first line, number of lines) of each function with a body."""
    code = bare_code(text)
    blocks, header, line = [], "", 1
    for char in code:
        line += char == "\n"
        if char == "{":
            outer = blocks[-1][0] if blocks else "container"
            kind = kind_of_block(header, outer)
            first = line - header.lstrip().count("\n")
            blocks.append((kind, first, header))
            header = ""
        elif char == "}" and blocks:
            kind, first, before = blocks.pop()
            header = before + " " if kind == "initializer" else ""
            if kind == "function":
                yield first, line - first + 1
        elif char == ";" or (char == ":" and header.strip() in ("public", "protected", "private")):
            header = ""
        else:
            header += char


def comment_and_code_lines(text):
    comments = code = 0
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//"):
            comments += 1
        elif stripped:
            code += 1
    return comments, code


def is_test(path):
    return path.stem.endswith(("_test", "_testing")) or "testing" in path.parts or path.parts[0] == "tests"


class Source:
    def __init__(self, root, path):
        text = path.read_text()
        self.path = path.relative_to(root)
        self.lines = text.splitlines()
        self.functions = list(functions(text))
        self.comments, self.code = comment_and_code_lines(text)
        self.is_test = is_test(self.path)


def complaints(sources):
    for source in sources:
        if len(source.lines) > FILE_LINES:
            yield f"{source.path}: {len(source.lines)} lines; at most {FILE_LINES}"
        for first, count in source.functions:
            if count > FUNCTION_LINES:
                yield f"{source.path}:{first}: a function of {count} lines; at most {FUNCTION_LINES}"
        for number, line in enumerate(source.lines, 1):
            if len(line) > LINE_WIDTH:
                yield f"{source.path}:{number}: {len(line)} columns; at most {LINE_WIDTH}"
    if test_share(sources) < TEST_SHARE:
        yield f"tests: {test_share(sources):.2f} lines a line of source; at least {TEST_SHARE}"


def test_share(sources):
    tested = sum(s.comments + s.code for s in sources if not s.is_test and s.path.parts[0] == "snug")
    tests = sum(s.comments + s.code for s in sources if s.is_test)
    return tests / tested if tested else 0.0


def spread(numbers):
    ordered = sorted(numbers) or [0]
    return f"{statistics.median(ordered):.0f} / {ordered[int(0.9 * len(ordered))]} / {ordered[-1]}"


def comment_share(sources):
    comments = sum(s.comments for s in sources)
    return f"{100 * comments / max(1, comments + sum(s.code for s in sources)):.0f} %"


def table(sources):
    core = [s for s in sources if not s.is_test and s.path.parts[0] == "snug"]
    rows = [
        ("", "now", "goal", "hard limit"),
        ("files, lines", f"{len(core)}, {sum(len(s.lines) for s in core)}", "", ""),
        ("file length: median / p90 / max", spread(len(s.lines) for s in core), "110 / 300", str(FILE_LINES)),
        ("function length: median / p90 / max", spread(n for s in core for _, n in s.functions), "7 / 30",
         str(FUNCTION_LINES)),
        ("comments in headers", comment_share([s for s in core if s.path.suffix == ".h"]), "12-35 %", ""),
        ("comments in sources", comment_share([s for s in core if s.path.suffix == ".cpp"]), "3-10 %", ""),
        ("test lines a source line", f"{test_share(sources):.2f}", "0.8", str(TEST_SHARE)),
    ]
    return "\n".join(f"{a:37}{b:>18}{c:>12}{d:>12}" for a, b, c, d in rows)


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else ".")
    # Not below hidden folders: bench/.venv holds the sources of others.
    found = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*")) if p.suffix in (".h", ".cpp")]
    paths = [p for p in found if not any(part.startswith(".") for part in p.relative_to(root).parts)]
    sources = [Source(root, path) for path in paths]
    print(table(sources))
    found = list(complaints(sources))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
