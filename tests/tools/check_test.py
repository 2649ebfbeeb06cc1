"""The checks of tools/ pass on a good tree and fail on each bad one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
GOOD = {
    "snug/base/error.h": "// What goes wrong.\nint f();\n",
    "snug/base/error.cpp": '#include "snug/base/error.h"\nint f() { return 1; }\n',
    "snug/base/error_test.cpp": '#include "snug/testing/check.h"\n#include "snug/nn/dense.h"\nint g() { return f(); }\n',
    "snug/nn/dense.h": '#include "snug/base/error.h"\nint dense();\n',
    "snug/testing/check.h": '#include "snug/nn/dense.h"\n' + "int check();\n" * 8,
    "snug/snug.h": '#include "snug/nn/dense.h"\n',
}


def run(tool, files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, str(TOOLS / tool), root]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr


class Checks(unittest.TestCase):
    def passes(self, tool, files):
        code, output = run(tool, files)
        self.assertEqual(code, 0, output)

    def fails(self, tool, files, message):
        code, output = run(tool, GOOD | files)
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)


class Layers(Checks):
    def test_good_tree(self):
        self.passes("check_layers.py", GOOD)

    def test_include_of_a_folder_above(self):
        self.fails("check_layers.py", {"snug/base/log.cpp": '\n#include "snug/nn/dense.h"\n'},
                   "snug/base/log.cpp:2: base/ may not include nn/")

    def test_include_in_angle_brackets(self):
        self.fails("check_layers.py", {"snug/base/log.cpp": "#include <snug/nn/dense.h>\n"}, "may not include nn/")

    def test_include_of_testing(self):
        self.fails("check_layers.py", {"snug/nn/dense.cpp": '#include "snug/testing/check.h"\n'},
                   "nn/ may not include testing/check.h")

    def test_headers_for_tests_beside_the_code(self):
        header = {"snug/base/disk_testing.h": '#include "snug/testing/check.h"\n'}
        self.passes("check_layers.py", GOOD | header)
        self.fails("check_layers.py", header | {"snug/nn/dense.cpp": '#include "snug/base/disk_testing.h"\n'},
                   "nn/ may not include base/disk_testing.h")

    def test_include_of_the_public_header(self):
        self.fails("check_layers.py", {"snug/nn/dense.cpp": '#include "snug/snug.h"\n'}, "nn/ may not include api/")

    def test_unknown_folder(self):
        self.fails("check_layers.py", {"snug/misc/a.cpp": '#include "snug/base/error.h"\n'}, "misc/ has no place")

    def test_empty_tree(self):
        self.assertEqual(run("check_layers.py", {})[0], 1)


class Sizes(Checks):
    def function_of(self, lines):
        return {"snug/base/a.cpp": "int a(int b) {\n" + "  ++b;\n" * (lines - 2) + "}\n"}

    def test_good_tree(self):
        self.passes("check_size.py", GOOD)

    def test_long_file(self):
        tests = {"tests/a_test.cpp": "int a;\n" * 300}
        self.passes("check_size.py", GOOD | tests | {"snug/base/a.h": "int a;\n" * 500})
        self.fails("check_size.py", tests | {"snug/base/a.h": "int a;\n" * 501}, "snug/base/a.h: 501 lines")

    def test_long_function(self):
        tests = {"tests/a_test.cpp": "int a;\n" * 300}
        self.passes("check_size.py", GOOD | tests | self.function_of(60))
        self.fails("check_size.py", tests | self.function_of(61), "snug/base/a.cpp:1: a function of 61 lines")

    def test_long_member_function_with_initializers(self):
        body = "  ++x;\n" * 70
        text = "namespace a {\nclass B {\n public:\n  B(int c) : x{c}, y(c) {\n" + body + "  }\n};\n}\n"
        self.fails("check_size.py", {"tests/a_test.cpp": "int a;\n" * 300, "snug/base/a.h": text},
                   "snug/base/a.h:4: a function of 72 lines")

    def test_class_and_braces_in_text_are_no_function(self):
        text = 'class B {\n' + '  // f() {\n  const char* a = "f() {";\n' * 60 + "};\n"
        self.passes("check_size.py", GOOD | {"snug/testing/a.h": text})

    def test_wide_line(self):
        self.fails("check_size.py", {"snug/testing/a.h": "// " + "x" * 98 + "\n"}, "snug/testing/a.h:1: 101 columns")

    def test_too_few_tests(self):
        self.fails("check_size.py", {"snug/base/a.h": "int a;\n" * 100}, "lines a line of source; at least 0.5")


class Messages(Checks):
    OP = {"snug/ops/add.cpp": 'void f() {\n  throw ShapeError(\n      "add: {} and {} differ; "\n      "make them alike", a, b);\n}\n'}

    def test_a_message_that_is_expected(self):
        whole = {"snug/ops/add_test.cpp": 'EXPECT_EQ(m(), "add: [3] and "\n  "[4] differ; make them alike");\n'}
        self.passes("check_messages.py", self.OP | whole)
        self.passes("check_messages.py", self.OP | {"snug/ops/add_test.cpp": 'find("make them alike")\n'})

    def test_a_message_without_a_test(self):
        self.fails("check_messages.py", self.OP | {"snug/ops/add_test.cpp": 'EXPECT_EQ(m(), "add: [3] and [4]");\n'},
                   'snug/ops/add.cpp:2: no test expects "add: {} and {} differ; make them alike"')

    def test_our_own_mistakes_need_none(self):
        self.passes("check_messages.py", {"snug/ops/add.cpp": 'throw InternalError("no such type");\n'})


class Groups(unittest.TestCase):
    """Sources that are compiled together have no name in common that means two things."""

    def groups(self, most, *texts):
        with tempfile.TemporaryDirectory() as folder:
            for number, text in enumerate(texts):
                pathlib.Path(folder, f"{number}.cpp").write_text(text)
            command = [sys.executable, str(TOOLS / "group_sources.py"), str(most)]
            command += [f"{folder}/{number}.cpp" for number in range(len(texts))]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(";")

    def unnamed(self, line):
        return f"namespace {{\n{line}\n}}  // namespace\n"

    def test_sources_that_share_no_name_are_together(self):
        self.assertEqual(self.groups(8, self.unnamed("int f() {"), self.unnamed("int g() {"), "int h();\n"), ["0", "0", "0"])

    def test_there_are_no_more_than_asked_for(self):
        self.assertEqual(self.groups(2, "", "", ""), ["0", "0", "1"])

    def test_a_name_of_two_sources_parts_them(self):
        for first, second in (("int f() {", "std::vector<int> f(int a,"), ("struct OneOfTwo {", "using OneOfTwo = int;"),
                              ("constexpr int kOne = 3, kTwo = 4;", "const int kTwo[] = {1};"), ("class F;", "using a::F;"),
                              ("struct alignas(64) F {", "class F {"),
                              ("using a::F;", "using b::F;"), ("template <class T> T* f(T* x) {", "void f();")):
            self.assertEqual(self.groups(8, self.unnamed(first), self.unnamed(second)), ["0", "1"], (first, second))
        self.assertEqual(self.groups(8, "using OneOfTwo = int;\n", "using OneOfTwo = long;\n"), ["0", "1"])

    def test_the_same_name_of_another_namespace_does_not(self):
        self.assertEqual(self.groups(8, self.unnamed("using a::F;"), self.unnamed("using a::F;")), ["0", "0"])

    def test_what_cannot_be_told_apart_is_alone(self):
        value = "class Value;"  # snug::Value is another.
        self.assertEqual(self.groups(8, self.unnamed(value), ""), ["alone", "0"])
        self.assertEqual(self.groups(8, "using namespace a;\n", "#define X\n", '#include <hwy/foreach_target.h>\n', "", ""),
                         ["alone", "alone", "alone", "0", "0"])


if __name__ == "__main__":
    unittest.main()
