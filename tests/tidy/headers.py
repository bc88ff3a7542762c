# SPDX-License-Identifier: Apache-2.0
"""The rule that every header compiles alone. ccache remembers those that did, also for another clone of this machine."""
import concurrent.futures
import os
import shutil
import subprocess
import tempfile

COMPILER = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-O0", "-w"]


def begins_a_source(tree, path):
    """Whether its own source file includes it before anything else: then every build compiles it alone."""
    source = path[:-len(".h")] + ".cpp"
    first = next(iter(tree.includes(source)), None) if source in tree.files else None
    return first is not None and first[2] == path and "\n#pragma once\n" in tree.text(path)


def driver_folders():
    """Where drivers have their headers that do not lie where the compiler looks by itself."""
    folders = []
    for driver in ("libpq", "libmariadb", "libmongoc-1.0"):
        done = subprocess.run(["pkg-config", "--cflags-only-I", driver], capture_output=True, text=True, check=False)
        folders += done.stdout.split() if done.returncode == 0 else []
    return folders


def headers_alone(tree):
    """Every header compiles alone, and twice."""
    command = [COMPILER, *FLAGS, "-I", "include", "-I", "src", "-I", ".", *driver_folders()]
    if tree.build:
        command += ["-I", os.path.join(tree.build, "generated")]
    headers = [path for path in tree.select(".h") if not begins_a_source(tree, path)]
    with tempfile.TemporaryDirectory() as nowhere:
        said = compile_each(command, headers, tree.root, os.path.join(tree.build or nowhere, "headers"))
    for path, words in said:
        if words:
            errors = [line for line in words.splitlines() if "error" in line] or ["the compiler failed"]
            yield path, 1, f"include what it uses, so that it compiles alone ({errors[0].strip()})"


def compile_each(command, headers, folder, made):
    """(header, what the compiler said if it failed) for each: the header included twice, and nothing else. ccache knows what has
    the same name below `folder`: the sources are made in `made`, and stay there."""
    os.makedirs(made, exist_ok=True)
    ccache = shutil.which("ccache")
    command = [*([ccache] if ccache else []), *command]

    def compile_alone(header):
        source = os.path.join(made, header.replace("/", "_") + ".cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\n' * 2)
        done = subprocess.run([*command, "-c", source, "-o", source + ".o"], cwd=folder, capture_output=True, text=True,
                              check=False, env={**os.environ, "CCACHE_BASEDIR": folder})
        return header, "" if done.returncode == 0 else done.stderr or "the compiler failed"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_alone, headers))
