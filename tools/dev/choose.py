#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the words behind `./dev test` mean: choose.py [--store STORE] [NAME...]

NAME is a program (client), a suite (Wait, client.Wait) or a test that is no GoogleTest (docs.README.md), or a pattern of these
(cli_*). Without a NAME: all that run on STORE, or all there are. Prints two lines: a regular expression of ctest's names, and
the targets to build. Known is what the tree says, so nothing needs to be built. Exits 64 with a sentence if a word means nothing.
"""
import argparse
import fnmatch
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "axes"))

import axes  # noqa: E402

PROGRAM = re.compile(r"holdfast_test\(\s*(\w+)([^)]*)\)")
SUITE = re.compile(r"^TEST(?:_[FP])?\((\w+),", re.MULTILINE)
OTHER = re.compile(r"add_test\(\s*NAME ([a-z]+)\.")
CONFIGURED = "build.ninja"  # a target that builds nothing
# What to build for the others; all, unless it is said here: some read or compile sources only.
NEEDS = {"api": CONFIGURED, "jobs": CONFIGURED, "fuzz": "fuzz_targets"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tree(root):
    """program -> its suites, and the first words of the names of tests that are no GoogleTests."""
    programs, others = {}, set()
    lists = [path for folder in ("tests", "examples", "fuzz") for path in glob.glob(f"{root}/{folder}/**/CMakeLists.txt", recursive=True)]
    for path in lists:
        text = read(path)
        others |= set(OTHER.findall(text))
        for name, words in PROGRAM.findall(text):
            sources = [os.path.join(os.path.dirname(path), word) for word in words.split() if word.endswith(".cpp")]
            programs[name] = {suite for source in sources for suite in SUITE.findall(read(source))}
    return programs, others


def regex(pattern):
    """Of a glob, as ctest reads it."""
    return "".join(".*" if letter == "*" else "." if letter == "?" else letter if re.match(r"[\w/-]", letter) else f"[{letter}]"
                   for letter in pattern)


def meaning(name, programs, others, store):
    """(regular expressions of tests, targets) that a name stands for. ctest allows 31 groups in all, so there are none here."""
    tests, targets = [], set()
    for program, suites in programs.items():
        if fnmatch.fnmatchcase(program, name):
            tests.append(f"{program}[.][^/]*/{store}" if store else f"{program}[.].*")
            targets.add(f"test_{program}")
            continue
        for suite in sorted(suites):
            if fnmatch.fnmatchcase(suite, name) or fnmatch.fnmatchcase(f"{program}.{suite}", name):
                tests.append(f"{program}[.]{suite}/{store}" if store else f"{program}[.]{suite}")
                targets.add(f"test_{program}")
    for other in sorted(others):
        if not store and fnmatch.fnmatchcase(other, name):
            tests.append(f"{other}[.].*")
            targets.add(needed(other))
        elif not store and name.startswith(other + ".") and not targets:
            tests.append(regex(name))
            targets.add(needed(other))
    return tests, targets


def needed(other):
    return NEEDS.get(other, "all")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"dev: {message}\n")


def main():
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--store")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.store == "":
        parser.error("--store needs a value")
    if args.store and args.store not in axes.STORES:
        parser.error(f"unknown store '{args.store}'; give one of {', '.join(axes.STORES)}")
    programs, others = tree(ROOT)
    tests, targets = [], set()
    for name in args.names or ([] if args.store else ["*"]):
        found = meaning(name, programs, others, args.store)
        if not found[0]:
            parser.error(f"no program, suite or test is called '{name}'; the programs are {', '.join(sorted(programs))}")
        tests += found[0]
        targets |= found[1]
    if not tests:
        tests, targets = [f"[a-z_]+[.][A-Z][^/]*/{args.store}"], {"all"}
    print(f"^({'|'.join(tests)})([./].*)?$")
    print("all" if "all" in targets else " ".join(sorted(targets - {CONFIGURED})) or CONFIGURED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
