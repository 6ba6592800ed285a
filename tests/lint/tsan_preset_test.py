"""The preset tsan builds the test files of the suites that it runs, and no others."""
import fnmatch
import json
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("base", "tensor", "metrics", "gguf", "tokenizer", "sampling", "backend", "kv", "quantize", "bench",
           "model", "engine")
SUITE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),", re.M)


def preset(kind: str, name: str) -> dict:
    presets = json.loads((ROOT / "CMakePresets.json").read_text())[kind]
    return next(entry for entry in presets if entry["name"] == name)


class TsanPreset(unittest.TestCase):
    def test_files_are_those_of_the_suites(self):
        built = re.compile(preset("configurePresets", "tsan")["cacheVariables"]["INFERNO_TEST_FILES"])
        filters = preset("testPresets", "tsan")["environment"]["GTEST_FILTER"].split(":")
        suites = [pattern.split(".")[0] for pattern in filters]
        files = [file for folder in FOLDERS for file in (ROOT / "tests" / folder).rglob("*_test.cpp")]
        self.assertGreater(len(files), 50)
        found = set()
        for file in files:
            names = set(SUITE.findall(file.read_text()))
            wanted = {suite for suite in suites if any(fnmatch.fnmatch(name, suite) for name in names)}
            found |= wanted
            if wanted:
                self.assertTrue(built.search(str(file)), f"{file}: not built, but has {wanted}")
        self.assertEqual(set(suites), found, "suites that no file has")


if __name__ == "__main__":
    unittest.main()
