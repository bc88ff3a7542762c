#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the cases of a test program into tests of ctest: one process for each suite on each store.

discover.py NAME PROGRAM --out FOLDER/test_NAME --results FOLDER [--labels L...] [--needs FIXTURE...] [--timeout S]
            [--each-timeout] [--cost N] [--computes TURN...] [--properties TEXT]

Writes test_NAME_tests.cmake, which ctest reads, and test_NAME_cases.txt with a line TEST <tab> PART <tab> CASE for each case:
the name of its test, its part of the axes (see choice.py), and its full name in GoogleTest.

client.Wait/redis         the suite Wait of test_client on Redis
client.Leaving            a suite without a store
client.Wait/redis.2       its second part, if it has more cases than one process runs
client.Wait/redis.soak    what of it axes.py did not choose
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True

import axes  # noqa: E402
import choice  # noqa: E402

MOST_CASES = 25       # in one process
MOST_EMBEDDED = 8     # of them without a server: a process costs nothing there, and the cases mostly wait
FURTHER_SECONDS = 10  # that each case after the first adds to the timeout of its process

Case = collections.namedtuple("Case", "full suite name store")  # full: On/Wait.a_case/redis


def parse(listing):
    """The cases in what --gtest_list_tests prints."""
    suite = None
    for line in listing.split("\n"):
        line = line.split("  # ")[0].rstrip()
        if re.fullmatch(r"\S+\.", line):
            suite = line[:-1]
        elif line.startswith("  ") and suite:
            name, _, parameter = line.strip().partition("/")
            store = parameter if parameter in axes.STORES else None
            yield Case(f"{suite}.{line.strip()}", suite.split("/")[-1], name, store)


def most_cases(program, store):
    if program in axes.ISOLATED:
        return 1
    return MOST_EMBEDDED if store in axes.EMBEDDED else MOST_CASES


def group(program, cases):
    """(test, part, case) of each case."""
    together = collections.defaultdict(list)
    for case in cases:
        part = choice.part_of(program, case.suite, case.name, case.store)
        test = f"{program}.{case.suite}" + (f"/{case.store}" if case.store else "")
        together[test + (".soak" if part == choice.SOAK else "")].append((part, case))
    for test, members in together.items():
        parts = -(-len(members) // most_cases(program, members[0][1].store))
        for index, (part, case) in enumerate(members):
            yield (f"{test}.{index * parts // len(members) + 1}" if parts > 1 else test), part, case


def timeout_of(args, count):
    return args.timeout * count if args.each_timeout else args.timeout + FURTHER_SECONDS * (count - 1)


def quoted(text):
    return f"[==[{text}]==]"


def ctest(args, index, test, members):
    part, first = members[0]
    soak = part == choice.SOAK
    labels = ["soak"] if soak else [*choice.labels_of(args.labels, args.needs, first.store),
                                    *choice.sanitizers_of(args.name, first.suite, first.store)]
    fixtures = choice.fixtures_of(args.needs, first.store)
    seconds = timeout_of(args, len(members))
    result = os.path.join(args.results, test.replace("/", "-") + ".xml")
    locks = [args.computes[index % len(args.computes)]] if args.computes else []
    if (server := choice.lock_of(args.name, first.store, index)):
        locks.append(server)
    words = [args.program, "--gtest_filter=" + ":".join(case.full for _, case in members), f"--gtest_output=xml:{result}"]
    return (f"add_test({quoted(test)} {' '.join(map(quoted, words))})\n"
            f"set_tests_properties({quoted(test)} PROPERTIES LABELS {quoted(';'.join(labels))}"
            f" TIMEOUT {seconds} COST {args.cost * 1000 + zlib.crc32(test.encode()) % 1000} RESOURCE_LOCK {quoted(';'.join(locks))}"
            f" FIXTURES_REQUIRED {quoted(';'.join(fixtures))} {args.properties})\n")


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("program")
    parser.add_argument("--out", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--labels", nargs="*", default=[])
    parser.add_argument("--needs", nargs="*", default=[])  # fixtures of ctest
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--each-timeout", action="store_true")
    parser.add_argument("--cost", type=int, default=1)  # thousands; ctest starts those that cost more first, and programs of one cost are mixed
    parser.add_argument("--computes", nargs="*", default=[])  # each of its tests locks one of these
    parser.add_argument("--properties", default="")
    args = parser.parse_args()

    listed = subprocess.run([args.program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, timeout=60)
    if listed.returncode != 0:
        return f"{args.program} --gtest_list_tests failed with the exit code {listed.returncode}; run it to see why"
    tests = collections.defaultdict(list)
    lines = []
    for test, part, case in group(args.name, parse(listed.stdout)):
        tests[test].append((part, case))
        lines.append(f"{test}\t{part}\t{case.full}\n")
    write(args.out + "_cases.txt", "".join(lines))
    write(args.out + "_tests.cmake", "".join(ctest(args, index, *test) for index, test in enumerate(tests.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
