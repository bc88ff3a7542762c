#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/parity.md names a test for every promise of the ancestors. Are they there?

ledger.py BUILD   prints docs/parity.md:LINE: what is wrong; exits 1 if anything is
BUILD is the folder of a preset, with all of its tests built. Whether they ran is asked by tools/dev/summary.py.
"""
import collections
import difflib
import os
import re
import sys

sys.dont_write_bytecode = True

from registered import Registered  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEDGER = "docs/parity.md"

# section -> how many rows it has at least: a table that somebody lost would be content with what is left.
SECTIONS = {
    "locker": 52,
    "mongo-lock": 77,
    "redis_exp_lock": 39,
    "Darwin's Locker": 40,
    "ShedLock": 24,
    "active_job_lock": 80,
    "The command": 33,
    "The eighteen defects": 18,
    "Traps of lock libraries": 16,
}
COLUMNS = ["there", "here", "proved by"]
UNDONE = re.compile(r"\b(not yet|to" r"do|missing)\b", re.IGNORECASE)
SAID = {"skipped": "was skipped", "failed": "failed"}
DIFFERS = re.compile(r"^\W*differs\b|\*\*differs", re.IGNORECASE)
DIFFERS_WELL = re.compile(r"\*\*differs:\*\* \S")

Row = collections.namedtuple("Row", "line there here tests")


class Ledger:
    """`sections`: heading -> (its line, its rows). `wrong`: (line, what) of whatever cannot be read as a row."""

    def __init__(self, text):
        self.sections = {}
        self.wrong = []
        self._rows = None
        header, fence = None, False
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                fence = not fence
            if fence or not line.lstrip().startswith("|"):
                header = None
                if line.startswith("## ") and not fence:
                    self._section(number, line[3:].strip())
            elif header is None:
                header = number
                if cells(line) != COLUMNS:
                    self.wrong.append((number, f"a table has the columns {', '.join(COLUMNS)}, in this order"))
            elif number == header + 1:
                if not re.fullmatch(r"[\s|:-]+", line):
                    self.wrong.append((number, "below the columns stands a line | --- | --- | --- |"))
            else:
                self._row(number, cells(line))

    def _section(self, line, heading):
        if heading not in SECTIONS:
            self.wrong.append((line, f"'{heading}' is no section of the ledger: {', '.join(SECTIONS)}"))
        elif heading in self.sections:
            self.wrong.append((line, f"there is a section '{heading}' already"))
        self._rows = self.sections.setdefault(heading, (line, []))[1]

    def _row(self, line, row):
        if len(row) != len(COLUMNS):
            self.wrong.append((line, f"a row has {len(COLUMNS)} cells, not {len(row)} (a | inside of a cell is written \\|)"))
        elif self._rows is None:
            self.wrong.append((line, "a row stands below the heading of a section"))
        else:
            if re.sub(r"`[^`]*`|[\s,]", "", row[2]):
                self.wrong.append((line, "'proved by' has names of tests in `backticks` and nothing else"))
            self._rows.append(Row(line, row[0], row[1], re.findall(r"`([^`]*)`", row[2])))

    def rows(self):
        return [row for _, rows in self.sections.values() for row in rows]


def cells(line):
    inner = re.sub(r"^\s*\||(?<!\\)\|\s*$", "", line)
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]


def offences(text, registered):
    """(line, what is wrong) of everything that is wrong with a ledger, as far as can be said before its tests have run."""
    ledger = Ledger(text)
    yield from ledger.wrong
    for heading, least in SECTIONS.items():
        line, rows = ledger.sections.get(heading, (1, None))
        if rows is None:
            yield line, f"there is no section '## {heading}'"
        elif len(rows) < least:
            yield line, f"'{heading}' has {len(rows)} rows; {least} is the least"
        yield from repeated(rows or [])
    for row in ledger.rows():
        yield from ((row.line, what) for what in wrong_words(row))
        if not row.tests:
            yield row.line, "no test proves this"
        for name in row.tests:
            if what := wrong_name(name, registered):
                yield row.line, what


def repeated(rows):
    first = {}
    for row in rows:
        said = re.sub(r"[\s`*]+", " ", row.there).strip().lower()
        if first.setdefault(said, row.line) != row.line:
            yield row.line, f"line {first[said]} has the same promise"


def wrong_words(row):
    if not row.there or not row.here:
        yield "a promise, or what became of it, is empty"
    for match in UNDONE.finditer(f"{row.there} {row.here}"):
        yield f"'{match[0]}': build it, or say why it differs"
    if DIFFERS.search(row.here) and not DIFFERS_WELL.match(row.here):
        yield "a cell that differs begins with **differs:** and says why"


def wrong_name(name, registered):
    found = registered.of(name)
    if not found:
        near = difflib.get_close_matches(name, registered.instances, 1)
        hint = f"; is it {near[0]}?" if near else ""
        unbuilt = f"; not built, so who knows: {', '.join(registered.unbuilt)}" if registered.unbuilt else ""
        return f"there is no test {name}{hint}{unbuilt}"
    if disabled := [test for test in found if test in registered.disabled]:
        return f"{disabled[0]} is disabled"
    return None


def unproved(root, build, outcomes):
    """What a run leaves unproved, a line for each: FILE:LINE: a test that did not run, was skipped or failed. `outcomes`: a
    case's full name -> passed, skipped or failed. A test must have passed on each store that tests/axes chose for it."""
    try:
        with open(os.path.join(root, LEDGER), encoding="utf-8") as file:
            ledger = Ledger(file.read())
        registered = Registered(build)
    except OSError as error:
        return [f"{LEDGER}:1: cannot be compared with what ran: {error}"]
    lines = []
    for row in ledger.rows():
        for name in row.tests:
            if not registered.of(name):
                lines.append(f"{LEDGER}:{row.line}: there is no test {name}")
            for test in registered.of(name):
                if outcomes.get(test) != "passed":
                    lines.append(f"{LEDGER}:{row.line}: {test} {SAID.get(outcomes.get(test), 'did not run')}")
    return lines if ledger.rows() else [f"{LEDGER}:1: there are no rows"]


def main(build):
    try:
        with open(os.path.join(ROOT, LEDGER), encoding="utf-8") as file:
            wrong = sorted(offences(file.read(), Registered(build)))
    except OSError as error:
        wrong = [(1, f"cannot be compared with what was built: {error}")]
    for line, what in wrong:
        print(f"{LEDGER}:{line}: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
