# SPDX-License-Identifier: Apache-2.0
"""Blocks that others read: cron, systemd, CMake, and the reader of a usage line."""
import glob
import os
import re
import shlex

from pages import COMMAND, Wrong

OPERATORS = {"|", "||", "&&", ";", "&", ">", ">>", "<"}
FIELD = r"(?:\*|\d+(?:-\d+)?|[a-z]{3}(?:-[a-z]{3})?)(?:/\d+)?"
WHEN = re.compile(rf"(?:@[a-z]+|{FIELD}(?:,{FIELD})*(?:\s+{FIELD}(?:,{FIELD})*){{4}})\s+(.*)")
SETTING = re.compile(r"[A-Z_][A-Z0-9_]*\s*=.*")

# The keys our units use: a typing error in one would be silently ignored by systemd.
KEYS = {
    "Unit": {"Description", "Documentation", "After", "Wants"},
    "Service": {"Type", "ExecStart", "Environment", "EnvironmentFile", "SuccessExitStatus", "TimeoutStopSec", "User", "Restart",
                "RestartSec", "StateDirectory", "KillMode"},
    "Timer": {"OnCalendar", "RandomizedDelaySec", "Persistent", "AccuracySec", "Unit"},
    "Install": {"WantedBy"},
}


def harmless(command, line):
    """The same command line with `true` in place of the CMD that `holdfast run` would run."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    kept, skipping, ours = [], False, False
    for word in words:
        if word in OPERATORS:
            skipping = ours = False
        elif os.path.basename(word) == "holdfast" and not ours and not skipping:
            word, ours = "holdfast", True
        elif word == "--" and ours and not skipping:
            kept += ["--", "true"]
            skipping = True
        if not skipping:
            kept.append(word if word in OPERATORS else shlex.quote(word))
    if "holdfast" in kept and "run" in kept and "--" not in kept:
        raise Wrong(line, "write -- before CMD, so that everyone sees where it begins")
    return " ".join(kept)


def try_out(command, story, line):
    if "holdfast" not in command:
        raise Wrong(line, "a line without holdfast has no business here")
    done, code = story.run(f"({harmless(command, line)})", line)
    if code != 0:
        raise Wrong(line, f"`{harmless(command, line)}` ends with {code}:\n{done}")


def crontab(block, story):
    for number, line in block.numbered:
        if not line.strip() or line.startswith("#") or SETTING.fullmatch(line):
            continue
        when = WHEN.fullmatch(line)
        if not when:
            raise Wrong(number, "no line of a crontab: five fields, or @daily, then the command")
        if re.search(r"(?<!\\)%", when[1]):
            raise Wrong(number, "cron takes % for the end of the line: write \\%")
        try_out(when[1].replace("\\%", "%"), story, number)


def unit(block, story):
    section = None
    for number, line in block.numbered:
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line.strip("[] ")
            if section not in KEYS:
                raise Wrong(number, f"[{section}] is no section of our units")
            continue
        key, equals, value = line.partition("=")
        if section is None or not equals or key not in KEYS[section]:
            raise Wrong(number, f"{key} is no key of [{section}] that our units use")
        if key == "ExecStart":
            try_out(value, story, number)


def cmake(block, root):
    """Those lines, in one piece, are in a project that a test builds."""
    projects = [path for folder in ("tests/install", "examples")
                for path in glob.glob(os.path.join(root, folder, "**", "CMakeLists.txt"), recursive=True)]
    for path in projects:
        with open(path, encoding="utf-8") as file:
            if block.text in file.read() + "\n":
                return
    raise Wrong(block.at, "no project in tests/install or examples has these lines in one piece, so no test builds them")


def picture(block):
    for number, line in block.numbered:
        if COMMAND.match(line):
            raise Wrong(number, "a text block is a picture: commands stand in console, sh or usage blocks")


def option_names(text):
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


def help_of(story, command, line):
    output, code = story.run(f"holdfast help {command}", line)
    if code != 0:
        raise Wrong(line, f"holdfast has no command {command!r}")
    return output


def commands_of(story, line, above=""):
    """Those of the program, or of a command that has commands of its own: "jobs ls"."""
    listing = help_of(story, above, line).split("\n  -h,--help")[0]
    names = [f"{above} {name}".strip() for name in re.findall(r"^  ([a-z]+)  ", listing, re.MULTILINE)]
    return [inner for name in names for inner in (above and [name] or commands_of(story, line, name) or [name])]


def usage(block, story, shown):
    """Every option shown is there; with `all`, every command and option that is there has been shown on the page."""
    known = commands_of(story, block.at)
    for number, line in block.numbered:
        for part in re.split(r" \| (?![^\[]*\])", line.removeprefix("holdfast ").split("  #")[0]):
            words = part.split()
            command = next((name for i in range(len(words)) for name in (words[i], " ".join(words[i:i + 2])) if name in known), None)
            if command is None:
                raise Wrong(number, f"`{part.strip()}` names no command of holdfast; it has {', '.join(known)}")
            names = option_names(part)
            shown.setdefault(command, set()).update(names)
            there = option_names(re.sub(r"(?m)^ {0,1}\S.*$", "", help_of(story, command, number)))
            if missing := names - there:
                raise Wrong(number, f"{', '.join(sorted(missing))} is not in `holdfast help {command}`")
    if "all" in block.words:
        complete(block, story, known, shown)


def complete(block, story, known, shown):
    everyones = {"-h", "--help", "--store", "--json"}
    for command in known:
        if command not in shown:
            raise Wrong(block.at, f"the command {command} is missing")
        for names in re.findall(r"^  (-\S+)", help_of(story, command, block.at), re.MULTILINE):
            if not (set(names.split(",")) & (shown[command] | everyones)):
                raise Wrong(block.at, f"{command}: the option {names} is missing")
