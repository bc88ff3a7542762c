#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases that must be grouped and chosen as expected, and mistakes in axes.py that must be found out."""
import collections
import copy
import sys

sys.dont_write_bytecode = True

import axes  # noqa: E402
import check  # noqa: E402
import choice  # noqa: E402
import discover  # noqa: E402

LISTING = """Running main() from gtest_main.cc
Leaving.
  waits
On/Wait.
  ends/memory  # GetParam() = memory
  ends/redis  # GetParam() = redis
  ends/mysql  # GetParam() = mysql
  begins/memory  # GetParam() = memory
  begins/redis  # GetParam() = redis
  begins/mysql  # GetParam() = mysql
All/Values.
  are/of_no_store  # GetParam() = 7
"""

# What stands in axes.py for these tests.
DATA = {
    "CONNECTION": ["store"],
    "WITHOUT_STORES": ["unit"],
    "ABOVE": {"top": {"Wait": {"smoke": ["ends"], "wire": axes.ALL}}},
    "ASAN": {"top": ["memory"]},
    "TSAN": {"top": ["memory", ("Wait", ["redis"])], "unit": axes.ALL},
    "BUDGET": {choice.SMOKE: 2, choice.WIRE: 1},
}

# test -> (part, labels that axes adds) of a case
GROUPS = [
    ("top.Leaving", choice.WITHOUT, ["asan", "tsan"]),
    ("top.Wait/memory", choice.EMBEDDED, ["asan", "tsan"]),
    ("top.Wait/memory", choice.EMBEDDED, ["asan", "tsan"]),
    ("top.Wait/redis", choice.SMOKE, ["tsan"]),
    ("top.Wait/redis", choice.WIRE, ["tsan"]),
    ("top.Wait/mysql", choice.SMOKE, []),
    ("top.Wait/mysql.soak", choice.SOAK, []),
    ("top.Values", choice.WITHOUT, ["asan", "tsan"]),
]

# (how DATA is spoilt, words of the sentence that must be said)
MISTAKES = [
    (lambda data: data["CONNECTION"].append("gone"), "no program gone"),
    (lambda data: data["CONNECTION"].append("top"), "top must stand in one of"),
    (lambda data: data["WITHOUT_STORES"].clear(), "unit must stand in one of"),
    (lambda data: data["TSAN"].update(gone=axes.ALL), "no program gone"),
    (lambda data: data["TSAN"].update(top=["reddis"]), "no store reddis"),
    (lambda data: data["TSAN"].update(top=[("Wait", ["reddis"])]), "no store reddis"),
    (lambda data: data["ABOVE"]["top"].update(Gone={"wire": axes.ALL}), "top has no suite Gone"),
    (lambda data: data["ABOVE"]["top"]["Wait"].update(reddis=axes.ALL), "Wait is to run on 'reddis'"),
    (lambda data: data["ABOVE"]["top"]["Wait"].update(wire=["gone"]), "Wait has no case gone"),
    (lambda data: data["ABOVE"]["top"]["Wait"].update(wire=["gone_*"]), "Wait has no case gone_*"),
]


def use(data):
    for name, value in copy.deepcopy(data).items():
        setattr(axes, name, value)
    choice.SANITIZERS.update(asan=axes.ASAN, tsan=axes.TSAN)


def grouped(program, listing, isolated=()):
    return list(discover.group(program, discover.parse(listing), lambda suite: suite in isolated))


def groups():
    found = [(test, part, choice.sanitizers_of("top", case.suite, case.store) if part != choice.SOAK else [])
             for test, part, case in grouped("top", LISTING)]
    if found != GROUPS:
        yield f"grouped wrongly: {found}"
    if {part for _, part, case in grouped("store", LISTING) if case.store} != {choice.CONNECTION}:
        yield "a program of CONNECTION does not run on every store"
    alone = [test for test, _, _ in grouped("store", LISTING, ["Wait"])]
    if alone[1:3] != ["store.Wait.ends/memory", "store.Wait.ends/redis"] or alone[0] != "store.Leaving":
        yield f"isolated wrongly: {alone}"
    many = "Many.\n" + "".join(f"  case_{number}\n" for number in range(discover.MOST_CASES * 2 + 1))
    counts = collections.Counter(test for test, _, _ in grouped("unit", many))
    if counts != {"unit.Many.1": 17, "unit.Many.2": 17, "unit.Many.3": 17}:
        yield f"{discover.MOST_CASES * 2 + 1} cases were split wrongly: {counts}"


def wrong(listing=LISTING):
    cases = collections.defaultdict(list)
    for _, part, case in grouped("top", listing):
        cases["top", case.suite, case.name].append(part)
    return list(check.wrong_names(["store", "top", "unit"], [], cases))


def mistakes():
    if wrong():
        yield f"false alarm: {wrong()}"
    nowhere = wrong(LISTING + "On/Other.\n  case/mysql\n")
    if not any("Other.case runs on no store" in sentence for sentence in nowhere):
        yield f"a case that runs nowhere was not found: {nowhere}"
    for spoil, words in MISTAKES:
        data = copy.deepcopy(DATA)
        spoil(data)
        use(data)
        cases = {("top", "Wait", name): [choice.WIRE] for name in ("ends", "begins")}
        found = list(check.wrong_names(["store", "top", "unit"], [], cases))
        if not any(words in sentence for sentence in found):
            yield f"nobody said {words!r}, but {found}"
    use(DATA)


def budgets():
    counts = collections.Counter(part for _, part, _ in grouped("top", LISTING))
    if list(check.over_budget(counts)):
        yield "false alarm: a budget that is just met"
    axes.BUDGET[choice.SMOKE] = 1
    if not any("'above, smoke' has 2 cases, and its budget is 1" in sentence for sentence in check.over_budget(counts)):
        yield "a budget that is exceeded was not found"


def main():
    use(DATA)
    failures = [*groups(), *mistakes(), *budgets()]
    print("\n".join(failures) if failures else f"{len(GROUPS)} cases were grouped right and {len(MISTAKES)} mistakes found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
