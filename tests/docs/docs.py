#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles or runs every fenced block of a page; docs/internals/adr/0010-documents-that-run.md says how.

docs.py --list                                        prints the pages
docs.py --self-test --holdfast BINARY --records DIR   pages that are wrong, each of which must be found out
docs.py --holdfast BINARY --records DIR PAGE...       those pages; prints PAGE:LINE: what is wrong; exits 1 if anything is
                                                      77 if a page wants servers and cannot have them

--servers is the program that starts them: tests/support/servers.
"""
import argparse
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True

import compiling  # noqa: E402
import pages  # noqa: E402
import self_test  # noqa: E402
import story as stories  # noqa: E402
import tables  # noqa: E402
from pages import Until, Wrong  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Checker:
    def __init__(self, page, holdfast, records, servers, around):
        self.page = page
        self.servers = servers
        self.shown = {}  # command -> the options that usage lines of this page have shown
        self.story = stories.Story(holdfast, around)
        self.compiler = compiling.Compiler(records, os.path.join(records, "pages", re.sub(r"\W", "_", page)))

    def check(self, text):
        """How many blocks there are. Raises Wrong."""
        parts = pages.parse(text)
        loose = [p for p in parts if not isinstance(p, Until) and p.kind == "cpp" and not compiling.is_program(p)]
        if unit := compiling.fragments(self.page, loose):
            self.compiler.compile("fragments", unit, compiling.OF_FRAGMENTS)
        for part in parts:
            if isinstance(part, Until):
                self.story.until(part.command, part.at)
            elif part not in loose:
                getattr(self, "_" + part.kind)(part)
        return sum(not isinstance(part, Until) for part in parts)

    def _cpp(self, block):
        name = block.words.get("program", f"program_{block.at}")
        binary = self.story.path(name)
        self.compiler.link(self.compiler.compile(name, compiling.program(self.page, block), []), binary)
        if "run" in block.words:
            self._succeeds("./" + name, block)

    def _console(self, block):
        stories.tell(block, self.story)

    def _sh(self, block):
        parsed = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
        if parsed.returncode != 0:
            raise Wrong(block.at, f"bash cannot parse it: {parsed.stderr}")
        if "file" in block.words:
            self.story.write(block.words["file"], block.text)
        elif "syntax" in block.words:
            self._check_dev(block)
        else:
            self.story.write(".block", "set -eu\n" + block.text)
            self._succeeds("bash .block", block)

    @staticmethod
    def _check_dev(block):
        text = subprocess.run([os.path.join(ROOT, "dev"), "help"], capture_output=True, text=True, check=True).stdout
        for number, line in block.numbered:
            for word in re.findall(r"\./dev ([a-z]+)", line):
                if not re.search(rf"^\./dev {word}\b", text, re.MULTILINE):
                    raise Wrong(number, f"./dev has no word {word}")

    def _crontab(self, block):
        tables.crontab(block, self.story)

    def _ini(self, block):
        tables.unit(block, self.story)

    def _toml(self, block):
        """The configuration from here on, of the user that the page has."""
        self.story.write(".toml", block.text)
        self._succeeds('mkdir -p ~/.config/holdfast && install -m 600 .toml ~/.config/holdfast/config.toml && holdfast config >.shown', block)

    def _sql(self, block):
        self.story.write(".sql", block.text)
        if block.words.get("db") == "postgres":
            self._succeeds("psql -XqAt -v ON_ERROR_STOP=1 postgres://postgres@localhost/app < .sql", block)
            return
        if block.words.get("db") == "mariadb":
            self._succeeds("mariadb --protocol=tcp --user=app --batch --skip-column-names app < .sql", block)
            return
        file = block.words.get("db") or '"$XDG_STATE_HOME/holdfast/leases.db"'
        self._succeeds(f"holdfast init >.init && sqlite3 -bail {file} < .sql", block)

    def _json(self, block):
        """A command of MongoDB, or what one is like."""
        self.story.write(".json", block.text)
        if block.words.get("db") == "mongodb":
            self._succeeds(f"'{self.servers}' ask mongodb://localhost/app < .json", block)
        else:
            self._succeeds("python3 -m json.tool .json >.parsed", block)

    def _ruby(self, block):
        self._theirs(block, "Ruby")

    def _java(self, block):
        self._theirs(block, "Java")

    def _theirs(self, block, language):
        if not self.page.startswith("docs/migrate/"):
            raise Wrong(block.at, f"nothing runs {language} here: it stands only where somebody moves away from it")

    def _usage(self, block):
        tables.usage(block, self.story, self.shown)

    def _cmake(self, block):
        tables.cmake(block, ROOT)

    def _text(self, block):
        tables.picture(block)

    def _succeeds(self, command, block):
        output, code = self.story.run(command, block.at)
        if code != 0:
            raise Wrong(block.at, f"ends with {code}:\n{output}")


def faults(page, text, holdfast, records, servers):
    """What is wrong with the page: at most one thing, since all that follows builds on it."""
    checker = None
    try:
        names = pages.servers_of(text)
        checker = Checker(page, holdfast, records, servers, [servers, "with", ",".join(names)] if names else [])
        count = checker.check(text)
        print(f"{page}: {count} blocks")
        return []
    except Wrong as wrong:
        return [f"{page}:{wrong.line}: {wrong}" if wrong.line else f"{page}: {wrong}"]
    finally:
        if checker:
            checker.story.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--holdfast")
    parser.add_argument("--records")
    parser.add_argument("--servers", type=os.path.abspath)
    args = parser.parse_args()
    if args.list:
        print("\n".join(pages.find_pages(ROOT)))
        return 0
    if args.self_test:
        return self_test.run(lambda text: faults("docs/page.md", text, args.holdfast, args.records, args.servers))
    found = []
    for page in args.pages:
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            try:
                found += faults(page, file.read(), args.holdfast, args.records, args.servers)
            except stories.NoServers as reason:
                print(f"{page}: skipped, {reason}")
                return 77
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
