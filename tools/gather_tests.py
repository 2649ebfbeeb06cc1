#!/usr/bin/env python3
"""Makes one ctest run of several test presets, so that one summary tells about all of them.

usage: gather_tests.py FOLDER PRESET...     run in the repository; then `ctest --test-dir FOLDER`
"""

import json
import pathlib
import subprocess
import sys

KEPT = ("ENVIRONMENT", "FAIL_REGULAR_EXPRESSION", "PASS_REGULAR_EXPRESSION", "RUN_SERIAL",
        "SKIP_REGULAR_EXPRESSION", "SKIP_RETURN_CODE", "TIMEOUT", "WORKING_DIRECTORY", "WILL_FAIL")
# Seconds, about: what takes long begins first, so that no core is idle at the end.
LONG = {"asan.train_test": 120, "tsan.train_test": 110, "asan.plan_test": 80, "release.train_test": 50,
        "avx2.train_test": 50, "asan.ops_test": 50, "asan.kernels_test": 50, "release.adding_an_op": 45,
        "release.allocation_test": 20, "avx2.allocation_test": 20, "release.odd_problems": 20, "avx2.odd_problems": 20,
        "asan.engine_test": 20, "tsan.engine_test": 20, "asan.spill_test": 20, "asan.golden_fits_test": 20,
        "tsan.data_test": 20, "release.plan_test": 15, "avx2.plan_test": 15}


def quoted(value):
    """A CMake argument that stands for exactly this text, or for a list of such texts."""
    if isinstance(value, list):
        return quoted(";".join(value))
    return f"[==[{value}]==]"


def environment_of(preset):
    """The variables that a test preset of CMakePresets.json sets."""
    presets = json.loads(pathlib.Path("CMakePresets.json").read_text())["testPresets"]
    found = next(p for p in presets if p["name"] == preset)
    here = str(pathlib.Path.cwd())
    return [f"{name}={value.replace('${sourceDir}', here)}" for name, value in found.get("environment", {}).items()]


def tests_of(preset):
    shown = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"],
                           check=True, capture_output=True, text=True)
    tests = json.loads(shown.stdout)["tests"]
    if not tests:
        sys.exit(f"gather_tests: the preset {preset} has no tests; build it first")
    return tests


def entry(preset, test):
    """The lines of CTestTestfile.cmake for one test."""
    if "command" not in test:
        sys.exit(f"gather_tests: {test['name']} of {preset} is not built; build it first")
    name = quoted(f"{preset}.{test['name']}")
    properties = {p["name"]: p["value"] for p in test["properties"] if p["name"] in KEPT}
    # Two programs at a time, each with threads of its own: who waits sleeps.
    properties["ENVIRONMENT"] = properties.get("ENVIRONMENT", []) + environment_of(preset) + ["OMP_WAIT_POLICY=passive"]
    properties["LABELS"] = [preset]
    # Most use one core most of the time. The same test of two presets may write to the same folder.
    properties["PROCESSORS"] = 1
    properties["RESOURCE_LOCK"] = test["name"]
    properties["COST"] = LONG.get(f"{preset}.{test['name']}", 1)
    yield f"add_test({name} {' '.join(quoted(word) for word in test['command'])})"
    for key, value in properties.items():
        yield f"set_tests_properties({name} PROPERTIES {key} {quoted(value)})"


def main(folder, presets):
    lines = [line for preset in presets for test in tests_of(preset) for line in entry(preset, test)]
    path = pathlib.Path(folder, "CTestTestfile.cmake")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
