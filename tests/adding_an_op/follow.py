"""Follows docs/adding_an_op.md on a copy of the tree, builds it and runs the new op's test: the page stays true."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"<!-- (file|line): (\S+)(?: before \"([^\"\n]*)\")? -->\n```\w*\n(.*?)```\n", re.S)


def follow(page: str, tree: pathlib.Path) -> list[str]:
    """Applies the page's blocks to the tree; returns what it did, one word an action."""
    actions = []
    for kind, path, before, text in FENCE.findall(page):
        target = tree / path
        if kind == "file":
            assert not target.exists(), f"{path} exists already"
            target.write_text(text)
        else:
            source = target.read_text()
            assert source.count(before + "\n") == 1, f"{path}: {before!r} must stand there once"
            assert text.count("\n") == 1, "one line only"
            target.write_text(source.replace(before + "\n", text + before + "\n"))
        actions.append(kind)
    return actions


def leave_tests_of_others(tree: pathlib.Path) -> None:
    """All ops declare and build the new one; their tests, which know nothing of it, are built in this tree as they are."""
    path = tree / "snug/ops/CMakeLists.txt"
    text = path.read_text()
    every = "list(TRANSFORM ARGN APPEND _test.cpp OUTPUT_VARIABLE tests)"
    assert text.count(every) == 1, f"{path}: {every!r} must stand there once"
    path.write_text(text.replace(every, every + "\n  list(FILTER tests INCLUDE REGEX ^cube_)"))


def main() -> None:
    root, build_type = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "snug"
        shutil.copytree(root, tree, ignore=shutil.ignore_patterns("build*", ".git", "runs", ".venv"))
        actions = follow((root / "docs/adding_an_op.md").read_text(), tree)
        assert actions == ["file", "file", "line", "line"], actions
        leave_tests_of_others(tree)
        build = tree / "build"
        os.environ["CCACHE_BASEDIR"] = str(tree)
        subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", f"-DCMAKE_BUILD_TYPE={build_type}",
                        "-DSNUG_BENCH=OFF", "-DSNUG_WERROR=ON"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", build, "ops_test"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([build / "library/ops/ops_test", "--gtest_filter=Cube.*"], check=True)


if __name__ == "__main__":
    main()
