# SPDX-License-Identifier: Apache-2.0
"""Where the cases find things, and how they run what they find."""
import os
import re
import shutil
import subprocess
import sys


class Place:
    """Where things are: the build, what was installed from it, and a folder of this case's own."""

    def __init__(self, build, name):
        self.build = os.path.abspath(build)
        scratch = os.path.join(self.build, "tests", "install", "scratch")
        self.first = os.path.join(scratch, "as", "installed")
        self.prefix = os.path.join(scratch, "moved elsewhere")
        self.own = os.path.join(scratch, name)
        shutil.rmtree(self.own, ignore_errors=True)
        os.makedirs(self.own)

    def installed(self):
        """Every file below the prefix, by its path there."""
        return sorted(os.path.relpath(os.path.join(folder, file), self.prefix)
                      for folder, _, files in os.walk(self.prefix) for file in files)

    def path(self, *parts):
        return os.path.join(self.prefix, *parts)


def check(truth, words):
    if not truth:
        sys.exit(words)


def run(command, cwd, fails=False, **environment):
    """What the command prints."""
    env = {**{name: value for name, value in os.environ.items() if name != "DESTDIR"}, **environment}
    done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check((done.returncode != 0) == fails, f"{' '.join(command)}\n{done.stdout}\nexit code {done.returncode}")
    return done.stdout


def prints(pattern, command, cwd, **environment):
    words = run(command, cwd, **environment)
    check(re.fullmatch(pattern, words), f"{' '.join(command)} printed\n{words}\nand not\n{pattern}")
