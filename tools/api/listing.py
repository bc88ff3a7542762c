#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public API as a file: every public declaration of include/holdfast/*.h on a line of its own.

listing.py            prints it
listing.py --write    writes docs/reference/api.txt
listing.py --check    exits 1, with the difference, if that file is not what --write would write

Knows our headers, not C++: no macros in declarations but HOLDFAST_API, no declarator after a class body.
"""
import argparse
import difflib
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = "docs/reference/api.txt"
ADVICE = f"{FILE} does not show the API that the headers declare. Check that the change is intended, then run ./dev api"
TITLE = """The public API, made from include/holdfast/ by ./dev api. A difference here is a change of what users compile against.
What it all means stands in the headers. What is under holdfast::detail is not listed and may change with every release.
"""
# In the order in which one gets to know them.
STORES = "Stores without a URL"
TABLE_OF_STORES = os.path.join("src", "client", "stores.cpp")
PARTS = {
    "Leases": ["holdfast", "client", "lease", "options", "observer", "result", "clock", "lock", "fence", "check"],
    "Jobs": ["jobs", "job", "job_args", "job_type", "job_worker"],
    "For people: who holds what": ["admin", "rows", "job_rows"],
    STORES: [],  # those of that table, in its order
    "For those who write a store": ["spi/store", "spi/job_engine", "spi/descriptor"],
    "The rest": ["version", "export"],
}

COMMENT_OR_LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|(?P<literal>"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\')',
                                re.DOTALL)
TEMPLATE = r"(?P<template>template <.*> )?"
TYPE = re.compile(TEMPLATE + r"(?:class|struct|union) (?:\[\[\w+\]\] )?(?P<name>\w+)(?: final)?(?: : (?P<bases>.*))?")
ACCESS = re.compile(r"\s*(public|protected|private)\s*:(?!:)")
CLOSES = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Scope:
    """A namespace or class: what is declared inside it is called PREFIX + name."""
    prefix: str = ""
    template: bool = False
    kind: str = "namespace"
    name: str = ""


@dataclass
class Listing:
    lines: list = field(default_factory=list)
    functions: Counter = field(default_factory=Counter)  # qualified name -> how many of that name the library must define
    classes: dict = field(default_factory=dict)  # qualified name -> its bases, or ["virtual"] if it says so itself

    def polymorphic(self):
        """The classes that have a vtable: they say virtual, or inherit from one that does, or from an exception of std."""
        found = {name for name, bases in self.classes.items() if any(re.match("virtual|std::", base) for base in bases)}
        while True:
            known = {name.rpartition("::")[2] for name in found}
            more = {name for name, bases in self.classes.items() if known & {base.rpartition("::")[2] for base in bases}}
            if more <= found:
                return found
            found |= more


def tidied(text):
    """On one line, as one would write it there."""
    text = re.sub(r"\s+", " ", text.replace("HOLDFAST_API", " ")).strip()
    return re.sub(r" (?=[,;)\]])|(?<=[(\[]) ", "", text)


def bare(text):
    """Without what stands in angle brackets, and with operators spelt as names."""
    text = re.sub(r"operator\s*(?:\(\)|\[\]|[^\s\w(]+)", "operator_", text)
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return text


def closing(code, start):
    """The index behind the bracket that closes the one at `start`."""
    expected = []
    for at in range(start, len(code)):
        if code[at] in CLOSES:
            expected.append(CLOSES[code[at]])
        elif expected and code[at] == expected[-1]:
            expected.pop()
            if not expected:
                return at + 1
    raise ValueError(f"nothing closes {code[start:start + 40]!r}")


def is_function(head):
    words = bare(head).split("{")[0]
    return "(" in words and not re.search(r"=[^(]*$", words.split("(")[0])


def parameters_end(head):
    """The index behind the parameter list of a function's head."""
    masked = re.sub(r"operator\s*\(\)", lambda m: "_" * len(m[0]), head)
    depth = 0
    for at, char in enumerate(masked):
        depth += (char == "<") - (char == ">" and masked[at - 1] != "-")
        if char == "(" and depth <= 0:
            return closing(masked, at)
    return len(head)


def initialisers(head):
    """The index of the colon before a constructor's initialisers, or -1."""
    end = parameters_end(head)
    colon = re.search(r"(?<!:):(?!:)", head[end:])
    return end + colon.start() if colon else -1


class Parser:
    def __init__(self, text, listing):
        self.listing = listing
        self.text = COMMENT_OR_LITERAL.sub(lambda m: m["literal"] or " ", text)
        for macro in re.finditer(r"^#define (.*)$", self.text, re.MULTILINE):
            listing.lines.append("#define " + " ".join(macro[1].split()))
        self.text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", self.text, flags=re.MULTILINE)
        # The same text with literals made harmless, to look for brackets in.
        self.code = COMMENT_OR_LITERAL.sub(lambda m: "_" * len(m[0]), self.text)

    def scope(self, at, end, scope, depth):
        """Lists what is declared between `at` and `end`."""
        public = scope.kind != "class"
        while at < end:
            access = ACCESS.match(self.code, at, end)
            if access:
                public = access[1] != "private"
                at = access.end()
                continue
            at = self.declaration(at, end, scope, depth if public else None)

    def declaration(self, start, end, scope, depth):
        """Lists one declaration (`depth` None: skips it) and returns where the next begins."""
        at = start
        while at < end and self.code[at] != ";":
            if self.code[at] in "([":
                at = closing(self.code, at)
            elif self.code[at] == "{":
                head, after = self.code[start:at], closing(self.code, at)
                if self.block(start, at, after - 1, scope, depth):
                    return after + len(re.match(r"\s*;?", self.code[after:end])[0])
                if is_function(tidied(head)) and not (initialisers(head) >= 0 and re.search(r"[\w>]\s*$", head)):
                    colon = initialisers(head)
                    self.emit(self.text[start:at if colon < 0 else start + colon], scope, depth, body=True)
                    return after
                at = after
            else:
                at += 1
        self.emit(self.text[start:at], scope, depth, body=False)
        return at + 1

    def block(self, start, at, end, scope, depth):
        """A namespace, class or enum with the head [start, at) and the inside (at, end); or None."""
        head = tidied(self.text[start:at])
        if head.startswith("namespace"):
            name = head[len("namespace "):]
            listed = len(self.listing.lines)
            if depth is not None:
                self.listing.lines.append(head)
            self.scope(at + 1, end, Scope(prefix=f"{scope.prefix}{name}::"), depth)
            if "detail" in name.split("::"):  # the library has it, but nobody is to call it
                del self.listing.lines[listed:]
            return True
        if head.startswith("enum "):
            values = tidied(self.text[at + 1:end]).rstrip(",")
            self.emit(f"{head} {{ {values} }}" if values else head + " {}", scope, depth, body=True)
            return True
        found = TYPE.fullmatch(head)
        if not found:
            return None
        kind = re.search(r"\b(class|struct|union) (?:\[\[\w+\]\] )?" + found["name"], head)[1]
        inside = Scope(f"{scope.prefix}{found['name']}::", scope.template or bool(found["template"]), kind, found["name"])
        if depth is not None:
            self.emit(head, scope, depth, body=True)
            if not inside.template:
                virtual = re.search(r"\bvirtual\b", self.code[at:end])
                self.listing.classes[inside.prefix[:-2]] = ["virtual"] if virtual else re.findall(r"[\w:]+", found["bases"] or "")
        self.scope(at + 1, end, inside, None if depth is None else depth + 1)
        return True

    def emit(self, text, scope, depth, body):
        text = tidied(text)
        if depth is None or not text or text.startswith(("friend ", "static_assert")):
            return
        called = re.search(r"([\w~:]+)\s*\(", bare(text)) if is_function(text) else None
        if called and "::" in called[1] and scope.kind == "namespace":
            return  # the definition of what was declared before
        if not body and re.fullmatch(r"(class|struct) \w+", text):
            return  # the definition stands elsewhere, or is nobody's business
        self.listing.lines.append("  " * depth + text)
        elsewhere = not body and not re.search(r"= (0|default|delete)$", text)
        if called and elsewhere and not scope.template and not text.startswith(("template", "using", "typedef")):
            name = re.search(r"(operator\s*(?:\(\)|\[\]|[^\s\w(]+))", text)
            self.listing.functions[scope.prefix + (name[1] if name else called[1])] += 1


def headers(root):
    """All that users may include; what lies in detail/ is for our own headers."""
    found = []
    for folder in ("holdfast", os.path.join("holdfast", "spi")):
        names = os.listdir(os.path.join(root, "include", folder))
        found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".h")]
    return found


def add(listing, text):
    parser = Parser(text, listing)
    parser.scope(0, len(parser.text), Scope(), 0)


def parts(root):
    with open(os.path.join(root, TABLE_OF_STORES), encoding="utf-8") as file:
        stores = re.findall(r"\b(\w+)::store_descriptor,", file.read())
    return {part: stores if part == STORES else names for part, names in PARTS.items()}


def listing_of(root):
    in_order = parts(root)
    placed = [name for part in in_order.values() for name in part]
    if sorted(placed) != sorted(header.removeprefix("holdfast/")[:-2] for header in headers(root)):
        raise SystemExit(f"PARTS of {__file__} and {TABLE_OF_STORES} do not name each header of include/holdfast once")
    listing = Listing(lines=[TITLE])
    for part, names in in_order.items():
        listing.lines.append(f"\n==== {part} ====\n")
        for name in names:
            before = len(listing.lines)
            with open(os.path.join(root, "include", "holdfast", name + ".h"), encoding="utf-8") as file:
                add(listing, file.read())
            if listing.lines[before:] not in ([], ["namespace holdfast"]):
                listing.lines.insert(before, f"\nholdfast/{name}.h\n")
            else:
                del listing.lines[before:]
    return listing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(listing_of(ROOT).lines)) + "\n"
    path = os.path.join(ROOT, FILE)
    if args.write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif args.check:
        have = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                have = file.read()
        if have != text:
            sys.stdout.writelines(difflib.unified_diff(have.splitlines(True), text.splitlines(True), FILE, "the headers"))
            print(ADVICE)
            return 1
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
