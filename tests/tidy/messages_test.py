#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives small sources to tools/messages.py and checks which messages it finds in them."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import messages  # noqa: E402

# (what it shows, a source, the messages)
CASES = [
    ("neighbours are one text, and a value is a gap", 'say("the key " + key +\n    " is " "held");', ["the key … is held"]),
    ("a call is a value, however many arguments it has", 'refuse("give at " + one(a, "b", 2) + " most");', ["give at … most"]),
    ("an argument of a call is a text of its own", 'return fail(code, "it has failed");', ["it has failed"]),
    ("a string of a literal is the literal", 'x = std::string("not " + why) + " found";', ["not … found"]),
    ("one of two, and one or nothing", 'say("it " + (a ? "was" : "is") + " held" + (b ? "" : " by " + c));', ["it ⟨was ¦ is⟩ held⟨ by …⟩"]),
    ("a choice of whole texts is two", 'return a && b == "no way" ? "is free" : "is held";', ["is free", "is held"]),
    ("raw, with quotes and a line's end", 'auto a = R"(say "no"\nor yes)"; auto b = "say \\"no\\"";', ['say "no"\nor yes', 'say "no"']),
    ("what is no text for people", '#include "no way"\n// "no way"\nauto a = "no_way" "/no/way" + \'"\';', []),
    ("SQL and JSON are none, but a sentence may have SQL in it",
     'f("SELECT key FROM locks", "AND id = 1", "{\\"key\\": \\"of a text\\"}", "it lacks a column; ALTER it: ADD COLUMN x");',
     ["it lacks a column; ALTER it: ADD COLUMN x"]),
]


def main():
    failures = 0
    for what, source, expected in CASES:
        if (found := messages.messages_of(source)) != expected:
            print(f"{what}:\n  expected {expected}\n  found    {found}")
            failures += 1
    if messages.cell("a|b\n  `c`") != "a\\|b<br>\\`c\\`":
        print(f"a cell of the table: found {messages.cell('a|b')}")
        failures += 1
    print(f"{failures} of {len(CASES) + 1} failed" if failures else f"{len(CASES) + 1} as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
