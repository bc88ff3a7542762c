# SPDX-License-Identifier: Apache-2.0
"""The repository as the rules see it: its files, and C++ with comments and strings taken out."""
import functools
import os
import re

# What cannot be confused with code: comments, raw strings, strings, characters (not the ' of 1'000).
COMMENT = r"//[^\n]*|/\*.*?\*/"
LITERAL = r'R"(?P<end>[^\s()\\]{0,16})\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\''
TOKEN = re.compile(f"(?P<comment>{COMMENT})|(?P<literal>{LITERAL})", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
GENERATED = (".sql.h", ".lua.h", ".json.h")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class Tree:
    def __init__(self, root, build=None):
        self.root = root
        self.build = build
        self.files = sorted(self._walk())

    def _walk(self):
        for folder, folders, files in os.walk(self.root):
            relative = os.path.relpath(folder, self.root)
            folders[:] = [f for f in folders if f not in ("build", "__pycache__") and (f == ".ci" or f[0] != ".")]
            for file in files:
                if relative == "." and file == ".git":
                    continue  # of a worktree: it says where the repository is
                yield os.path.normpath(os.path.join(relative, file))

    def select(self, *suffixes, under=("",)):
        """The files below one of the folders, with one of the endings."""
        return [f for f in self.files if f.startswith(tuple(under)) and f.endswith(suffixes)]

    def cpp(self, *under):
        return self.select(".h", ".cpp", under=under or ("",))

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def is_text(self, path):
        with open(os.path.join(self.root, path), "rb") as file:
            return b"\0" not in file.read(4096)

    @functools.lru_cache(maxsize=None)
    def uncommented(self, path):
        return TOKEN.sub(lambda m: m[0] if m["comment"] is None else blank(m[0]), self.text(path))

    @functools.lru_cache(maxsize=None)
    def code(self, path):
        """Without comments and literals, each line where it was."""
        return TOKEN.sub(lambda m: blank(m[0]), self.text(path))

    def find(self, pattern, path, text):
        """(path, line, match) for each place where the pattern is in the text of that file."""
        return [(path, line_of(text, m.start()), m) for m in re.finditer(pattern, text, re.MULTILINE)]

    @functools.lru_cache(maxsize=None)
    def includes(self, path):
        """(line, name, file of ours or None) for each #include; generated headers count as ours."""
        text = self.uncommented(path)
        return [(line_of(text, m.start()), m[1] + m[2] + m[1].replace("<", ">"), self.resolve(path, m[2]))
                for m in INCLUDE.finditer(text)]

    def resolve(self, path, name):
        for folder in (os.path.dirname(path), "src", "include", ""):
            candidate = os.path.normpath(os.path.join(folder, name))
            if candidate in self._known or self.made_from(candidate):
                return candidate
        return None

    def made_from(self, header):
        """The files that a generated header is made from: one by holdfast_embed, all of its folder by holdfast_statements."""
        if header.endswith(GENERATED):
            return [header[:-2]] if header[:-2] in self._known else []
        folder, name = os.path.split(header)
        cmake = os.path.join(folder, "CMakeLists.txt")
        kind = re.fullmatch(r"(?:\w+_)?(sql|lua)\.h", name)
        if not kind or cmake not in self._known or "holdfast_statements(" not in self.text(cmake):
            return []
        return [file for file in self.select("." + kind[1], under=(folder + "/",)) if os.path.dirname(file) == folder]

    @functools.cached_property
    def _known(self):
        return frozenset(self.files)
