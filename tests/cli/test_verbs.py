# SPDX-License-Identifier: Apache-2.0
"""What the verbs print and return. Needs no NumPy: the few .npy files are written here."""
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["SAMEBITS_PROGRAM"]
LINEAR = pathlib.Path(os.environ["SAMEBITS_CASES"]) / "linear-5-7-f32"


def samebits(*arguments, **environment):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=dict(os.environ, **environment))


def save(path, shape, values, descr="<f4", code="f"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(values)}{code}", *values))
    return path


def load_f32(path):
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return list(struct.unpack(f"<{(len(data) - start) // 4}f", data[start:]))


class Verbs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def expect(self, status, *arguments, **environment):
        result = samebits(*arguments, **environment)
        self.assertEqual(result.returncode, status, f"{arguments}\n{result.stdout}{result.stderr}")
        self.assertNotIn("\x1b[", result.stdout)  # not a terminal: no colour
        if status == 2:
            self.assertTrue(result.stderr, "an error says why, on stderr")
        return result

    def test_usage(self):
        self.assertIn("gemm", self.expect(0, "--help").stdout)
        self.assertEqual(self.expect(0, "--version").stdout.strip(), "0.1.0")
        self.expect(2)
        self.expect(2, "no-such-verb")
        self.expect(2, "gemm")
        self.expect(2, "gemm", LINEAR / "a.npy", LINEAR / "b.npy", "-o", self.path / "c.npy", "--no-such-option")

    def test_gemm_replays_a_recorded_result(self):
        c = self.path / "c.npy"
        result = self.expect(0, "gemm", LINEAR / "a.npy", LINEAR / "b.npy", "--tb", "-o", c)
        self.assertIn("(2, 3, 7)", result.stdout)
        self.expect(0, "compare", c, LINEAR / "ort-cpu.npy")
        other = self.expect(1, "compare", c, LINEAR / "torch-cpu.npy")
        self.assertIn("15 of 42", other.stdout)
        self.assertEqual(self.expect(0, "--quiet", "gemm", LINEAR / "a.npy", LINEAR / "b.npy", "--tb", "-o", c).stdout, "")

    def test_gemm_options(self):
        a, b = save(self.path / "a.npy", (1, 3), [1e8, 1, -1e8]), save(self.path / "b.npy", (3, 1), [1, 1, 1])
        old, bias, c = save(self.path / "old.npy", (1, 1), [10]), save(self.path / "bias.npy", (1,), [0.5]), self.path / "c.npy"
        for options, want in (((), 0), (("--order", "tree(0 + 2 + 1) > mul"), 1), (("--order", "exact"), 1),
                              (("--c", old, "--beta", "2"), 20), (("--bias", bias), 0.5), (("--order", "exact", "--alpha", "3"), 3),
                              (("--threads", "2"), 0), (("--isa", "portable"), 0)):
            self.expect(0, "gemm", a, b, "-o", c, *options)
            self.assertEqual(load_f32(c), [want], options)
        # The environment's instruction set, too; an unknown one is an error.
        self.expect(0, "gemm", a, b, "-o", c, SAMEBITS_ISA="portable")
        self.expect(2, "gemm", a, b, "-o", c, SAMEBITS_ISA="mmx")

    def test_gemm_errors(self):
        a, c = save(self.path / "a.npy", (2, 3), range(6)), self.path / "c.npy"
        wide = save(self.path / "wide.npy", (3, 2), range(6), "<f8", "d")
        for arguments in ((a, a), (a, wide), (a, self.path / "missing.npy"), (a, LINEAR / "case.json")):
            self.expect(2, "gemm", *arguments, "-o", c)
        self.expect(2, "gemm", a, a, "--tb", "-o", c, "--order", "tree(0 + 1) > fma")  # K is 3
        self.expect(2, "gemm", a, a, "--tb", "-o", c, "--order", "no-such-order")
        self.assertFalse(c.exists())
        truncated = self.path / "truncated.npy"
        truncated.write_bytes(a.read_bytes()[:-4])
        self.assertIn("truncated.npy", self.expect(2, "gemm", a, truncated, "-o", c).stderr)

    def test_compare(self):
        nan, zero = float("nan"), 0.0
        x = save(self.path / "x.npy", (2, 2), [1, nan, zero, 4])
        y = save(self.path / "y.npy", (2, 2), [1, nan, -zero, 4])
        self.expect(0, "compare", x, x)
        self.assertIn("1 of 4", self.expect(1, "compare", x, y).stdout)
        self.assertEqual(self.expect(1, "compare", x, y, "--quiet").stdout, "")
        report = json.loads(self.expect(1, "compare", x, y, "--json").stdout)
        self.assertEqual((report["schema"], report["different"], report["max_ulp"]), ("samebits.compare/1", 1, 1))
        self.expect(2, "compare", x, save(self.path / "z.npy", (4,), range(4)))
        self.expect(2, "compare", x, self.path / "missing.npy")

    def test_order(self):
        text = self.expect(0, "order", "chunks( 2)>fma", "-k", "5").stdout
        self.assertIn("chunks(2) > fma", text)
        self.assertEqual(self.expect(0, "order", "fma", "-k", "5", "--tree").stdout, "[0..4]\n")
        self.assertTrue(self.expect(0, "order", "fma", "-k", "5", "--dot").stdout.startswith("digraph"))
        self.assertEqual(json.loads(self.expect(0, "order", "fma", "-k", "5", "--json").stdout)["tree"], "[0..4]")
        self.assertIn("column 18", self.expect(2, "order", "chunks(256) > fma,").stderr)
        self.expect(2, "order", "no-such-order")
        self.expect(2, "order", "fma", "--dot")
        self.expect(2, "order", "regions(rows=0:3 cols=0:1: mul; rest: fma)", "-k", "5", "-m", "2")

    def test_demo_is_what_the_readme_shows(self):
        readme = (LINEAR.parents[3] / "README.md").read_text()
        shown = readme.split("<!-- demo begin -->\n```\n")[1].split("```\n<!-- demo end -->")[0].split("\n")
        printed = self.expect(0, "demo").stdout.split("\n")

        def steady(lines):  # the number of orders tried grows with every family and profile
            return [re.sub(r"\d+ orders tried", "N orders tried", line.rstrip()) for line in lines]

        self.assertEqual([line for line in steady(shown) if line not in steady(printed)], [])

    def test_lists(self):
        orders = json.loads(self.expect(0, "orders", "--json").stdout)
        self.assertIn("chunks", [stage["name"] for stage in orders["stages"]])
        self.assertIn("pairwise", self.expect(0, "orders").stdout)
        for profile in orders.get("profiles", []):
            self.assertIn(profile["summary"], self.expect(0, "orders", profile["name"]).stdout)
            self.assertTrue(profile["verified"], f"{profile['name']} does not say where it was verified")
        self.expect(2, "orders", "no-such-profile")
        kernels = json.loads(self.expect(0, "kernels", "--json").stdout)
        self.assertTrue(any(k["built"] and k["supported"] for k in kernels))


if __name__ == "__main__":
    unittest.main()
