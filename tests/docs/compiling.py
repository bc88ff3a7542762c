# SPDX-License-Identifier: Apache-2.0
"""C++ of a page, compiled as CMake compiles a target that links holdfast::holdfast: by its recorded commands."""
import json
import os
import re
import subprocess

from pages import Wrong

HERE = os.path.dirname(os.path.abspath(__file__))
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
# A fragment shows what can be written, not what is done with it.
OF_FRAGMENTS = ["-Wno-unused", "-O0"]

JOB = re.compile(r"^struct (\w+) \{\n(?:  .*\n|\n)*?  void perform\(holdfast::JobContext", re.MULTILINE)
LIBRARY = re.compile(r"^-l|\.(a|so)(\.\d+)*$")


class Compiler:
    """Replays the two commands that record.py wrote down when the probe was built."""

    def __init__(self, records, folder):
        self.folder = os.path.abspath(folder)
        with open(os.path.join(records, "compile.json"), encoding="utf-8") as file:
            self.compiling = json.load(file)
        with open(os.path.join(records, "link.json"), encoding="utf-8") as file:
            self.linking = json.load(file)
        os.makedirs(folder, exist_ok=True)

    def compile(self, name, text, flags):
        """Compiles the text to an object file; returns its path."""
        source, target = (os.path.join(self.folder, name + ending) for ending in (".cpp", ".o"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        words = without(self.compiling["argv"], pairs=("-o", "-MT", "-MF", "-c"), singles=("-MD",))
        self._do(words + ["-I", HERE, *WARNINGS, *flags, "-c", source, "-o", target], self.compiling["cwd"])
        return target

    def link(self, target, into):
        words = [word for word in without(self.linking["argv"], pairs=("-o",)) if not word.endswith("probe.cpp.o")]
        # Objects stand before libraries.
        first_library = next((i for i, word in enumerate(words) if LIBRARY.search(word)), len(words))
        self._do(words[:first_library] + [target] + words[first_library:] + ["-o", into], self.linking["cwd"])

    @staticmethod
    def _do(words, cwd):
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Wrong(None, "does not compile:\n" + done.stderr)


def without(words, pairs=(), singles=()):
    kept, skip = [], False
    for word in words:
        if skip or word in singles:
            skip = False
        elif word in pairs:
            skip = True
        else:
            kept.append(word)
    return kept


def is_program(block):
    return re.search(r"^int main\(", block.text, re.MULTILINE) is not None


def fragments(page, blocks):
    """One translation unit of all that is no program; None if there is nothing."""
    if not blocks:
        return None
    head, body = ['#include "prelude.h"'], []
    for block in blocks:
        outside, space = "global" in block.words, block.words.get("global")
        opening = f"namespace {space} {{" if space else "" if outside else f"void of_line_{block.at}() {{"
        body.append(opening)
        body.append(f'#line {block.at} "{page}"')
        for number, line in block.numbered:
            if line.startswith("#include"):
                head += [f'#line {number} "{page}"', line]
                line = ""
            body.append(line)
        # A struct that is a job is compiled as far as a worker would: its members are found by their names.
        for job in JOB.findall(block.text) if outside else []:
            body.append(f"inline void define_{job}(holdfast::Jobs& all) {{ all.define<{job}>(); }}")
        body.append("}" if opening else "")
    return "\n".join(head + body) + "\n"


def program(page, block):
    return f'#line {block.at} "{page}"\n{block.text}'
