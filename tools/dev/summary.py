#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what ctest found: summary.py BUILD PRESET:RESULT...

RESULT is ctest's exit code, or `unbuilt`. Reads BUILD/PRESET/Testing/junit.xml, and alone.xml: those that failed and were
tried again with nothing beside them. The last line is `N passed, N failed`, with `, N skipped` if any were. Exits 1 on any
failure; where CI=true a skipped test is one, but for OPTIONAL. One more test is counted in the preset that runs them all: did
every test that the ledger BUILD/../docs/parity.md names run and pass?
"""
import os
import re
import sys
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))

import ledger  # noqa: E402

# Counted where every test runs; tests/parity has the others of its name.
LEDGER = "parity.every_test_of_the_ledger_ran"
RUNS_ALL = "release"
SHOWN = 20  # of the tests that did not

# Says that a server is missing which nobody can promise: MySQL, that Debian has in unstable only.
OPTIONAL = "conformance.Stores.that_a_run_may_do_without_are_installed"


# A sanitizer's word is no matter of time: passing alone does not take it back.
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


def cases(path):
    """(name, outcome) of every test: passed, failed, skipped, or reported: failed by a sanitizer's word."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "?", file.read())  # tests may print anything
    for case in xml.fromstring(text).iter("testcase"):
        skipped = case.find("skipped")
        if case.get("status") == "run":
            yield case.get("name"), "passed"
        elif case.get("status") == "disabled" or (skipped is not None and skipped.get("message", "").startswith("SKIP_")):
            yield case.get("name"), "skipped"
        elif any(word in (case.findtext("system-out") or "") for word in REPORTS):
            yield case.get("name"), "reported"
        else:  # failed, timed out, or never ran because its program or its fixture is missing
            yield case.get("name"), "failed"


def passed_alone(build, preset):
    """Names of tests that failed among others and passed when nothing ran beside them."""
    path = os.path.join(build, preset, "Testing", "alone.xml")
    try:
        return {name for name, outcome in cases(path) if outcome == "passed"}
    except (OSError, xml.ParseError):
        return set()


def outcomes(build, preset, result):
    if result == "unbuilt":
        return [("build", "failed")]
    try:
        found = list(cases(os.path.join(build, preset, "Testing", "junit.xml")))
    except (OSError, xml.ParseError) as error:
        return [(f"ctest (no report: {error})", "failed")]
    if not found:
        return [("ctest (no tests found)", "failed")]
    reported = {name for name, outcome in found if outcome == "reported"}
    found = [(name, "failed" if outcome == "reported" else outcome) for name, outcome in found]
    alone = passed_alone(build, preset) - reported
    if alone:
        left = [name for name, outcome in found if outcome == "failed" and name not in alone]
        found = [(name, "alone" if outcome == "failed" and name in alone else outcome) for name, outcome in found]
        if not left:
            return found
    if result != "0" and all(outcome != "failed" for _, outcome in found):
        found.append((f"ctest (exit code {result})", "failed"))
    return found


def ledger_ran(build, preset, found):
    unproved = ledger.unproved(os.path.dirname(os.path.abspath(build)), os.path.join(build, preset), dict(found))
    if not unproved:
        return LEDGER, "passed"
    rest = [f"and {len(unproved) - SHOWN} more"] if len(unproved) > SHOWN else []
    return "\n    ".join([LEDGER] + unproved[:SHOWN] + rest), "failed"


def main(build, results):
    strict = os.environ.get("CI") == "true"
    total = {"passed": 0, "failed": 0, "skipped": 0}
    print()
    for preset, result in (word.split(":") for word in results):
        names = {"passed": [], "failed": [], "skipped": [], "alone": []}
        found = outcomes(build, preset, result)
        if preset == RUNS_ALL and result != "unbuilt":
            found.append(ledger_ran(build, preset, found))
        for name, outcome in found:
            if strict and outcome == "skipped" and name != OPTIONAL:
                name, outcome = name + " (skipped, which CI=true does not allow)", "failed"
            names[outcome].append(name)
            total["passed" if outcome == "alone" else outcome] += 1
        alone = names.pop("alone")
        names["passed"] += alone
        print(f"preset {preset}: " + ", ".join(f"{len(found)} {outcome}" for outcome, found in names.items()))
        for name in alone:
            print(f"  passed only alone: {preset} {name}")
        for outcome in ("failed", "skipped"):
            for name in names[outcome]:
                print(f"  {outcome}: {preset} {name}")
    sys.stdout.flush()
    if total["failed"]:
        print("dev: tests failed, as listed above; full logs are in build/PRESET/Testing", file=sys.stderr, flush=True)
    last = f"{total['passed']} passed, {total['failed']} failed"
    print(last + (f", {total['skipped']} skipped" if total["skipped"] else ""))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
