"""Writes the C++ blocks of a page, one after the other, as a program: program.py PAGE PROGRAM."""

import pathlib
import re
import sys


def main():
    page, program = map(pathlib.Path, sys.argv[1:])
    blocks = re.findall(r"^```cpp\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    program.write_text("\n".join(blocks))


main()
