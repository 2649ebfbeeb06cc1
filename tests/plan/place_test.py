#!/usr/bin/env python3
"""bench/place as a program: its offsets checked by other code, and what it says of files that are wrong.

usage: place_test.py PLACE
"""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest


class Place(unittest.TestCase):
    program = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def place(self, text, *words, name="buffers.12.csv"):
        path = self.folder / name
        path.write_text(text)
        return subprocess.run([self.program, path, *words], capture_output=True, text=True)

    def offsets(self, text, capacity):
        """Of each buffer; no two of them that live at once overlap."""
        output = self.folder / "offsets.csv"
        done = self.place(text, "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("validated: yes", done.stdout)
        rows = [{key: value if key == "id" else int(value) for key, value in row.items()}
                for row in csv.DictReader(output.read_text().splitlines())]
        for i, a in enumerate(rows):
            self.assertLessEqual(a["offset"] + a["size"], capacity)
            for b in rows[:i]:
                meet = a["lower"] < b["upper"] and b["lower"] < a["upper"]
                apart = a["offset"] + a["size"] <= b["offset"] or b["offset"] + b["size"] <= a["offset"]
                self.assertTrue(apart or not meet, (a, b))
        return {row["id"]: row["offset"] for row in rows}

    def test_buffers_with_names(self):
        text = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
        self.assertEqual(len(self.offsets(text, 12)), 5)

    def test_columns_are_found_by_their_names(self):
        text = "size,end,start\r\n8,2,0\r\n8,4,3\r\n4,5000000000,0\r\n"
        self.assertEqual(self.offsets(text, 12)["0"], self.offsets(text, 12)["1"])

    def test_what_cannot_be(self):
        done = self.place("id,lower,upper,size\na,0,2,8\nb,1,3,8\n")
        self.assertEqual((done.returncode, "impossible" in done.stdout), (3, True))

    def test_a_capacity_of_ones_own(self):
        done = self.place("id,lower,upper,size\na,0,2,8\nb,1,3,8\n", "--capacity", "16")
        self.assertIn("height: 16", done.stdout)

    def test_mistakes_are_named(self):
        for text, part in (("id,lower,size\n", "names no upper"), ("id,lower,upper,size\na,0,x,4\n", ":2: upper is no"),
                           ("id,lower,upper,size\na,3,3,4\n", "lives in no time"), ("id,lower,upper,size\na,0\n", "upper is no")):
            done = self.place(text)
            self.assertEqual(done.returncode, 4, text)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    Place.program = sys.argv.pop(1)
    unittest.main()
