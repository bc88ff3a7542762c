#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our Debian packages, made and put into a bare Debian: packages_test.py CASE --build BUILD [--root TAR], or --list.

`they_are_made` comes first. Every other case uses what lies there then. Those that need a bare Debian end with 77 where there is
none: only root can make one, and go into it.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)

from place import Place, check, prints, run  # noqa: E402

SETUP = "they_are_made"
SKIPPED = 77
PACKAGES = ("holdfast", "libholdfast", "libholdfast-dev")
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Packages:
    def __init__(self, place):
        self.folder = os.path.join(os.path.dirname(place.own), "packages")

    def file(self, name):
        found = [file for file in os.listdir(self.folder) if re.fullmatch(rf"{re.escape(name)}_.*\.deb", file)]
        check(len(found) == 1, f"of {name} there should be one package, not {found}")
        return os.path.join(self.folder, found[0])

    def field(self, name, field):
        return run(["dpkg-deb", "-f", self.file(name), field], self.folder).strip()

    def control(self, name, file):
        """A file of those that only dpkg sees; empty: it is not there."""
        listed = run(["dpkg-deb", "--info", self.file(name)], self.folder)
        return run(["dpkg-deb", "--info", self.file(name), file], self.folder) if re.search(rf" {file}\b", listed) else ""

    def contents(self, name):
        """Paths of all files, with what `tar` says of each."""
        lines = run(["dpkg-deb", "-c", self.file(name)], self.folder).splitlines()
        return {line.split(None, 5)[5].split(" -> ")[0].removeprefix("."): line for line in lines if not line.startswith("d")}


class Bare:
    """A Debian with nothing in it, that goes away with the case."""

    def __init__(self, place, tar):
        if os.geteuid() != 0:
            print("only root can go into a bare Debian")
            sys.exit(SKIPPED)
        if not os.path.exists(tar):
            print(f"{tar} is not there: tests/support/servers/engines/fetch.sh debian makes it")
            sys.exit(SKIPPED)
        self.place = place
        self.root = os.path.join(place.own, "root")
        os.mkdir(self.root)
        run(["tar", "-C", self.root, "-xf", tar], place.own)

    def _words(self, command):
        # Processes of its own, and /proc with them: what is started there ends there. And no network.
        script = 'mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot "$root" "$@"'
        bare = ["env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", *command]
        return ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", self.root, *bare]

    def run(self, *command, fails=False):
        return run(self._words(command), self.place.own, fails)

    def prints(self, pattern, *command):
        prints(pattern, self._words(command), self.place.own)

    def code(self, *command):
        done = subprocess.run(self._words(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def install(self, packages, *names):
        """As a user would, but without a network: whatever a package needs and does not say is missed afterwards."""
        for name in names:
            shutil.copy(packages.file(name), os.path.join(self.root, "tmp", name + ".deb"))
        self.run("apt-get", "install", "-q", "-y", "--no-install-recommends", *(f"/tmp/{name}.deb" for name in names))

    def files(self):
        return {os.path.join(folder, file).removeprefix(self.root)
                for folder, folders, files in os.walk(self.root) for file in files
                if not folder.startswith((f"{self.root}/proc", f"{self.root}/var", f"{self.root}/tmp", f"{self.root}/etc"))}


@case
def each_has_what_it_should(place, _tar):
    packages = Packages(place)
    contents = {name: packages.contents(name) for name in PACKAGES}
    check("/usr/bin/holdfast" in contents["holdfast"], "the command should be in its package")
    for path in ("man/man1/holdfast-run.1", "bash-completion/completions/holdfast", "zsh/vendor-completions/_holdfast",
                 "fish/vendor_completions.d/holdfast.fish"):
        check(f"/usr/share/{path}" in contents["holdfast"], f"{path} should be in the command's package")
    check(any(re.fullmatch(r"/usr/lib/.*libholdfast\.so\.[0-9.]+", path) for path in contents["libholdfast"]), "the library is missing")
    check(not any(path.endswith((".so", ".h", ".a")) for path in contents["libholdfast"]), "who only runs programs needs no headers")
    for end in (".h", "libholdfast.so", "libholdfast.a", "holdfast.pc", "holdfast-config.cmake"):
        check(any(path.endswith(end) for path in contents["libholdfast-dev"]), f"libholdfast-dev should have {end}")
    for name, files in contents.items():
        check(f"/usr/share/doc/{name}/copyright" in files, f"{name} should say what its licence is")
        check(all(" root/root " in line for line in files.values()), f"{name} should belong to root")
        check(not any(re.match(r".{5}w|.{8}w", line) for line in files.values() if not line.startswith("l")),
              f"nobody else should be able to write what {name} has")
    every = [path for files in contents.values() for path in files]
    check(len(every) == len(set(every)), "no file should be in two packages")


@case
def each_says_what_it_needs(place, _tar):
    packages = Packages(place)
    check(re.fullmatch(r"libc6 \([^)]*\), libsqlite3-0 \([^)]*\)", packages.field("holdfast", "Depends")),
          "the command should need SQLite and nothing else: " + packages.field("holdfast", "Depends"))
    for driver in ("libpq5", "libhiredis", "libssl3", "libmariadb3", "libmongoc"):
        for name in ("holdfast", "libholdfast"):
            check(driver in packages.field(name, "Recommends"), f"{name} should recommend {driver}")
            check(driver not in packages.field(name, "Depends"), f"{name} should do without {driver}")
            check("|" not in packages.field(name, "Recommends"), f"{name} should recommend only drivers that it can load")
    version = packages.field("libholdfast", "Version")
    upstream = re.escape(version.rsplit("-", 1)[0])
    shlibs = packages.control("libholdfast", "shlibs")
    check(re.fullmatch(rf"libholdfast [0-9.]+ libholdfast \(>= {upstream}(-\d+)?\)\n", shlibs),
          f"who links the library should come to need its package: {shlibs!r}")
    check(packages.field("libholdfast-dev", "Depends") == f"libholdfast (= {version})", "headers belong to one library")


@case
def in_a_bare_debian_the_main_job_runs(place, tar):
    packages = Packages(place)
    bare = Bare(place, tar)
    before = bare.files()
    bare.install(packages, "holdfast")
    bare.prints(r"holdfast [0-9.]+\n", "holdfast", "version")
    bare.prints(r"I hold the lease\n", "holdfast", "run", "hello", "--", "echo", "I hold the lease")
    bare.prints(r"k is released\nfree\n", "sh", "-c", "holdfast acquire k --owner me > /dev/null && holdfast release k --owner me && "
                "holdfast wait k -n && echo free")
    check(bare.code("holdfast", "run", "k", "--", "sh", "-c", "exit 7")[0] == 7, "the code of the command should come out")
    code, words = bare.code("holdfast", "--store", "redis://127.0.0.1", "ls")
    check(code == 77 and re.search(r"install Debian's package libhiredis[0-9.]+", words), f"a missing driver should be named: {code} {words}")
    bare.run("apt-get", "purge", "-q", "-y", "holdfast")
    left = {path for path in bare.files() - before if "holdfast" in path and not path.startswith("/root/")}
    check(not left, f"these stay behind: {left}")


@case
def in_a_bare_debian_a_program_finds_the_library(place, tar):
    packages = Packages(place)
    bare = Bare(place, tar)
    bare.install(packages, "libholdfast", "libholdfast-dev")
    # There is no compiler there; ours sees what was installed there, and nothing of ours.
    where = run(["sh", "-c", "ls -d usr/lib/libholdfast.so usr/lib/*/libholdfast.so 2> /dev/null || true"], bare.root).split()
    check(len(where) == 1, f"the library should lie in one place, not {where}")
    run(["g++", "-std=c++20", "-I", os.path.join(bare.root, "usr/include"), os.path.join(HERE, "first", "report.cpp"),
         os.path.join(bare.root, where[0]), "-Wl,--allow-shlib-undefined", "-o", os.path.join(bare.root, "usr/bin/report")], place.own)
    bare.prints(r"token [1-9][0-9]{14,18}\n", "sh", "-c", "cd && report")


def they_are_made(place, _tar):
    folder = Packages(place).folder
    shutil.rmtree(folder, ignore_errors=True)
    run(["cpack", "--config", os.path.join(place.build, "CPackConfig.cmake"), "-B", folder], place.own)
    shutil.rmtree(os.path.join(folder, "_CPack_Packages"))
    for name in PACKAGES:
        Packages(place).file(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?", choices=[SETUP, *CASES])
    parser.add_argument("--build")
    parser.add_argument("--root", default="")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
        return
    place = Place(args.build, args.case)
    try:
        {SETUP: they_are_made, **CASES}[args.case](place, args.root)
    finally:
        shutil.rmtree(place.own)


if __name__ == "__main__":
    main()
