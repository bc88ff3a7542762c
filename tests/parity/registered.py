# SPDX-License-Identifier: Apache-2.0
"""Which tests a build folder has, read from the files that ctest reads: `ctest -N` would write over its logs."""
import collections
import os
import re

INCLUDE = re.compile(r'^\s*(subdirs|include)\("([^"]*)"\)', re.MULTILINE)
NAME = r'(?:\[(?P<marks>=*)\[(?P<long>.*?)\](?P=marks)\]|"(?P<quoted>[^"]*)"|(?P<bare>[^\s()"]+))'
TEST = re.compile(r"^\s*add_test\(" + NAME, re.MULTILINE)
DISABLED = re.compile(r"^\s*set_tests_properties\(" + NAME + r'[^\n]*?\bDISABLED "?(?:TRUE|ON|YES|1)\b', re.MULTILINE)
# PROGRAM.On/Suite.test/kind
CASE = re.compile(r"[^.]*\.(?:[^/.]+/)?([^/.]+\.[^/.]+)(?:/.*)?", re.DOTALL)
SOAK = "soak only"  # the part of the axes that `./dev test` leaves to `./dev soak stores`

Case = collections.namedtuple("Case", "name test part")  # name: client.On/Wait.a_case/redis; test: client.Wait/redis


class Registered:
    """`cases`: every case of every GoogleTest, in order. `instances`: a name as the ledger writes it -> the full names of
    the cases, one for each store that `./dev test` runs it on. `disabled`: tests that ctest never runs. `programs`: all
    GoogleTests. `unbuilt`: those of them whose cases nobody can know."""

    def __init__(self, build):
        self.cases = []
        self.instances = {}
        self.disabled = set()
        self.programs = []
        self.unbuilt = []
        self._read(os.path.join(build, "CTestTestfile.cmake"))

    def _read(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        self.disabled |= {named(match) for match in DISABLED.finditer(text)}
        for test in map(named, TEST.finditer(text)):
            if not test.endswith("_NOT_BUILT"):
                self.instances.setdefault(test, []).append(test)
        for verb, target in INCLUDE.findall(text):
            target = os.path.join(os.path.dirname(path), target)
            if verb == "subdirs":
                target = os.path.join(target, "CTestTestfile.cmake")
            if target.endswith("_tests.cmake"):
                self._program(target)
            elif os.path.exists(target):
                self._read(target)

    def _program(self, path):
        program = re.sub(r"^test_|_tests\.cmake$", "", os.path.basename(path))
        self.programs.append(program)
        try:
            with open(re.sub(r"_tests\.cmake$", "_cases.txt", path), encoding="utf-8") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            self.unbuilt.append(program)
            return
        for test, part, full in (line.split("\t") for line in lines):
            case = Case(f"{program}.{full}", test, part)
            self.cases.append(case)
            if part != SOAK:
                self.instances.setdefault(short(case.name), []).append(case.name)

    def of(self, name):
        """The cases, or the page, that a row names; nothing if there is none."""
        return self.instances.get("docs." + name if name.endswith(".md") else name, [])


def named(match):
    return next(text for text in (match["long"], match["quoted"], match["bare"]) if text is not None)


def short(test):
    """`Suite.test` of a GoogleTest."""
    match = CASE.fullmatch(test)
    return match[1] if match else test
