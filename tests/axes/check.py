#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is axes.py right? check.py names|budget BUILD

names    Each program, suite, case and store that it names exists, each program stands in one place, each case runs somewhere, and
         it names each store that tests run on.
budget   No part has more cases than its budget; prints how many each has.
BUILD is the folder of a preset. What is not built there is not judged.
"""
import collections
import fnmatch
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "parity"))

import axes  # noqa: E402
import choice  # noqa: E402
from registered import Registered, short  # noqa: E402

CANDIDATES = "tests/support/databases.cpp"


def wrong_names(programs, unbuilt, cases):
    """Sentences. `cases`: (program, suite, case) -> the parts that it belongs to, one for each store."""
    suites = collections.defaultdict(list)
    for program, suite, case in cases:
        suites[program, suite].append(case)
    places = collections.Counter([*axes.CONNECTION, *axes.WITHOUT_STORES, *axes.ABOVE])
    for program in sorted({*places, *axes.ASAN, *axes.TSAN} - set(programs)):
        yield f"there is no program {program}"
    for program in sorted(programs):
        if places[program] != 1:
            yield f"{program} must stand in one of CONNECTION, WITHOUT_STORES and ABOVE, and stands in {places[program]}"
    for program, chosen in axes.ABOVE.items():
        if program in programs and program not in unbuilt:
            for suite, where in chosen.items():
                yield from wrong_suite(program, suite, where, suites.get((program, suite), []))
    for program, stores in [*axes.ASAN.items(), *axes.TSAN.items()]:
        yield from wrong_stores(stores)
        if program in programs and program not in unbuilt:
            named = [pair[0] for pair in stores if isinstance(pair, tuple)]
            yield from (f"{program} has no suite {suite}" for suite in named if (program, suite) not in suites)
    for (program, suite, case), parts in cases.items():
        if set(parts) == {choice.SOAK}:
            yield f"{program}: {suite}.{case} runs on no store; choose one"


def wrong_suite(program, suite, where, cases):
    if not cases:
        yield f"{program} has no suite {suite}"
        return
    for word, patterns in where.items():
        if word not in choice.WHERE:
            yield f"{program}: {suite} is to run on '{word}', which is none of {', '.join(choice.WHERE)}"
        for pattern in choice.listed(patterns):
            if not fnmatch.filter(cases, pattern):
                yield f"{program}: {suite} has no case {pattern}"


def wrong_stores(stores):
    for store in [] if stores == axes.ALL else stores:
        for name in store[1] if isinstance(store, tuple) else [store]:
            if name not in axes.STORES:
                yield f"there is no store {name}"


def wrong_candidates(text):
    """Sentences. `text`: the file that makes the stores for tests."""
    body = re.search(r"candidates\(\) \{\n(.*?)\n\}", text, re.DOTALL)
    made = re.findall(r'^ *\{(?:\{|\w+_kind\(\{?)"(\w+)"', body[1] if body else "", re.MULTILINE)
    yield from (f"STORES lacks {store}, which {CANDIDATES} makes" for store in made if store not in axes.STORES)
    yield from (f"STORES has {store}, which candidates() in {CANDIDATES} does not make" for store in axes.STORES if store not in made)


def candidates():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", CANDIDATES), encoding="utf-8") as file:
        return file.read()


def over_budget(counts):
    for part, most in axes.BUDGET.items():
        if counts[part] > most:
            yield (f"'{part}' has {counts[part]} cases, and its budget is {most}: run fewer of them, on fewer stores,"
                   " or raise BUDGET in tests/axes/axes.py and say why in the commit")


def main(what, build):
    registered = Registered(build)
    if what == "names":
        cases = collections.defaultdict(list)
        for case in registered.cases:
            cases[(case.name.split(".")[0], *short(case.name).split("."))].append(case.part)
        wrong = [*wrong_names(registered.programs, registered.unbuilt, cases), *wrong_candidates(candidates())]
    else:
        counts = collections.Counter(case.part for case in registered.cases)
        for part in choice.PARTS:
            print(f"{part}: {counts[part]}" + (f" of {axes.BUDGET[part]}" if part in axes.BUDGET else ""))
        wrong = list(over_budget(counts))
    for sentence in wrong:
        print(f"tests/axes/axes.py: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
