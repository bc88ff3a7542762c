#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a foreign project gets: install_test.py CASE --build BUILD, or --list.

`it_is_installed_and_moved` comes first. Every other case uses what lies there then.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path += [HERE, os.path.join(ROOT, "tests", "tidy"), os.path.join(ROOT, "tools", "api")]

import binaries  # noqa: E402
import headers  # noqa: E402
import listing  # noqa: E402
from place import Place, check, prints, run  # noqa: E402

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
REPORT = r"token [1-9][0-9]{14,18}\n"
OWN_STORE = r"""store counting, counted nothing, then something
caught Failure busy
purged
caught LeaseLost
caught runtime_error: one table is enough
caught Mine: by me
"""
EVERY_HEADER = r"used every header\n"
# Users have either; ./dev test installs both.
COMPILERS = {"gcc": "g++", "clang": "clang++-19"}
SKIPPED = 77  # tools/dev/summary.py counts it as a failure where CI=true
SETUP = "it_is_installed_and_moved"
CASES = {}
with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as lists:
    STORES = [name for name in re.findall(r"\bsrc/stores/(\w+)", lists.read()) if name != "decorators"]


def case(function):
    CASES[function.__name__] = function
    return function


def configure(place, source, *options, fails=False):
    command = ["cmake", "-G", "Ninja", "-S", os.path.join(HERE, source), "-B", place.own, f"-DCMAKE_PREFIX_PATH={place.prefix}"]
    return run([*command, *options], place.own, fails)


def compiler_words(build, source):
    """The options with which a file is compiled there."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return next(entry["command"] for entry in json.load(file) if entry["file"].endswith(source))


def no_flag_of_ours(place, source):
    words = compiler_words(place.own, source)
    for flag in ("FORTIFY", "GLIBCXX_ASSERTIONS", "-fstack", "-fcf", "-ftrivial", "-fvisibility", "-ffile", "NDEBUG", "/src "):
        check(flag not in words, f"{flag} reaches a user's command line: {words}")


def foreign(place, *options):
    configure(place, "foreign", *options)
    no_flag_of_ours(place, "report.cpp")
    run(["ninja"], place.own)
    prints(REPORT, ["./report"], place.own)
    prints(OWN_STORE, ["./own_store"], place.own)
    prints(EVERY_HEADER, ["./every_header"], place.own)
    return run(["readelf", "-dW", "report"], place.own)


@case
def a_foreign_project_links_the_shared_library(place):
    needed = foreign(place)
    check("libholdfast.so.0.1" in needed, f"the soname should be asked for:\n{needed}")
    for driver in ("libsqlite", "libpq", "libhiredis", "libssl", "libmongoc", "libmariadb"):
        check(driver not in needed, f"the driver is the library's own business:\n{needed}")


@case
def a_foreign_project_links_the_archive(place):
    needed = foreign(place, "-DLIBRARY=holdfast::static", "-DCOMPONENTS=static;memory;sqlite")
    check("libholdfast" not in needed, f"no shared library should be asked for:\n{needed}")


@case
def a_foreign_project_needs_no_cmake(place):
    def flags(*words):
        return run(["pkg-config", *words, "holdfast"], place.own, PKG_CONFIG_PATH=place.path("lib", "pkgconfig"))

    version = run([place.path("bin", "holdfast"), "version"], place.own).split()[1]
    check(flags("--modversion").strip() == version, "pkg-config and the command should tell the same version")
    check(flags("--variable=stores").split() == STORES, "pkg-config should tell the stores")
    for driver in ("-lsqlite", "-lpq", "-lhiredis", "-lssl", "-lmongoc", "-lmariadb"):
        check(driver not in flags("--libs"), "who links the shared library links no driver")

    for source, output in (("first/report.cpp", REPORT), ("foreign/own_store.cpp", OWN_STORE)):
        for name, asked in (("shared", []), ("archive", ["--static"])):
            # Hidden: what is thrown must be caught also by a program that hides all its own names.
            words = ["g++", "-std=c++20", *STRICT, "-fvisibility=hidden", "-o", name, os.path.join(HERE, source)]
            link = shlex.split(flags(*asked, "--cflags", "--libs"))
            if asked:
                link = ["-l:libholdfast.a" if word == "-lholdfast" else word for word in link]
            run([*words, *link], place.own)
            prints(output, ["./" + name], place.own, LD_LIBRARY_PATH=place.path("lib"))
        check("libholdfast" not in run(["readelf", "-dW", "archive"], place.own), "the archive should do without the library")


@case
def what_is_not_there_is_named(place):
    words = " ".join(configure(place, "foreign", "-DCOMPONENTS=sqlite;rocks;tape", fails=True).split())
    check(f"was built without rocks, tape. The stores it has: {', '.join(STORES)}." in words, words)
    for version in ("0.2", "0.0", "1"):
        words = configure(place, "foreign", f"-DVERSION={version}", fails=True)
        check("holdfast-config.cmake, version: 0.1." in words, words)

    # Only the archive needs the driver's package.
    without = "-DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON"
    words = configure(place, "foreign", "-DVERSION=0.1.0", "-DCOMPONENTS=sqlite;static", without, fails=True)
    check("find_package for module SQLite3" in words, words)
    configure(place, "foreign", "-DCOMPONENTS=sqlite", without)


@case
def a_project_has_holdfast_inside(place):
    without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("CLI11", "GTest", "Python3")]
    configure(place, "subproject", f"-DHOLDFAST={ROOT}", "-DCMAKE_PREFIX_PATH=", *without)
    no_flag_of_ours(place, "report.cpp")
    run(["ninja", "-n", "with_holdfast", "with_static"], place.own)
    words = run(["cmake", "--install", ".", "--prefix", os.path.join(place.own, "prefix")], place.own)
    check("Installing" not in words, f"installing the outer project should not install the inner one:\n{words}")


@case
def a_warning_stops_us_and_no_user(place):
    for tried in (True, False):
        own = os.path.join(place.own, "tried" if tried else "not tried")
        compilers = ".*" if tried else "none"
        run(["cmake", "--preset", "release", f"-DHOLDFAST_TRIED_COMPILERS={compilers}", "-DHOLDFAST_TESTS=OFF", "-B", own], ROOT)
        words = compiler_words(own, "src/cli/main.cpp")
        check(("-Werror" in words) == tried, f"with the compilers '{compilers}': {words}")


@case
def the_library_alone_can_be_installed(place):
    tree, prefix = os.path.join(place.own, "tree"), os.path.join(place.own, "prefix")
    run(["cmake", "--preset", "release", "-DHOLDFAST_TESTS=OFF", "-B", tree], ROOT)
    for file in os.listdir(place.build):
        if file.startswith("libholdfast."):
            shutil.copy2(os.path.join(place.build, file), tree, follow_symlinks=False)
    run(["cmake", "--install", tree, "--prefix", prefix], place.own)
    for file in ("include/holdfast/client.h", "lib/libholdfast.so", "lib/libholdfast.a"):
        check(os.path.exists(os.path.join(prefix, file)), f"{file} is not installed")
    check(not os.path.exists(os.path.join(prefix, "bin", "holdfast")), "there is no command to install")


@case
def the_command_runs(place):
    command = place.path("bin", "holdfast")
    store = "sqlite:" + os.path.join(place.own, "leases.db")
    prints(r"holdfast [0-9.]+\n", [command, "version"], place.own)
    prints(r"hello\n", [command, "--store", store, "run", "k", "--", "echo", "hello"], place.own)
    check("libholdfast" not in run(["readelf", "-dW", command], place.own), "the command should need no library of ours")


@case
def man_finds_a_page_of_each_command(place):
    command = place.path("bin", "holdfast")
    pages = [file for file in place.installed() if file.startswith("share/man/")]
    listed = re.findall(r"^  ([a-z]+)  ", run([command, "help"], place.own), re.MULTILINE)
    of_jobs = re.findall(r"^  ([a-z]+)  ", run([command, "help", "jobs"], place.own), re.MULTILINE)
    names = ["holdfast", *(f"holdfast-{name}" for name in listed), *(f"holdfast-jobs-{name}" for name in of_jobs)]
    check(len(listed) > 15 and len(of_jobs) > 5, f"these commands are listed: {names}")
    check(pages == sorted(f"share/man/man1/{name}.1" for name in names), f"these pages are installed: {pages}")
    for page in pages:
        words = run(["groff", "-man", "-Tutf8", "-ww", "-z", place.path(page)], place.own)
        check(words == "", f"{page}: {words}")


@case
def shells_find_their_completions(place):
    for shell, file in (("bash", "bash-completion/completions/holdfast"), ("zsh", "zsh/vendor-completions/_holdfast"),
                        ("fish", "fish/vendor_completions.d/holdfast.fish")):
        path = place.path("share", file)
        run([shell, "-n", path], place.own)
        with open(path, encoding="utf-8") as script:
            check(script.read() == run([place.path("bin", "holdfast"), "completions", shell], place.own), f"{file} is another")


@case
def it_can_be_staged(place):
    run(["cmake", "--install", place.build, "--prefix", "/usr"], place.own, DESTDIR=place.own)
    staged = sorted(os.path.relpath(os.path.join(folder, file), os.path.join(place.own, "usr"))
                    for folder, _, files in os.walk(place.own) for file in files)
    check(staged == place.installed(), f"staged {staged} and installed {place.installed()} differ")


@case
def no_file_knows_where_it_was_built(place):
    for file in place.installed():
        copy = os.path.join(place.own, "copy")
        shutil.copyfile(place.path(file), copy)
        if re.search(r"\.so\b|\.a$|bin/", file):
            run(["strip", "--strip-debug", copy], place.own)
        with open(copy, "rb") as content:
            text = content.read()
        for where in (ROOT, place.build, place.first):
            check(where.encode() not in text, f"{file} contains {where}")


@case
def only_the_api_is_outside(place):
    names = run(["nm", "-DC", "--defined-only", place.path("lib", "libholdfast.so")], place.own)
    found = binaries.wrong_names(listing.listing_of(ROOT), names)
    check(not found, "\n".join(found))


@case
def what_we_compile_is_hardened(place):
    def softness(path):
        return binaries.softness(lambda *words: run([*words, path], place.own))

    for file in ("bin/holdfast", "lib/libholdfast.so"):
        found = softness(place.path(file))
        check(not found, f"{file}: " + "; ".join(found))
    # A program that has none of it, to see that it would be noticed.
    run(["sh", "-c", f"echo 'int main() {{}}' | g++ -x c++ - -o soft {binaries.SOFT}"], place.own)
    found = softness(os.path.join(place.own, "soft"))
    check(len(found) >= 7, f"of a program without hardening only this was noticed: {found}")
    words = run(["readelf", "-hW", place.path("bin/holdfast")], place.own)
    check("Position-Independent Executable" in words, "the command should be a PIE")


@case
def each_header_compiles_alone(place):
    names = [file for file in place.installed() if file.endswith(".h")]
    public = sorted(file.removeprefix("include/") for file in names if "/detail/" not in file)
    check(public == sorted(listing.headers(ROOT)), f"these headers are installed: {names}")
    compile_each(place, names, compiler_called("gcc"))


@case
def each_header_compiles_alone_with_clang(place):
    compile_each(place, [file for file in place.installed() if file.endswith(".h")], compiler_called("clang"))


def compiler_called(name):
    """Its path. Where it is missing, the test is skipped and says so."""
    path = shutil.which(COMPILERS[name])
    if path is None:
        print(f"skipped: {COMPILERS[name]} is not installed; `./dev test` without arguments installs it")
        sys.exit(SKIPPED)
    return path


def compile_each(place, names, compiler):
    bad = []
    for standard in ("c++20", "c++23"):
        command = [compiler, f"-std={standard}", "-O0", *STRICT, "-I", place.path("include")]
        said = headers.compile_each(command, [name.removeprefix("include/") for name in names],
                                    os.path.commonpath([place.own, place.prefix]),
                                    os.path.join(place.own, f"headers-{standard}"))
        bad += [f"{' '.join(command)} <{name}>:\n{words}" for name, words in said if words]
    check(not bad, "\n".join(bad))


@case
def a_stranger_uses_every_header(place):
    source = os.path.join(HERE, "foreign", "every_header.cpp")
    with open(source, encoding="utf-8") as file:
        used = re.findall(r"^#include <(holdfast/.*)>$", file.read(), re.MULTILINE)
    check(used == sorted(listing.headers(ROOT)), f"every_header.cpp includes {used}")
    use_every_header(place, source, compiler_called("gcc"))


@case
def a_stranger_uses_every_header_with_clang(place):
    use_every_header(place, os.path.join(HERE, "foreign", "every_header.cpp"), compiler_called("clang"))


def use_every_header(place, source, compiler):
    words = run(["pkg-config", "--cflags", "--libs", "holdfast"], place.own, PKG_CONFIG_PATH=place.path("lib", "pkgconfig"))
    run([compiler, "-std=c++20", *STRICT, "-o", "every_header", source, *shlex.split(words)], place.own)
    prints(EVERY_HEADER, ["./every_header"], place.own, LD_LIBRARY_PATH=place.path("lib"))


def blocks(page, kind):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return re.findall(rf"^```{kind}\b[^\n]*\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


@case
def the_page_tells_the_truth(place):
    page = "docs/start/install.md"
    project = os.path.join(place.own, "project")
    os.mkdir(project)
    shutil.copy(os.path.join(HERE, "first", "report.cpp"), project)
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(blocks(page, "cmake")[0])
    run(["cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={place.prefix}"], project)
    run(["cmake", "--build", "build"], project)
    prints(REPORT, ["build/report"], project)

    script = next(block for block in blocks(page, "sh") if "pkg-config" in block)
    # The shell splits what pkg-config prints at every space, so the prefix must not have one here.
    os.symlink(place.prefix, os.path.join(place.own, "prefix"))
    run(["sh", "-e", "-c", script], project, PKG_CONFIG_PATH=os.path.join(place.own, "prefix/lib/pkgconfig"))
    for program in ("report", "report_static"):
        prints(REPORT, ["./" + program], project, LD_LIBRARY_PATH=place.path("lib"))


@case
def dev_installs(place):
    dev = os.path.join(ROOT, "dev")
    # Where ./dev did not build this, it would begin by configuring it anew, without the tests that run just now.
    if place.build.endswith("/build/release") and os.path.exists(os.path.join(place.build, ".configured")):
        words = run([dev, "install", "here/prefix"], place.own)
        check(re.search(r"installed in .*/here/prefix: ", words), words)
        prints(r"holdfast [0-9.]+\n", ["here/prefix/bin/holdfast", "version"], place.own)
    words = run([dev, "install", "/dev/null/prefix"], place.own, fails=True)
    check(words == "dev: cannot install in /dev/null/prefix: /dev/null is not a folder\n", words)
    words = run([dev, "install", "one", "two"], place.own, fails=True)
    check(words == "dev: ./dev install takes a prefix or nothing, not 'one two'\n", words)


def it_is_installed_and_moved(place):
    for folder in (place.first, place.prefix):
        shutil.rmtree(folder, ignore_errors=True)
    run(["cmake", "--install", place.build, "--prefix", place.first], place.own)
    os.rename(place.first, place.prefix)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?", choices=[SETUP, *CASES])
    parser.add_argument("--build")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
        return
    place = Place(args.build, args.case)
    {SETUP: it_is_installed_and_moved, **CASES}[args.case](place)
    shutil.rmtree(place.own)


if __name__ == "__main__":
    main()
