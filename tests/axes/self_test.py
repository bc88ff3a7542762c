#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases that must be grouped and chosen as expected, mistakes in axes.py that must be found out, and what the words behind
`./dev test` mean."""
import collections
import copy
import os
import re
import subprocess
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

CHOOSE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev", "choose.py")

# What stands in axes.py for these tests.
DATA = {
    "STORES": axes.STORES,
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
    (lambda data: data["TSAN"].update(top=[("Gone", ["redis"])]), "top has no suite Gone"),
    (lambda data: data["STORES"].remove("mongo_lock"), "STORES lacks mongo_lock"),
    (lambda data: data["STORES"].append("reddis"), "STORES has reddis"),
    (lambda data: data["ABOVE"]["top"].update(Gone={"wire": axes.ALL}), "top has no suite Gone"),
    (lambda data: data["ABOVE"]["top"]["Wait"].update(reddis=axes.ALL), "Wait is to run on 'reddis'"),
    (lambda data: data["ABOVE"]["top"]["Wait"].update(wire=["gone"]), "Wait has no case gone"),
    (lambda data: data["ABOVE"]["top"]["Wait"].update(wire=["gone_*"]), "Wait has no case gone_*"),
]


# (the needs of a program with the labels fast and cli, store, the labels of a suite on it, its fixtures)
LABELS = [
    ([], None, ["fast", "cli"], []),
    ([], "sqlite", ["fast", "cli"], []),
    ([], "redis", ["cli"], []),
    (["servers"], None, ["cli"], ["servers"]),
    (["servers"], "memory", ["fast", "cli"], []),
    (["servers"], "redis", ["cli"], ["servers"]),
]

# (words behind `./dev test`, tests of which the last is not meant, targets or None)
CHOSEN = [
    (["client"], ["client.Wait", "client.Wait/redis", "client.Wait/redis.2", "client.Wait/redis.soak", "cli.Wait"], "test_client"),
    (["client", "--store", "redis"], ["client.Wait/redis", "client.Wait/redis.2.soak", "client.Wait/redis_lock"], "test_client"),
    (["client", "--store", "redis"], ["client.Wait"], "test_client"),
    (["client.Wait"], ["client.Wait", "client.Wait/redis.2", "client.Waiting/redis"], "test_client"),
    (["client.Wait", "--store=redis"], ["client.Wait/redis.soak", "client.Wait/sqlite"], "test_client"),
    (["--store", "redis"], ["client.Wait/redis", "jobs.Work/redis.2", "docs.docs/stores/redis.md"], "all"),
    (["docs.docs/stores/redis.md"], ["docs.docs/stores/redis.md", "docs.docs/stores/redisXmd"], "all"),
    (["jobs"], ["jobs.Work/redis", "jobs.a_list_with_an_identifier_does", "killed_jobs.Kill"], "test_jobs"),
    (["api"], ["api.the_listing_is_made_well", "axes.self_test"], "build.ninja"),
    (["*"], ["client.Wait/redis.soak", "api.the_listing_is_made_well", "Wait"], "all"),
    ([], ["client.Wait/redis.soak", "api.the_listing_is_made_well", "Wait"], "all"),
    (["[A-Z]*", "--store", "active_job_lock"], ["client.Wait/active_job_lock", "client.Wait/redis"], None),
]
UNCHOSEN = [(["gone"], "is called 'gone'"), (["--store", "reddis"], "unknown store 'reddis'"), (["--store="], "--store needs a value"),
            (["--store"], "--store: expected one argument"), (["--gone"], "--gone"), (["-h"], "-h"), (["--sto", "redis"], "--sto")]
MOST_GROUPS = 31  # in a regular expression of ctest


def use(data):
    for name, value in copy.deepcopy(data).items():
        setattr(axes, name, value)
    choice.SANITIZERS.update(asan=axes.ASAN, tsan=axes.TSAN)


def grouped(program, listing):
    return list(discover.group(program, discover.parse(listing)))


def groups():
    found = [(test, part, choice.sanitizers_of("top", case.suite, case.store) if part != choice.SOAK else [])
             for test, part, case in grouped("top", LISTING)]
    if found != GROUPS:
        yield f"grouped wrongly: {found}"
    if {part for _, part, case in grouped("store", LISTING) if case.store} != {choice.CONNECTION}:
        yield "a program of CONNECTION does not run on every store"
    many = "Many.\n" + "".join(f"  case_{number}\n" for number in range(discover.MOST_CASES * 2 + 1))
    counts = collections.Counter(test for test, _, _ in grouped("unit", many))
    if counts != {"unit.Many.1": 17, "unit.Many.2": 17, "unit.Many.3": 17}:
        yield f"{discover.MOST_CASES * 2 + 1} cases were split wrongly: {counts}"
    embedded = "On/Many.\n" + "".join(f"  case_{number}/memory\n" for number in range(discover.MOST_EMBEDDED + 1))
    counts = collections.Counter(test for test, _, _ in grouped("store", embedded))
    if counts != {"store.Many/memory.1": 5, "store.Many/memory.2": 4}:
        yield f"{discover.MOST_EMBEDDED + 1} cases without a server were split wrongly: {counts}"


def labels():
    for needs, store, *expected in LABELS:
        found = [choice.labels_of(["fast", "cli"], needs, store), choice.fixtures_of(needs, store)]
        if found != expected:
            yield f"a program that needs {needs} has on {store} {found}, not {expected}"


def choose(words):
    return subprocess.run([sys.executable, CHOOSE, *words], capture_output=True, text=True)


def chosen():
    for words, (*meant, other), targets in CHOSEN:
        said = choose(words)
        if said.returncode != 0:
            yield f"{words}: exit code {said.returncode}: {said.stderr}"
            continue
        regex, found = said.stdout.splitlines()
        if regex.count("(") > MOST_GROUPS:
            yield f"{words}: more groups than ctest allows: {regex.count('(')}"
        for test in meant:
            if not re.search(regex, test):
                yield f"{words} do not mean {test}: {regex}"
        if re.search(regex, other):
            yield f"{words} mean {other}: {regex}"
        if targets and found != targets:
            yield f"{words} need {targets}, and built is {found}"
    for words, expected in UNCHOSEN:
        said = choose(words)
        if said.returncode != 64 or not re.fullmatch(f"dev: .*{re.escape(expected)}.*\n", said.stderr) or said.stdout:
            yield f"{words}: nobody said {expected!r} with exit code 64, but {said}"


def wrong(listing=LISTING):
    cases = collections.defaultdict(list)
    for _, part, case in grouped("top", listing):
        cases["top", case.suite, case.name].append(part)
    return wrong_with(cases)


def wrong_with(cases):
    return [*check.wrong_names(["store", "top", "unit"], [], cases), *check.wrong_candidates(check.candidates())]


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
        found = wrong_with(cases)
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
    failures = [*groups(), *labels(), *mistakes(), *budgets(), *chosen()]
    print("\n".join(failures) if failures else f"{len(GROUPS)} cases were grouped right, {len(MISTAKES)} mistakes found and "
                                               f"{len(CHOSEN) + len(UNCHOSEN)} commands understood")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
