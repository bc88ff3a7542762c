# SPDX-License-Identifier: Apache-2.0
"""What became of each case of a run: ctest's own report, and the reports of the GoogleTests that it started."""
import collections
import os
import re
import xml.etree.ElementTree as xml

# A line of a GoogleTest's output: [       OK ] On/Wait.a_case/redis (12 ms)
LINE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,]+\.[^\s,]+)")
# And one of ctest's: 12/99 Test #7: client.Wait/redis ....***Timeout 120.03 sec
TIMEOUT = re.compile(r"Test +#\d+: (.+?) \.*\*\*\*Timeout")
ENDED = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}

# name: client.On/Wait.a_case/redis. test: ctest's, client.Wait/redis. part: of the axes. outcome: passed, failed or skipped.
# why: words for one that failed.
Result = collections.namedtuple("Result", "name test part outcome seconds why")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "?", file.read())  # tests may print anything
    return xml.fromstring(text)


def collect(folder, registered):
    """The results of all that ctest ran in the build folder of a preset, and the seconds that each program took."""
    groups = collections.defaultdict(list)
    for case in registered.cases:
        groups[case.test].append(case)
    late = timeouts(os.path.join(folder, "Testing", "ctest.log"))
    results, seconds = [], collections.Counter()
    for test in read(os.path.join(folder, "Testing", "junit.xml")).iter("testcase"):
        name = test.get("name")
        seconds[program_of(name)] += float(test.get("time") or 0)
        if name in groups:
            results += of_group(folder, test, groups[name], "timed out" if name in late else "crashed")
        else:
            results.append(Result(name, name, None, outcome_of(test), float(test.get("time") or 0),
                                  "timed out" if name in late else ""))
    return results, seconds


def timeouts(log):
    """The tests that took too long: ctest's report does not tell them from others that failed."""
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            return set(TIMEOUT.findall(file.read()))
    except FileNotFoundError:
        return set()


def program_of(name):
    return name.split(".")[0]


def outcome_of(test):
    skipped = test.find("skipped")
    if test.get("status") == "run":
        return "passed"
    if test.get("status") == "disabled" or (skipped is not None and skipped.get("message", "").startswith("SKIP_")):
        return "skipped"
    return "failed"  # or timed out, or never ran because its program or its fixture is missing


def of_group(folder, test, cases, end):
    name = test.get("name")
    found = from_report(os.path.join(folder, "Testing", "results", name.replace("/", "-") + ".xml"), name)
    if not found:
        found = from_output(test, end)
    results = []
    for case in cases:
        outcome, seconds, why = found.get(case.name, ("failed", 0, "did not run"))
        results.append(Result(case.name, name, case.part, outcome, seconds, why))
    # For example a leak, which the sanitizer reports at the end of the process.
    if outcome_of(test) == "failed" and all(result.outcome != "failed" for result in results):
        results.append(Result(name, name, None, "failed", 0, "every case passed, but the process failed; see its output"))
    return results


def from_report(path, test):
    """A case's name -> (outcome, seconds, why), as the process wrote at its end; nothing if it did not get there."""
    try:
        report = read(path)
    except (OSError, xml.ParseError):
        return {}
    found = {}
    for case in report.iter("testcase"):
        outcome = ("failed" if case.find("failure") is not None else
                   "skipped" if case.get("result") == "skipped" else
                   "passed" if case.get("status") == "run" else None)
        if outcome:
            found[f"{program_of(test)}.{case.get('classname')}.{case.get('name')}"] = (outcome, float(case.get("time") or 0), "")
    return found


def from_output(test, end):
    """The same of a process that crashed or was killed, from the lines that it printed until then.
    `end`: what to say of the case that it was at."""
    found, running = {}, None
    for word, case in LINE.findall(test.findtext("system-out") or ""):
        case = f"{program_of(test.get('name'))}.{case}"
        running = case if word == "RUN" else None
        if word != "RUN":
            found[case] = (ENDED[word], 0, "")
    if running:
        found[running] = ("failed", float(test.get("time") or 0), end)
    return found
