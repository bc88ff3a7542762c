# SPDX-License-Identifier: Apache-2.0
"""A page as the tests see it: its fenced blocks and its directions, in order."""
import os
import re
from dataclasses import dataclass, field

# What a block can be, and the words that may stand behind its language.
KINDS = {
    "cpp": {"run", "program", "global"},
    "console": set(),
    "sh": {"syntax", "file"},
    "crontab": set(),
    "ini": set(),
    "toml": set(),
    "sql": {"db"},
    "json": {"db"},
    "ruby": set(),
    "java": set(),
    "usage": {"all"},
    "cmake": set(),
    "text": set(),
}
FENCE = re.compile(r"^( *)(```+|~~~+) *(.*?) *$")
DIRECTION = re.compile(r"^<!-- *(\w+): *(.*?) *-->$")
COMMAND = re.compile(r"^\s*(\$ |holdfast |\./dev\b)")


class Wrong(Exception):
    """Something in a page is not as it should be; where, and what."""

    def __init__(self, line, what):
        super().__init__(what)
        self.line = line


@dataclass
class Block:
    kind: str
    words: dict
    lines: list
    at: int  # the line in the page where the first of `lines` stands
    numbered: list = field(init=False)

    def __post_init__(self):
        self.numbered = [(self.at + i, line) for i, line in enumerate(self.lines)]

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


@dataclass
class Until:
    """<!-- until: CMD -->: what comes next starts when CMD succeeds."""
    command: str
    at: int


# What a page may call them, and what tests/support/servers does.
SERVERS = {"PostgreSQL": "postgres", "Redis": "redis", "MongoDB": "mongodb", "MariaDB": "mariadb"}


def servers_of(text):
    """<!-- servers: PostgreSQL and Redis on localhost -->: the page is told in a network of its own that has them."""
    names = []
    for number, line in enumerate(text.split("\n"), 1):
        if (found := DIRECTION.match(line.strip())) and found[1] == "servers":
            names += [name for word, name in SERVERS.items() if word in found[2]]
            if not names:
                raise Wrong(number, f"it names no server: known are {', '.join(SERVERS)}")
    return sorted(set(names))


def find_pages(root):
    """The documents, as paths below the root."""
    pages = [page for page in ("README.md", "CONTRIBUTING.md") if os.path.exists(os.path.join(root, page))]
    for folder, _, files in os.walk(os.path.join(root, "docs")):
        pages += [os.path.relpath(os.path.join(folder, file), root) for file in files if file.endswith(".md")]
    return sorted(pages)


def words_of(info, line):
    """`cpp program=hello` -> ("cpp", {"program": "hello"})."""
    kind, *rest = info.split()
    if kind not in KINDS:
        raise Wrong(line, f"`{kind}` is no kind of block: use one of {', '.join(KINDS)}")
    words = dict((word.split("=", 1) + [""])[:2] for word in rest)
    for word in words:
        if word not in KINDS[kind]:
            raise Wrong(line, f"`{word}` means nothing behind `{kind}`; known there: {', '.join(KINDS[kind]) or 'nothing'}")
    return kind, words


def check_indented(lines):
    """Code by indentation has no language: commands there would be run by nobody."""
    blank_before = True
    for number, line in lines:
        if line.startswith("    ") and blank_before and COMMAND.match(line):
            raise Wrong(number, "commands stand in a fenced block, not in an indented one")
        blank_before = not line.strip() or (blank_before and line.startswith("    "))


def parse(text):
    """The blocks and directions of a page, in order. Raises Wrong."""
    parts, prose, lines = [], [], list(enumerate(text.split("\n"), 1))
    position = 0
    while position < len(lines):
        number, line = lines[position]
        position += 1
        fence = FENCE.match(line)
        if not fence:
            prose.append((number, line))
            direction = DIRECTION.match(line.strip())
            if direction and direction[1] == "until":
                parts.append(Until(direction[2], number))
            elif direction and direction[1] != "servers":
                raise Wrong(number, f"`{direction[1]}` is no direction: known are until and servers")
            continue
        prose.append((number, ""))
        if not fence[3]:
            raise Wrong(number, f"the block says not what it is: write one of {', '.join(KINDS)} behind the fence")
        body = []
        while position < len(lines) and lines[position][1].strip() != fence[2]:
            body.append(lines[position][1].removeprefix(fence[1]))
            position += 1
        if position == len(lines):
            raise Wrong(number, "the block is not closed")
        position += 1
        parts.append(Block(*words_of(fence[3], number), body, number + 1))
    check_indented(prose)
    return parts
