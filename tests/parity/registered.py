# SPDX-License-Identifier: Apache-2.0
"""Which tests a build folder has, read from the files that ctest reads: `ctest -N` would write over its logs."""
import os
import re

INCLUDE = re.compile(r'^\s*(subdirs|include)\("([^"]*)"\)', re.MULTILINE)
NAME = r'(?:\[(?P<marks>=*)\[(?P<long>.*?)\](?P=marks)\]|"(?P<quoted>[^"]*)"|(?P<bare>[^\s()"]+))'
TEST = re.compile(r"^\s*add_test\(" + NAME, re.MULTILINE)
DISABLED = re.compile(r"^\s*set_tests_properties\(" + NAME + r'[^\n]*?\bDISABLED "?(?:TRUE|ON|YES|1)\b', re.MULTILINE)
# PROGRAM.On/Suite.test/kind  # GetParam() = kind
CASE = re.compile(r"[^.]*\.(?:[^/.]+/)?([^/.]+\.[^/.]+)(?:/.*)?", re.DOTALL)


class Registered:
    """`instances`: a name as the ledger writes it -> the names by which ctest knows the test, one for each store.
    `disabled`: those of ctest's names that it never runs. `unbuilt`: programs whose tests nobody can know."""

    def __init__(self, build):
        self.instances = {}
        self.disabled = set()
        self.unbuilt = []
        self._read(os.path.join(build, "CTestTestfile.cmake"))

    def _read(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        discovered = path.endswith("_tests.cmake")  # written by gtest_discover_tests() when the program was linked
        self.disabled |= {named(match) for match in DISABLED.finditer(text)}
        for test in map(named, TEST.finditer(text)):
            if not test.endswith("_NOT_BUILT"):
                self.instances.setdefault(short(test) if discovered else test, []).append(test)
        for verb, target in INCLUDE.findall(text):
            target = os.path.join(os.path.dirname(path), target)
            if verb == "subdirs":
                target = os.path.join(target, "CTestTestfile.cmake")
            if os.path.exists(target):
                self._read(target)
            elif target.endswith("_tests.cmake"):
                self.unbuilt.append(re.sub(r"(\[\d+\])?_tests\.cmake$", "", os.path.basename(target)))

    def of(self, name):
        """What ctest calls the test, or the page, that a row names; nothing if there is none."""
        return self.instances.get("docs." + name if name.endswith(".md") else name, [])


def named(match):
    return next(text for text in (match["long"], match["quoted"], match["bare"]) if text is not None)


def plain(test):
    """Without the parameter that gtest shows behind the name."""
    return test.split("  # ")[0]


def short(test):
    """`Suite.test` of a GoogleTest."""
    match = CASE.fullmatch(plain(test))
    return match[1] if match else test
