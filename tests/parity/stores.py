#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/internals/parity-stores.md: on which stores the tests of the ledger run, if not on all that they are written for.

stores.py BUILD           compares the page with what is registered; exits 1 if it is old
stores.py BUILD --write   writes it anew
BUILD is the folder of a preset, with all of its tests built.
"""
import collections
import os
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "axes"))

import axes  # noqa: E402
import ledger  # noqa: E402
from registered import SOAK, Registered, short  # noqa: E402

PAGE = "docs/internals/parity-stores.md"
HEAD = """# Where the tests of the ledger run

The [ledger](../parity.md) names {named} tests. `./dev test` runs most of them on every store that
they are written for. The {fewer} on this page are written for more stores than `./dev test` runs
them on; `./dev soak stores` runs the others.

**Why that is enough.** These tests are about the client, the jobs and the command, which are the
same code whatever the store is. That code reaches a store through one interface, and the tests of
the connection prove that interface on every store. So each test runs on memory and SQLite, or on
SQLite alone if it needs other processes. If the wire can make a difference (notifications, faults,
doubt, keeping, claims), it runs on PostgreSQL and Redis as well. If the promise belongs to an
ancestor's layout, it runs on that layout. [Decision 23](adr/0023-fast-feedback.md) says how this
was checked.

`tests/parity/stores.py BUILD --write` writes this page, and
`parity.the_page_of_stores_is_current` checks it.
"""


def groups(text, registered):
    """The stores that a test runs on, if there are others -> the names of those tests; and how many the ledger names."""
    named = {name for row in ledger.Ledger(text).rows() for name in row.tests}
    runs, more = collections.defaultdict(set), set()
    for case in registered.cases:
        if (name := short(case.name)) in named:
            if case.part == SOAK:
                more.add(name)
            else:
                runs[name].add(case.name.rpartition("/")[2])
    found = collections.defaultdict(list)
    for name in sorted(more):
        found[tuple(store for store in axes.STORES if store in runs[name])].append(name)
    return found, len(named)


def page(text, registered):
    found, named = groups(text, registered)
    parts = [HEAD.format(named=named, fewer=sum(map(len, found.values())))]
    for stores, names in sorted(found.items(), key=lambda group: (-len(group[1]), group[0])):
        parts.append(f"\n## {', '.join(stores)}\n\n")
        parts.extend(f"- `{name}`\n" for name in names)
    return "".join(parts)


def main(build, *words):
    with open(os.path.join(ledger.ROOT, ledger.LEDGER), encoding="utf-8") as file:
        wanted = page(file.read(), Registered(build))
    path = os.path.join(ledger.ROOT, PAGE)
    if words == ("--write",):
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted)
        return 0
    with open(path, encoding="utf-8") as file:
        if file.read() == wanted:
            return 0
    print(f"{PAGE}: it is old; python3 tests/parity/stores.py {os.path.relpath(build, ledger.ROOT)} --write makes it anew")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
