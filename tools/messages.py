#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The messages as a table: every text for people in the sources of the command and the library.

messages.py            prints it
messages.py --write    writes docs/internals/messages.md
messages.py --check    exits 1, with the difference, if that file is not what --write would write

Knows our sources, not C++: it looks for literals in expressions, and takes two words to be a text for people.
"""
import argparse
import difflib
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE = "docs/internals/messages.md"
ADVICE = f"{FILE} does not list the messages that the sources have. Read the difference, then run ./dev messages"
TITLE = """# Messages

This page lists every text that the command and the library can print, with the file that prints it.
`./dev messages` makes the page from the string literals in `src/` and `include/`, and a test fails
if the page is not current. Do not edit it: change the message in its file, then run
`./dev messages`.

An error says *what failed: why; what to do*. In the tables, … stands for a value that is filled in,
⟨a ¦ b⟩ for one of several texts, and ⟨a⟩ for a text that may be missing. Long messages are made of
several rows.
"""
# Scripts for shells, which print nothing themselves.
LEFT_OUT = re.compile(r"src/cli/words/completions\w*[.](cpp|h)")
GAP = "…"

TOKEN = re.compile(r'''(?P<skipped>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
  | R"(?P<end>[^\s()\\]*)\((?P<raw>.*?)\)(?P=end)" | "(?P<text>(?:\\.|[^"\\\n])*)" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
  | (?P<word>[\w:.]+|->) | (?P<space>\s+) | (?P<sign>==|!=|<=|>=|<<|>>|&&|\|\||\+=|.)''', re.DOTALL | re.MULTILINE | re.VERBOSE)
CLOSES = {"(": ")", "[": "]", "{": "}"}
# What ends a text: another one may follow.
ENDS = {";", ",", "=", "+=", "<<", "return", "{", "}"}
# What stands before these is compared, not printed.
COMPARES = {"==", "!=", "<=", ">=", ">>", "&&", "||", "<", ">"}
# Calls whose result is their argument.
SAME_TEXT = re.compile(r"std::string(_view)?")
# JSON, roff, the names of commands, SQL; and pieces of SQL, unless they stand in a sentence.
FOREIGN = re.compile(r'\s*[{\[]+"|[.]\\|[.]TH |jobs \w+$|\s*(SELECT|INSERT INTO|REPLACE INTO|UPDATE|DELETE FROM|WITH|interval)\b'
                     r"|.*([(]SELECT|[)]::|_config[(]|us[(]|timestamp)")
SQL = re.compile(r"\b(SELECT|INSERT|FROM|WHERE|AND|AS|BY|LIMIT|NULL|CASE|WHEN|SET|INTO|IN|INTERVAL|COMMIT|LOCKED)\b|\w_\w+[(]")
SENTENCE = re.compile(r"\b(a|an|and|are|by|for|has|have|is|it|its|no|not|of|or|that|the|this|to|was|with)\b")


class Text(str):
    """A literal, as it is printed."""


def tokens_of(source):
    found = []
    for match in TOKEN.finditer(source):
        if match["text"] is not None:
            found.append(Text(unescaped(match["text"])))
        elif match["raw"] is not None:
            found.append(Text(match["raw"]))
        elif match["word"] or match["sign"]:
            found.append(match[0])
    return found


def unescaped(text):
    known = {"n": "\n", "t": " ", '"': '"', "'": "'", "\\": "\\"}
    return re.sub(r"\\(x[0-9a-fA-F]+|[0-7]+|.)", lambda match: known.get(match[1], ""), text)


class Reader:
    """Reads tokens as expressions, and keeps each text that it finds in `messages`."""

    def __init__(self, tokens):
        self.tokens, self.at, self.messages = tokens, 0, []

    def group(self, closing, inside):
        """All until `closing`. Returns the text that a group in parentheses stands for; `inside`: it is part of a text."""
        text = ""
        branches = None  # of a ? b : c
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if isinstance(token, Text):
                text += token
            elif token == closing:
                break
            elif token in CLOSES:
                text = self.bracket(token, text)
            elif token == "?":
                branches, text = branches or [], ""
            elif token in COMPARES:
                text = ""
            elif token == ":" and branches is not None:
                branches.append(text)
                text = ""
            elif token in ENDS:
                self.keep(self.chosen(branches, text, False))
                text, branches = "", None
            elif token != "+" and not text.endswith(GAP):
                text += GAP
        return self.chosen(branches, text, inside)

    def bracket(self, token, text):
        before = self.tokens[self.at - 2] if self.at > 1 else ""
        called = not isinstance(before, Text) and re.fullmatch(r"[\w:.]+|[>\])]", before) and before != "return"
        if token == "(" and (not called or SAME_TEXT.fullmatch(before)):
            if called:
                text = text.removesuffix(GAP)
            return text + self.group(")", True)
        self.keep(self.group(CLOSES[token], False))
        return text if text.endswith(GAP) else text + GAP

    def chosen(self, branches, text, inside):
        if branches is None:
            return text
        if not inside:
            for branch in branches + [text]:
                self.keep(branch)
            return ""
        texts = [branch for branch in branches + [text] if branch]
        return GAP if set(texts) <= {GAP} else "⟨" + " ¦ ".join(texts) + "⟩"

    def keep(self, text):
        if is_for_people(text):
            self.messages.append(text)


def is_for_people(text):
    words = re.findall(r"(?<![\w./=-])[A-Z]?[a-z]{2,}(?![\w/=])", text)
    if " " not in text.strip() or len(words) < 2 or FOREIGN.match(text):
        return False
    return len(words) > 3 or bool(SENTENCE.search(text)) or not SQL.search(text)


def messages_of(source):
    reader = Reader(tokens_of(source))
    reader.keep(reader.group(None, False))
    return list(dict.fromkeys(reader.messages))


def cell(text):
    text = re.sub(r"([\\`*_|<\[])", r"\\\1", text)
    return re.sub(" *\n *", "<br>", text.strip())


def page(root):
    lines, folder = [TITLE.rstrip()], None
    paths = [path for pattern in ("include/**/*.h", "src/**/*.h", "src/**/*.cpp")
             for path in glob.glob(pattern, root_dir=root, recursive=True) if not LEFT_OUT.fullmatch(path)]
    for path in sorted(paths, key=os.path.split):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            messages = messages_of(file.read())
        if messages and os.path.dirname(path) != folder:
            folder = os.path.dirname(path)
            lines.append(f"\n## {folder}\n\n| message | file |\n| --- | --- |")
        lines += [f"| {cell(text)} | {os.path.basename(path)} |" for text in messages]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text, path = page(ROOT), os.path.join(ROOT, FILE)
    if args.write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    if not args.check:
        print(text, end="")
        return 0
    have = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            have = file.read()
    if have == text:
        return 0
    sys.stdout.writelines(difflib.unified_diff(have.splitlines(True), text.splitlines(True), FILE, "the sources"))
    print(ADVICE)
    return 1


if __name__ == "__main__":
    sys.exit(main())
