#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What axes.py says of a program, or of a case of it.

choice.py asan|tsan   prints the programs of which something runs under that sanitizer, for CMake
"""
import fnmatch
import sys

sys.dont_write_bytecode = True

import axes  # noqa: E402

WITHOUT, CONNECTION, EMBEDDED, WIRE, SMOKE, SOAK = PARTS = (
    "without stores", "connection", "above, embedded", "above, wire", "above, smoke", "soak only")
SANITIZERS = {"asan": axes.ASAN, "tsan": axes.TSAN}
# Where cases may be chosen for: the words of axes.ABOVE.
WHERE = {"every": axes.STORES, "smoke": axes.STORES, "databases": axes.DATABASES, "wire": axes.WIRE,
         **{store: [store] for store in axes.STORES}}


def part_of(program, suite, case, store):
    """Which of PARTS a case belongs to. `store` is None if it runs on none."""
    if store is None:
        return WITHOUT
    if program in axes.CONNECTION:
        return CONNECTION
    chosen = axes.ABOVE.get(program, {}).get(suite, {})
    where = [word for word, cases in chosen.items() if store in WHERE[word] and matches(case, cases)]
    if "every" in where:
        return CONNECTION
    if store in axes.EMBEDDED:
        return EMBEDDED
    if "smoke" in where:
        return SMOKE
    return WIRE if where else SOAK


def matches(case, patterns):
    return any(fnmatch.fnmatchcase(case, pattern) for pattern in listed(patterns))


def listed(patterns):
    return [patterns] if isinstance(patterns, str) else patterns


def fixtures_of(needs, store):
    """What of its program's needs a suite has on a store: embedded ones need no server. Without a store it may use any."""
    return [] if store in axes.EMBEDDED else needs


def labels_of(labels, needs, store):
    """Those of its program's labels that a suite has on a store: the developer's minute starts no server."""
    fast = not fixtures_of(needs, store) and (store is None or store in axes.EMBEDDED)
    return [label for label in labels if label != "fast" or fast]


def lock_of(program, store, index):
    """What the test number `index` of a program locks, so that not too many are at a slow server at once; or nothing."""
    for word, most in axes.AT_ONCE.items():
        if word in (store or program):
            return f"{word}_{index % most + 1}"
    return None


def sanitizers_of(program, suite, store):
    return [name for name, chosen in SANITIZERS.items()
            if sanitized(chosen.get(program), suite, store) and (name != "tsan" or suite not in axes.WITHOUT_TSAN)]


def sanitized(stores, suite, store):
    if stores is None:
        return False
    if stores == axes.ALL or store is None or store in stores:
        return True
    return any(pair[0] == suite and store in pair[1] for pair in stores if isinstance(pair, tuple))


if __name__ == "__main__":
    print(";".join(sorted(SANITIZERS[sys.argv[1]])))
