#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house, as a test that reads the repository.

tidy.py               runs all rules; prints every offence as FILE:LINE: RULE: what to do; exits 1 if there is one
tidy.py --rule NAME   runs that rule only
tidy.py --list        prints the names of the rules
tidy.py --self-test   plants offences in a tree of its own and checks that each is found
--build DIR           where generated headers are
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True

import rules  # noqa: E402
import self_test  # noqa: E402
from tree import Tree  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", choices=sorted(rules.RULES))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--build")
    args = parser.parse_args()
    if args.list:
        print("\n".join(rules.RULES))
        return 0
    if args.self_test:
        return self_test.run()

    tree = Tree(ROOT, args.build)
    offences = 0
    for name in [args.rule] if args.rule else rules.RULES:
        for path, line, advice in rules.RULES[name](tree):
            print(f"{path}:{line}: {name}: {advice}")
            offences += 1
    if offences:
        print(f"tidy: {offences} offence{'s' if offences > 1 else ''}")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
