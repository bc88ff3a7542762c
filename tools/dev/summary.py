#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what ctest found, case by case: summary.py BUILD [--packages SECONDS] PRESET:RESULT[:BUILDING:TESTING[:chosen]]...

RESULT is ctest's exit code, or `unbuilt`; BUILDING and TESTING are seconds; `chosen`: only some of its tests ran. Reads
BUILD/PRESET/Testing/junit.xml and the reports in results/ beside it. Tells where the time went, and what failed. The last line
is `N passed, N failed`, with `, N skipped` if any were. Exits 1 on any failure; where CI=true a skipped test is one, but for
OPTIONAL. One more test is counted in the preset that runs them all, unless only chosen ones ran: did every test that the ledger
BUILD/../docs/parity.md names run and pass?
"""
import argparse
import collections
import os
import sys
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "parity"))

import ledger  # noqa: E402
import registered  # noqa: E402
import results  # noqa: E402

# Counted where every test runs; tests/parity has the others of its name.
LEDGER = "parity.every_test_of_the_ledger_ran"
RUNS_ALL = "release"
SHOWN = 20  # of the tests that did not, and of the slowest

# Says that a server is missing which nobody can promise: MySQL, that Debian has in unstable only.
OPTIONAL = "conformance.Stores.that_a_run_may_do_without_are_installed"


def failed(name):
    return results.Result(name, None, None, "failed", 0, "")


def refused(one):
    if one.outcome != "skipped" or one.name == OPTIONAL:
        return one
    return one._replace(outcome="failed", why="skipped, which CI=true does not allow")


class Run:
    """What became of a preset. `strict`: a skipped test has failed. `found`: a Result for each case. `seconds`: of each program."""

    def __init__(self, build, words, strict):
        self.preset, self.result, *rest = words.split(":")
        self.building, self.testing = (int(time) for time in rest[:2] or (0, 0))
        self.folder = os.path.join(build, self.preset)
        self.seconds, self.registered = {}, None
        if self.result == "unbuilt":
            self.found = [failed("build")]
            return
        try:
            self.registered = registered.Registered(self.folder)
            self.found, self.seconds = results.collect(self.folder, self.registered)
        except (OSError, xml.ParseError) as error:
            self.found = [failed(f"ctest (no report: {error})")]
        if not self.found:
            self.found = [failed("ctest (no tests found)")]
        if self.result != "0" and all(one.outcome != "failed" for one in self.found):
            self.found.append(failed(f"ctest (exit code {self.result})"))
        if self.preset == RUNS_ALL and "chosen" not in rest:
            self.found.append(self._ledger(build))
        if strict:
            self.found = [refused(one) for one in self.found]

    def _ledger(self, build):
        unproved = ledger.unproved(os.path.dirname(os.path.abspath(build)), self.folder, {one.name: one.outcome for one in self.found})
        if not unproved:
            return failed(LEDGER)._replace(outcome="passed")
        rest = [f"and {len(unproved) - SHOWN} more"] if len(unproved) > SHOWN else []
        return failed("\n    ".join([LEDGER] + unproved[:SHOWN] + rest))


def table(heading, rows):
    """Rows of words and numbers, below each other."""
    if not rows:
        return
    wide = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{heading}")
    for first, *others in rows:
        print(f"  {first:<{wide[0]}}" + "".join(f"  {word:>{width}}" for word, width in zip(others, wide[1:])))


def tell_times(runs, packages):
    rows = [("packages", f"{packages / 60:.1f}")] if packages else []
    for run in runs:
        rows += [(f"{run.preset}: build", f"{run.building / 60:.1f}"), (f"{run.preset}: test", f"{run.testing / 60:.1f}")]
    table("minutes", rows)
    first = runs[0]
    cases = collections.Counter(results.program_of(one.test) for one in first.found if one.test)
    table(f"programs of {first.preset}: cases, seconds",
          [(program, cases[program], f"{seconds:.0f}") for program, seconds in
           sorted(first.seconds.items(), key=lambda item: -item[1])])
    slowest = sorted(first.found, key=lambda one: -one.seconds)[:SHOWN]
    table(f"the slowest cases of {first.preset}: seconds", [(one.name, f"{one.seconds:.1f}") for one in slowest if one.seconds])
    parts = collections.Counter(one.part for one in first.found if one.part)
    if first.registered:
        left = sum(case.part == registered.SOAK for case in first.registered.cases)
        parts[registered.SOAK] = parts[registered.SOAK] or f"{left} not run"
    table(f"cases of {first.preset} by axis", sorted(parts.items()))


def tell_outcomes(run, total):
    names = {"passed": [], "failed": [], "skipped": []}
    for one in run.found:
        names[one.outcome].append(one.name + (f" ({one.why})" if one.why else ""))
        total[one.outcome] += 1
    print(f"preset {run.preset}: " + ", ".join(f"{len(found)} {outcome}" for outcome, found in names.items()))
    for outcome in ("failed", "skipped"):
        for name in names[outcome]:
            print(f"  {outcome}: {run.preset} {name}")


def write_failed(build, runs):
    """For `./dev test --failed`: PRESET TEST of each test that failed, or PRESET alone if something else of it did. Of a preset that
    did not run, the lines stay."""
    path = os.path.join(build, "failed")
    lines = set()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            lines = {line for line in file.read().splitlines() if line.split(" ")[0] not in [run.preset for run in runs]}
    for run in runs:
        bad = [one for one in run.found if one.outcome == "failed"]
        tests = {one.test for one in bad if one.test}
        lines |= {f"{run.preset} {test}" for test in tests} if tests or not bad else {run.preset}
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in sorted(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--packages", type=int, default=0)
    parser.add_argument("runs", nargs="+")
    args = parser.parse_args()

    runs = [Run(args.build, words, os.environ.get("CI") == "true") for words in args.runs]
    write_failed(args.build, runs)
    tell_times(runs, args.packages)
    print()
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for run in runs:
        tell_outcomes(run, total)
    sys.stdout.flush()
    if total["failed"]:
        print("dev: tests failed, as listed above; full logs are in build/PRESET/Testing", file=sys.stderr, flush=True)
    last = f"{total['passed']} passed, {total['failed']} failed"
    print(last + (f", {total['skipped']} skipped" if total["skipped"] else ""))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
