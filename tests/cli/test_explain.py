# SPDX-License-Identifier: Apache-2.0
"""explain, trace and demo from outside: statuses, JSON names, bad files."""
import json
import pathlib
import struct
import unittest

from test_verbs import LINEAR, Verbs as Base, save

CASES = LINEAR.parent
for name in [n for n in dir(Base) if n.startswith("test_")]:
    delattr(Base, name)  # they run in their own file


class Explain(Base):
    def case(self, name, left, right):
        return [CASES / name / f for f in ("a.npy", "b.npy", left + ".npy", right + ".npy")]

    def test_statuses_follow_the_verdict(self):
        self.expect(0, "explain", *self.case("linear-5-7-f32", "numpy", "ort-cpu"))
        self.expect(1, "explain", *self.case("linear-5-7-f32", "torch-cpu", "ort-cpu"))
        self.expect(3, "explain", *self.case("linear-5-7-f64", "torch-cpu", "ort-cpu"))
        a, b, left, right = self.case("linear-5-7-f32", "numpy", "ort-cpu")
        values = list(struct.unpack("<42f", left.read_bytes()[-168:]))
        values[10] += 1
        wrong = save(self.path / "wrong.npy", (2, 3, 7), values)
        out = self.expect(4, "explain", a, b, wrong, right).stdout
        self.assertIn("1 of 42 elements is wrong: (1, 3)", out)

    def test_json_names(self):
        j = json.loads(self.expect(1, "explain", *self.case("linear-5-7-f32", "torch-cpu", "ort-cpu"), "--json").stdout)
        self.assertEqual(j["schema"], "samebits.explain/1")
        self.assertEqual((j["verdict"], j["dtype"], j["m"], j["n"], j["k"]), ("explained", "f32", 6, 7, 5))
        self.assertEqual((j["elements"], j["different"], j["max_ulp"]), (42, 15, 575))
        right = j["sides"][1]
        self.assertEqual((right["name"], right["explained"], right["reproduced"]), ("ort-cpu", True, 42))
        region = right["regions"][0]
        self.assertEqual((region["rows"], region["cols"], region["order"], region["elements"]), ("0:6:1", "0:7:1", "fma", 42))
        self.assertEqual((region["candidates"], region["identified"]), (1, True))
        self.assertGreater(region["tried"], 2000)
        self.assertEqual([f["factor"] for f in j["factors"]], ["op", "tree"])
        self.assertTrue(all(set(f) == {"factor", "from", "to", "changed"} for f in j["factors"]))
        self.assertTrue(j["trace"]["left"].startswith("0x"))
        self.assertTrue(j["advice"])

    def gpucheck(self, calls, **other):
        """A file as samebits-gpucheck writes it; the device and what it 'measured' are this test's invention."""
        results = [{"backend": "cublas", "mode": mode, "layout": layout, "m": 6, "n": 7, "k": 5, "reproduced": order is not None,
                    "order": order or "", "library": "cuBLAS 0", "regions": [], "calls": 1} for mode, layout, order in calls]
        report = {"schema": 1, "program": "samebits-gpucheck 0", "device": {"name": "Test GPU", "architecture": 80},
                  "steps": {"origin_case": {"status": "passed", "results": results}}, **other}
        path = self.path / "gpucheck.json"
        path.write_text(json.dumps(report))
        return path

    def test_measurements_replace_predictions(self):
        calls = [("default", "TN", "fma"), ("default", "NN", "split(4) > fma"), ("tf32", "TN", None)]
        held = self.gpucheck(calls)
        demo = self.expect(0, "demo", "--gpucheck", held).stdout
        self.assertIn("3. MEASURED on Test GPU (sm_80)", demo)
        self.assertRegex(demo, r"torch GPU, TF32 off +fma +measured, as predicted")
        self.assertRegex(demo, r"ORT GPU, use_tf32=0 +split\(4\) > fma +measured \(predicted: split\(2\) > fma\)")
        self.assertRegex(demo, r"torch GPU, TF32 on .* predicted \(measured: no order found\)")
        self.assertRegex(demo, r"ORT GPU, use_tf32=1 .* predicted\n")
        self.assertNotIn("PREDICTIONS", demo)
        # A measurement against what was published is said, and fails the demo.
        self.assertIn("NOT AS EXPECTED", self.expect(1, "demo", "--gpucheck", self.gpucheck([("default", "TN", "mul")])).stdout)

        case = self.case("linear-5-7-f32", "numpy", "ort-cpu")
        held = self.gpucheck(calls)
        self.assertIn("measured on Test GPU (sm_80): so add cublas(mode=default) TN",
                      self.expect(0, "explain", *case, "--gpucheck", held).stdout)
        other = self.gpucheck([("default", "TN", "mul")])
        self.assertIn("the prediction for a GPU did not hold: measured on Test GPU (sm_80): cublas(mode=default) TN: mul",
                      self.expect(0, "explain", *case, "--gpucheck", other).stdout)
        self.assertIn("not measured at this shape on Test GPU",
                      self.expect(0, "explain", *case, "--gpucheck", self.gpucheck([])).stdout)

    def test_bad_gpucheck_files(self):
        self.expect(2, "demo", "--gpucheck", self.path / "none.json")
        bad = self.path / "bad.json"
        ours = '{"schema": 1, "program": "samebits-gpucheck 0", "device": %s}'
        for text in ("", "[]", "{}", ours.replace("samebits", "other") % "null", ours % "{}"):
            bad.write_text(text)
            self.assertIn("bad.json", self.expect(2, "demo", "--gpucheck", bad).stderr)
        bad.write_text(json.dumps({"schema": 1, "program": "samebits-gpucheck 0", "device": None, "reason": "no driver"}))
        self.assertIn("PREDICTIONS (no GPU was used)", self.expect(0, "demo", "--gpucheck", bad).stdout)

    def test_sides_of_every_kind(self):
        a, b, left, _ = self.case("linear-5-7-f32", "ort-cpu", "numpy")
        self.expect(0, "explain", a, b, left, "order:fma")
        self.expect(0, "explain", a, b, left, "profile:onnxruntime-cpu(b=const)")
        self.expect(0, "explain", a, b, left, "samebits")
        self.assertIn("probed in", self.expect(1, "explain", a, b, left, "samebits(order=mul)").stdout)
        self.expect(2, "explain", a, b, left, "no-such-thing")

    def test_a_square_b_is_read_as_its_values_say(self):
        import random
        random.seed(1)
        x = [random.gauss(0, 1) for _ in range(40)]
        w = [random.gauss(0, 1) for _ in range(64)]
        a, b = save(self.path / "a.npy", (5, 8), x), save(self.path / "b.npy", (8, 8), w)
        for flag in ([], ["--tb"]):
            c = self.path / "c.npy"
            self.expect(0, "gemm", a, b, "-o", c, *flag)
            out = self.expect(1, "explain", a, b, c, "order:mul").stdout
            self.assertIn("B transposed" if flag else "B as stored", out)
        noise = save(self.path / "noise.npy", (5, 8), [random.gauss(0, 1) for _ in range(40)])
        self.assertIn("--tb", self.expect(2, "explain", a, b, noise, noise).stderr)

    def test_two_readings_are_two_products(self):
        import random
        random.seed(5)
        x, w = ([random.gauss(0, 1) for _ in range(64)] for _ in range(2))
        a, b = save(self.path / "a.npy", (8, 8), x), save(self.path / "b.npy", (8, 8), w)
        self.expect(0, "gemm", a, b, "-o", self.path / "plain.npy")
        self.expect(0, "gemm", a, b, "--tb", "-o", self.path / "other.npy")
        out = self.expect(4, "explain", a, b, self.path / "other.npy", self.path / "plain.npy")
        self.assertIn("B was taken transposed", out.stdout)

    def test_trace(self):
        a, b, left, right = self.case("linear-5-7-f32", "torch-cpu", "ort-cpu")
        self.assertIn("element (0, 4)", self.expect(1, "trace", a, b, left, right).stdout)
        self.expect(0, "trace", a, b, "order:fma", right)
        j = json.loads(self.expect(0, "trace", a, b, "order:fma", "order:mul", "--element", "1", "3", "--json").stdout)
        self.assertEqual(j["element"], [1, 3])
        self.expect(2, "trace", a, b, "order:fma", "order:mul", "--element", "6", "0")

    def test_bad_files_are_named(self):
        a, b, left, right = self.case("linear-5-7-f32", "torch-cpu", "ort-cpu")

        def refused(*words, a=a, b=b, left=left):
            err = self.expect(2, "explain", a, b, left, right).stderr
            for word in words:
                self.assertIn(str(word), err)

        short = save(self.path / "short.npy", (2, 3, 6), [0.0] * 36)
        refused(short, "(2, 3, 6)", left=short)
        refused(self.path / "missing.npy", left=self.path / "missing.npy")
        cut = self.path / "cut.npy"
        cut.write_bytes(left.read_bytes()[:40])
        refused(cut, left=cut)
        cut.write_bytes(left.read_bytes()[:-4])
        refused(cut, left=cut)
        refused(save(self.path / "object.npy", (2, 3, 7), [0.0] * 42, descr="|O"), "|O", left=self.path / "object.npy")
        huge = save(self.path / "huge.npy", (1 << 40, 1 << 40), [0.0])
        refused(huge, a=huge)
        double = save(self.path / "double.npy", (2, 3, 7), [0.0] * 42, "<f8", "d")
        refused(double, "float64", "float32", left=double)
        self.expect(2, "explain", a, b, left, right, "--c", save(self.path / "c.npy", (6,), [0.0] * 6))

    def test_demo(self):
        out = self.expect(0, "demo").stdout
        self.assertIn("PREDICTIONS", out)
        self.assertIn("FROM SOURCE READING", out)
        self.assertNotIn("NOT AS EXPECTED", out)


if __name__ == "__main__":
    unittest.main()
