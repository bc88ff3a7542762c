#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ledgers that are wrong, each of which must be found out, and runs that leave something of one unproved."""
import os
import subprocess
import sys
import tempfile
from xml.sax.saxutils import quoteattr

sys.dont_write_bytecode = True

import ledger  # noqa: E402
from registered import Registered  # noqa: E402

SUMMARY = os.path.join(ledger.ROOT, "tools", "dev", "summary.py")
RAN = "parity.every_test_of_the_ledger_ran"

# What CMake and gtest_discover_tests() write, in all its ways; stale_tests.cmake is of a program that is gone.
BUILD = {
    "CTestTestfile.cmake": '# text\nsubdirs("tests")\n',
    "tests/CTestTestfile.cmake":
        'include("{build}/tests/test_a[1]_include.cmake")\ninclude("{build}/tests/test_later[1]_include.cmake")\n'
        'add_test([=[docs.docs/one.md]=] "python3" "docs.py")\nset_tests_properties([=[docs.docs/one.md]=] PROPERTIES  LABELS "slow")\n'
        'add_test(plain.test "cmake")\nadd_test([=[plain.off]=] "x")\nset_tests_properties([=[plain.off]=] PROPERTIES  DISABLED "TRUE")\n',
    "tests/test_a[1]_include.cmake":
        'if(EXISTS "{build}/tests/test_a[1]_tests.cmake")\n  include("{build}/tests/test_a[1]_tests.cmake")\n'
        'else()\n  add_test(test_a_NOT_BUILT test_a_NOT_BUILT)\nendif()\n',
    "tests/test_later[1]_include.cmake":
        'if(EXISTS "{build}/tests/test_later[1]_tests.cmake")\n  include("{build}/tests/test_later[1]_tests.cmake")\n'
        'else()\n  add_test(test_later_NOT_BUILT test_later_NOT_BUILT)\nendif()\n',
    "tests/test_a[1]_tests.cmake": "".join(
        f"add_test([=[{name}]=]  bin/test_a [==[--gtest_filter=x]==])\nset_tests_properties([=[{name}]=]  PROPERTIES TIMEOUT 1)\n"
        for name in ("a.Plain.is_missing_nothing", 'a.On/Each.works/redis  # GetParam() = "redis"',
                     'a.On/Each.works/mysql  # GetParam() = "mysql"', "a.Off.off")) +
        "set_tests_properties([=[a.Off.off]=]  PROPERTIES DISABLED TRUE)\n",
    "tests/stale[1]_tests.cmake": "add_test([=[stale.Stale.test]=]  bin/stale)\n",
}

# Without offence, and full of what a careless reader would take for one.
CLEAN = "# Parity\nNot yet a row: `|`.\n```text\n| a | table |\n```\n\n" + "".join(
    f"## {heading}\nWords.\n\n| there | here | proved by |\n| --- | :-- | --- |\n"
    "| one | `a \\| b` | `Plain.is_missing_nothing`, `Each.works` |\n| Two | **differs:** because | `docs/one.md` `plain.test` |\n\n"
    "### More\n| there | here | proved by |\n|---|---|---|\n| dismissing | as there | `plain.test` |\n\n"
    for heading in ledger.SECTIONS)
FIRST = list(ledger.SECTIONS)[0]
ledger.SECTIONS.update(dict.fromkeys(ledger.SECTIONS, 3))  # so few are enough here

# (what of the clean ledger, becomes what, a word of the sentence, the line where it stands or 0: that of the change).
PLANTS = [
    ("`docs/one.md` `plain.test`", "", "no test proves this", 0),
    ("`docs/one.md` `plain.test`", "plain.test", "no test proves this", 0),
    ("`docs/one.md` `plain.test`", "`plain.test` and more", "nothing else", 0),
    ("`docs/one.md`", "`docs/two.md`", "no test docs/two.md", 0),
    ("`Each.works`", "`Each.worked`", "is it Each.works?", 0),
    ("`Each.works`", "`On/Each.works`", "no test On/Each.works", 0),
    ("`Each.works`", "`a.On/Each.works/redis`", "no test a.On", 0),
    ("`Each.works`", "`Stale.test`", "no test Stale.test", 0),
    ("`Each.works`", "`test_later_NOT_BUILT`", "not built, so who knows: test_later", 0),
    ("`Each.works`", "`Off.off`", "a.Off.off is disabled", 0),
    ("`Each.works`", "`plain.off`", "plain.off is disabled", 0),
    ("| there | here | proved by |", "| there | here |", "the columns there, here, proved by", 0),
    ("| there | here | proved by |", "| here | there | proved by |", "the columns", 0),
    ("| --- | :-- | --- |\n", "", "below the columns", 11),
    ("`a \\| b`", "`a | b`", "3 cells, not 4", 0),
    ("| one |", "| |", "empty", 0),
    ("| as there |", "| |", "empty", 0),
    ("as there", "Not yet", "'Not yet': build it", 0),
    ("as there", "to" "do: all of it", "'to" "do'", 0),
    ("| dismissing |", "| missing |", "'missing'", 0),
    ("**differs:** because", "**differs:**", "says why", 0),
    ("**differs:** because", "it **differs:** because", "begins with", 0),
    ("**differs:** because", "differs, because", "begins with", 0),
    ("| Two |", "| `One` |", "the same promise", 0),
    ("| dismissing |", "| one |", "the same promise", 0),
    (f"## {FIRST}", "## Another", f"no section '## {FIRST}'", 1),
    (f"## {FIRST}", "## Another", "'Another' is no section", 0),
    (f"## {FIRST}\n", "", f"no section '## {FIRST}'", 1),
    (f"## {FIRST}\n", "", "below the heading of a section", 11),
    (f"## {FIRST}\n", f"## {FIRST}\n## {FIRST}\n", "already", 8),
    (f"## {FIRST}\n", f"## {FIRST}\n```text\n", "has 0 rows", 7),
]

PASSED = {"docs.docs/one.md": "run", "plain.test": "run", "a.Plain.is_missing_nothing": "run",
          'a.On/Each.works/redis  # GetParam() = "redis"': "run", 'a.On/Each.works/mysql  # GetParam() = "mysql"': "run"}
REDIS = 'a.On/Each.works/redis  # GetParam() = "redis"'
ONE = CLEAN.split("\n\n## ")[0] + "\n## x\n\n| there | here | proved by |\n| --- | --- | --- |\n| a | b | `Each.works` `docs/one.md` |\n"

# (preset, how it ended, what ctest reports, what it reports of those it tried alone, the sentences expected).
RUNS = [
    ("release", "0", PASSED, {}, ["6 passed, 0 failed"]),
    ("release", "8", {**PASSED, "plain.other": "fail"}, {}, ["6 passed, 1 failed"]),
    ("release", "0", {**PASSED, REDIS: None}, {}, ["4 passed, 1 failed", RAN + "\n", ":{row}: a.On/Each.works/redis did not run"]),
    ("release", "0", {**PASSED, REDIS: "skipped"}, {}, ["4 passed, 1 failed, 1 skipped", "a.On/Each.works/redis was skipped"]),
    ("release", "0", {**PASSED, REDIS: "disabled"}, {}, ["4 passed, 1 failed, 1 skipped", "a.On/Each.works/redis was skipped"]),
    ("release", "8", {**PASSED, REDIS: "fail"}, {}, ["4 passed, 2 failed", "a.On/Each.works/redis failed"]),
    ("release", "8", {**PASSED, REDIS: "fail"}, {REDIS: "run"}, ["6 passed, 0 failed", "passed only alone"]),
    ("release", "0", {**PASSED, "docs.docs/one.md": None}, {}, ["4 passed, 1 failed", "docs.docs/one.md did not run"]),
    ("release", "0", {}, {}, ["0 passed, 2 failed", "did not run"]),
    ("release", "unbuilt", {}, {}, ["0 passed, 1 failed", "-" + RAN]),
    ("dev", "0", {"plain.test": "run"}, {}, ["1 passed, 0 failed", "-" + RAN]),
    ("asan", "0", {"plain.test": "run"}, {}, ["1 passed, 0 failed", "-" + RAN]),
]


def write(folder, path, text):
    full = os.path.join(folder, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


def make_build(folder):
    for path, text in BUILD.items():
        write(folder, path, text.replace("{build}", folder))


def junit(cases):
    lines = [f'<testcase name={quoteattr(name)} status="{"notrun" if status == "skipped" else status}">' +
             ('<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>' if status == "skipped" else "") + "</testcase>"
             for name, status in cases.items() if status]
    return "<testsuite>" + "\n".join(lines) + "</testsuite>"


def ledgers(registered):
    """What is not found out of PLANTS."""
    for line, what in ledger.offences(CLEAN, registered):
        yield f"false alarm in the clean ledger: line {line}: {what}"
    for old, new, words, line in PLANTS:
        assert old in CLEAN, old
        line = line or CLEAN[:CLEAN.index(old)].count("\n") + 1
        found = list(ledger.offences(CLEAN.replace(old, new, 1), registered))
        if not any(at == line and words in what for at, what in found):
            yield f"{old!r} became {new!r}: nobody said {words!r} in line {line}, but {found}"


def least(registered):
    heading = next(iter(ledger.SECTIONS))
    enough, ledger.SECTIONS[heading] = ledger.SECTIONS[heading], 4
    found = [what for _, what in ledger.offences(CLEAN, registered)]
    ledger.SECTIONS[heading] = enough
    if found != [f"'{heading}' has 3 rows; 4 is the least"]:
        yield f"a section with fewer rows than the least: {found}"


def summary(root, preset, result):
    done = subprocess.run([sys.executable, SUMMARY, os.path.join(root, "build"), f"{preset}:{result}"], capture_output=True, text=True,
                          env={**os.environ, "CI": ""})
    return done.returncode, done.stdout + done.stderr


def runs(text, those):
    """What is not found out of those runs, of the ledger `text`."""
    row = text.count("\n")
    for preset, result, cases, alone, expected in those:
        with tempfile.TemporaryDirectory() as root:
            if text:
                write(root, ledger.LEDGER, text)
            make_build(os.path.join(root, "build", preset))
            write(root, f"build/{preset}/Testing/junit.xml", junit(cases))
            write(root, f"build/{preset}/Testing/alone.xml", junit(alone))
            code, said = summary(root, preset, result)
        for words in expected:
            unwanted = words.startswith("-")
            if (words.lstrip("-").replace("{row}", str(row)) in said) == unwanted:
                yield f"{preset}:{result} {cases}: {'said' if unwanted else 'nobody said'} {words!r}: {said}"
        if code != (", 0 failed" not in said):
            yield f"{preset}:{result} {cases}: exit code {code}: {said}"


def main():
    with tempfile.TemporaryDirectory() as build:
        make_build(build)
        registered = Registered(build)
        failures = list(ledgers(registered)) + list(least(registered))
    failures += runs(ONE, RUNS)
    for text, words in (("# Parity\n", "there are no rows"), ("", "No such file"), (ONE.replace("Each.works", "X.y"), "no test X.y")):
        failures += runs(text, [("release", "0", PASSED, {}, ["5 passed, 1 failed", words])])
    print("\n".join(failures) if failures else f"{len(PLANTS)} wrong ledgers and {len(RUNS)} runs were judged right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
