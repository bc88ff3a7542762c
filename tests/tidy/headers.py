# SPDX-License-Identifier: Apache-2.0
"""The rule that every header compiles alone. Headers that did are remembered by the hash of all they include of ours."""
import concurrent.futures
import hashlib
import json
import os
import subprocess

COMPILER = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-x", "c++"]


def closure(tree, path, seen):
    """All files of ours that including `path` reads; a generated header stands for the files it is made from."""
    seen.add(path)
    for _, _, target in tree.includes(path):
        if target and target not in seen:
            if target in tree.files:
                closure(tree, target, seen)
            else:
                seen.update(tree.made_of(target))
    return seen


def fingerprint(tree, path, command):
    digest = hashlib.sha256(repr(command).encode())
    for file in sorted(closure(tree, path, set())):
        digest.update(f"{file}\0{tree.text(file)}\0".encode())
    return digest.hexdigest()


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
    command += ["-"]
    memory = os.path.join(tree.build, "tidy_headers.json") if tree.build else None
    known = set(load(memory))
    prints = {path: fingerprint(tree, path, command) for path in tree.select(".h")
              if not begins_a_source(tree, path)}
    work = [(command, path) for path in prints if prints[path] not in known]
    bad = {path: words for (_, path), words in compile_each(work, tree.root) if words}
    if memory:
        with open(memory, "w", encoding="utf-8") as file:
            json.dump(sorted(prints[path] for path in prints if path not in bad), file)
    for path, words in sorted(bad.items()):
        errors = [line for line in words.splitlines() if "error" in line] or ["the compiler failed"]
        yield path, 1, f"include what it uses, so that it compiles alone ({errors[0].strip()})"


def compile_each(work, folder):
    """((command, header), what the compiler said if it failed) for each: the header included twice, and nothing else."""
    def compile_alone(item):
        command, header = item
        done = subprocess.run(command, input=f'#include "{header}"\n' * 2, cwd=folder, capture_output=True, text=True, check=False)
        return item, "" if done.returncode == 0 else done.stderr or "the compiler failed"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_alone, work))


def load(memory):
    try:
        with open(memory, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, TypeError, ValueError):
        return []
