#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ledgers that are wrong, each of which must be found out, and runs that leave something of one unproved."""
import os
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape, quoteattr

sys.dont_write_bytecode = True

import ledger  # noqa: E402
from registered import Registered  # noqa: E402

SUMMARY = os.path.join(ledger.ROOT, "tools", "dev", "summary.py")
RAN = "parity.every_test_of_the_ledger_ran"

# What CMake and tests/axes/discover.py write; stale_tests.cmake is of a program that is gone. On memory Each is for soaking only.
CASES = {"a.Plain": ["Plain.is_missing_nothing"], "a.Each/redis": ["On/Each.works/redis", "On/Each.goes_on/redis"],
         "a.Each/mysql": ["On/Each.works/mysql"], "a.Each/memory.soak": ["On/Each.works/memory"]}
INCLUDE = ('if(EXISTS "{build}/tests/NAME_tests.cmake")\n  include("{build}/tests/NAME_tests.cmake")\n'
           'else()\n  add_test(NAME_NOT_BUILT NAME_NOT_BUILT)\nendif()\n')
BUILD = {
    "CTestTestfile.cmake": '# text\nsubdirs("tests")\nsubdirs("gone")\n',
    "tests/CTestTestfile.cmake":
        'include("{build}/tests/test_a_include.cmake")\ninclude("{build}/tests/test_later_include.cmake")\n'
        'add_test([=[docs.docs/one.md]=] "python3" "docs.py")\nset_tests_properties([=[docs.docs/one.md]=] PROPERTIES  LABELS "slow")\n'
        'add_test(plain.test "cmake")\nadd_test([=[plain.off]=] "x")\nset_tests_properties([=[plain.off]=] PROPERTIES  DISABLED "TRUE")\n',
    "tests/test_a_include.cmake": INCLUDE.replace("NAME", "test_a"),
    "tests/test_later_include.cmake": INCLUDE.replace("NAME", "test_later"),
    "tests/test_a_tests.cmake": "".join(f"add_test([==[{test}]==] [==[bin/test_a]==])\n" for test in CASES),
    "tests/test_a_cases.txt": "".join(f"{test}\t{'soak only' if 'soak' in test else 'connection'}\t{case}\n"
                                      for test, cases in CASES.items() for case in cases),
    "tests/stale_tests.cmake": "add_test([==[stale.Stale]==] bin/stale)\n",
    "tests/stale_cases.txt": "stale.Stale\tconnection\tStale.test\n",
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
    ("`Each.works`", "`test_later_NOT_BUILT`", "not built, so who knows: later", 0),
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

# What ctest ran -> what became of it.
PASSED = {"docs.docs/one.md": "run", "plain.test": "run", "a.Plain": "run", "a.Each/redis": "run", "a.Each/mysql": "run"}
ONE = CLEAN.split("\n\n## ")[0] + "\n## x\n\n| there | here | proved by |\n| --- | --- | --- |\n| a | b | `Each.works` `docs/one.md` |\n"
WORKS, GOES_ON = CASES["a.Each/redis"]
BEGUN = "[ RUN      ] {}\n"
OK = BEGUN + "[       OK ] {} (1 ms)\n"

# (preset, how it ended, what ctest reports, what became of cases that did not pass, or what a process without a report printed,
# the sentences expected). Seven cases run, and the ledger is one more.
RUNS = [
    ("release", "0", PASSED, {}, ["7 passed, 0 failed", "1 not run"]),
    ("release", "8", {**PASSED, "plain.other": "fail"}, {}, ["7 passed, 1 failed", "failed: release plain.other\n"]),
    ("release", "0", {**PASSED, "a.Each/redis": None}, {},
     ["4 passed, 1 failed", RAN + "\n", ":{row}: a.On/Each.works/redis did not run"]),
    ("release", "0", PASSED, {WORKS: "skipped"}, ["5 passed, 1 failed, 1 skipped", "a.On/Each.works/redis was skipped"]),
    ("release", "0", {**PASSED, "docs.docs/one.md": "skipped"}, {}, ["5 passed, 1 failed, 1 skipped", "docs.docs/one.md was skipped"]),
    ("release", "0", {**PASSED, "docs.docs/one.md": "disabled"}, {}, ["5 passed, 1 failed, 1 skipped", "docs.docs/one.md was skipped"]),
    ("release", "8", {**PASSED, "a.Each/redis": "fail"}, {WORKS: "failed"}, ["5 passed, 2 failed", "a.On/Each.works/redis failed"]),
    ("release", "8", {**PASSED, "a.Each/redis": "fail"}, {GOES_ON: "failed"}, ["6 passed, 1 failed", "a.On/Each.goes_on/redis\n"]),
    ("release", "8", {**PASSED, "a.Each/redis": "fail"}, {"a.Each/redis": OK.replace("{}", WORKS) + BEGUN.replace("{}", GOES_ON)},
     ["6 passed, 1 failed", "a.On/Each.goes_on/redis (crashed)"]),
    ("release", "8", {**PASSED, "a.Each/redis": "fail"}, {"a.Each/redis": "no line's end" + BEGUN.replace("{}", WORKS)},
     ["4 passed, 3 failed", "a.On/Each.works/redis (crashed)", "a.On/Each.goes_on/redis (did not run)"]),
    ("release", "8", {**PASSED, "a.Each/mysql": "timeout"}, {"a.Each/mysql": BEGUN.replace("{}", "On/Each.works/mysql")},
     ["5 passed, 2 failed", "a.On/Each.works/mysql (timed out)"]),
    ("release", "8", {**PASSED, "plain.test": "timeout"}, {}, ["6 passed, 1 failed", "plain.test (timed out)"]),
    ("release", "8", {**PASSED, "a.Each/redis": "notrun"}, {"a.Each/redis": ""}, ["4 passed, 3 failed", "works/redis (did not run)"]),
    ("release", "8", {**PASSED, "a.Each/redis": "fail"}, {}, ["7 passed, 1 failed", "a.Each/redis (every case passed, but the process failed"]),
    ("release", "0", {**PASSED, "docs.docs/one.md": None}, {}, ["5 passed, 1 failed", "docs.docs/one.md did not run"]),
    ("release", "0", {}, {}, ["0 passed, 2 failed", "did not run"]),
    ("release", "unbuilt", {}, {}, ["0 passed, 1 failed", "-" + RAN]),
    ("dev", "0", {"plain.test": "run"}, {}, ["1 passed, 0 failed", "-" + RAN]),
    ("asan", "0", {"plain.test": "run"}, {}, ["1 passed, 0 failed", "-" + RAN]),
]

# (the preset's words, what ctest reports or None if it left no report, what became of cases, CI, what build/failed holds before and
# after). The last run of another preset is none of this run's business.
NO_REDIS = {**PASSED, "a.Each/redis": None}
OPTIONAL = {"conformance.Stores.that_a_run_may_do_without_are_installed": "skipped"}
FAILED = [
    ("release:0", PASSED, {}, "", None, ""),
    ("release:0", PASSED, {}, "", "asan a.Plain\nrelease plain.test\n", "asan a.Plain\n"),
    ("release:8", {**PASSED, "plain.other": "fail"}, {}, "", "asan\n", "asan\nrelease plain.other\n"),
    ("release:8", {**PASSED, "a.Each/redis": "fail", "plain.other": "fail"}, {WORKS: "failed", GOES_ON: "failed"}, "", None,
     "release a.Each/redis\nrelease plain.other\n"),
    ("release:8", {**PASSED, "a.Each/redis": "fail"}, {}, "", None, "release a.Each/redis\n"),
    ("dev:0", PASSED, {WORKS: "skipped"}, "", None, ""),
    ("dev:0", PASSED, {WORKS: "skipped"}, "true", None, "dev a.Each/redis\n"),
    ("dev:0", {**PASSED, "docs.docs/one.md": "skipped"}, {}, "true", None, "dev docs.docs/one.md\n"),
    ("dev:0", {**PASSED, **OPTIONAL}, {}, "true", None, ""),
    ("release:0", None, {}, "", None, "release\n"),
    ("asan:0", None, {}, "", None, "asan\n"),
    ("asan:0", {}, {}, "", None, "asan\n"),
    ("release:8", PASSED, {}, "", "release plain.test\n", "release\n"),
    ("release:0", NO_REDIS, {}, "", None, "release\n"),
    ("release:0:1:2", NO_REDIS, {}, "", None, "release\n"),
    ("release:0:1:2:chosen", NO_REDIS, {}, "", "release a.Plain\n", ""),
    ("release:unbuilt", {}, {}, "", None, "release\n"),
]


def write(folder, path, text):
    full = os.path.join(folder, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


def make_build(folder):
    for path, text in BUILD.items():
        write(folder, path, text.replace("{build}", folder))


def write_results(folder, tests, told):
    """What ctest and the GoogleTests leave behind."""
    lines, log = [], []
    for test, status in tests.items():
        if not status:
            continue
        if status == "timeout":
            log.append(f"1/2 Test #1: {test} ...***Timeout 1.0 sec\n")
        known = {"skipped": "notrun", "timeout": "fail"}.get(status, status)
        inner = '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>' if status == "skipped" else ""
        lines.append(f'<testcase name={quoteattr(test)} time="1" status="{known}">{inner}'
                     f"<system-out>{escape(told.get(test, ''))}</system-out></testcase>")
        if test in CASES and test not in told:
            write(folder, f"Testing/results/{test.replace('/', '-')}.xml", report(CASES[test], told))
    write(folder, "Testing/junit.xml", "<testsuite>" + "\n".join(lines) + "</testsuite>")
    write(folder, "Testing/ctest.log", "".join(log))


def report(cases, told):
    lines = []
    for suite, case in (name.split(".") for name in cases):
        outcome = told.get(f"{suite}.{case}")
        result = "skipped" if outcome == "skipped" else "completed"
        lines.append(f'<testcase name="{case}" classname="{suite}" status="run" result="{result}" time="0.1">' +
                     ("<failure/>" if outcome == "failed" else "") + "</testcase>")
    return "<testsuites><testsuite>" + "".join(lines) + "</testsuite></testsuites>"


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


def summary(root, words, ci=""):
    done = subprocess.run([sys.executable, SUMMARY, os.path.join(root, "build"), words], capture_output=True, text=True,
                          env={**os.environ, "CI": ci})
    return done.returncode, done.stdout + done.stderr


def runs(text, those):
    """What is not found out of those runs, of the ledger `text`."""
    row = text.count("\n")
    for preset, result, tests, told, expected in those:
        with tempfile.TemporaryDirectory() as root:
            if text:
                write(root, ledger.LEDGER, text)
            make_build(os.path.join(root, "build", preset))
            write_results(os.path.join(root, "build", preset), tests, told)
            code, said = summary(root, f"{preset}:{result}")
        for words in expected:
            unwanted = words.startswith("-")
            if (words.lstrip("-").replace("{row}", str(row)) in said) == unwanted:
                yield f"{preset}:{result} {tests} {told}: {'said' if unwanted else 'nobody said'} {words!r}: {said}"
        if code != (", 0 failed" not in said):
            yield f"{preset}:{result} {tests} {told}: exit code {code}: {said}"


def failed():
    """Where build/failed does not hold what FAILED says, or the exit code says otherwise."""
    for words, tests, told, ci, before, after in FAILED:
        preset = words.split(":")[0]
        with tempfile.TemporaryDirectory() as root:
            write(root, ledger.LEDGER, ONE)
            make_build(os.path.join(root, "build", preset))
            if tests is not None:
                write_results(os.path.join(root, "build", preset), tests, told)
            if before is not None:
                write(root, "build/failed", before)
            code, said = summary(root, words, ci)
            with open(os.path.join(root, "build", "failed"), encoding="utf-8") as file:
                found = file.read()
        if found != after or code != any(line.split(" ")[0] == preset for line in after.splitlines()):
            yield f"{words} {tests} {told} CI={ci}: exit code {code}, and build/failed holds {found!r}, not {after!r}: {said}"


def main():
    with tempfile.TemporaryDirectory() as build:
        make_build(build)
        registered = Registered(build)
        failures = list(ledgers(registered)) + list(least(registered))
    failures += [*runs(ONE, RUNS), *failed()]
    for text, words in (("# Parity\n", "there are no rows"), ("", "No such file"), (ONE.replace("Each.works", "X.y"), "no test X.y")):
        failures += runs(text, [("release", "0", PASSED, {}, ["6 passed, 1 failed", words])])
    print("\n".join(failures) if failures else f"{len(PLANTS)} wrong ledgers and {len(RUNS) + len(FAILED)} runs were judged right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
