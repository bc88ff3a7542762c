# SPDX-License-Identifier: Apache-2.0
"""The rules. Each is a function of a Tree that yields (file, line, what to do) for every offence."""
import os
import re

from headers import headers_alone
from same_files import same_files
from store_names import store_names
from topics import topics

RULES = {"headers_alone": headers_alone, "same_files": same_files, "store_names": store_names, "topics": topics}

# A test may really sleep only if it is listed here, with the reason.
MAY_SLEEP = {}

# src/FOLDER -> how high it stands. Equals do not include each other; a store is a folder below src/stores/.
HEIGHT = {"base": 0, "core": 1, "rows": 2, "stores": 3, "client": 4, "jobs": 5, "c": 6, "cli": 6, "http": 6}
# What it lacks in the public headers is missing from the API.
BY_PUBLIC_HEADERS = {"cli": ["base"]}

MAX_LINES = 400
MAX_STATEMENT_LINES = 800  # of a .sql or .lua file: its blocks are short, and stand together so that they are read together
MAX_README_LINES = 200
MAX_PROSE_COLUMNS = 100


def rule(function):
    RULES[function.__name__] = function
    return function


def layer_of(path):
    """The layer of a file below src/: `core`, or `stores/sqlite`."""
    parts = path.split("/")[1:-1]
    if parts[:1] == ["stores"]:
        return "/".join(parts[:2])
    return parts[0] if parts else ""


@rule
def layers(tree):
    """A layer includes itself, those below it, and public headers."""
    for path in tree.cpp("src/"):
        own = layer_of(path)
        height = HEIGHT.get(own.split("/")[0])
        if height is None or own == "stores":
            yield path, 1, "move it into a layer: " + ", ".join(HEIGHT).replace("stores", "stores/DB")
            continue
        for line, name, target in tree.includes(path):
            if target is None:
                if name[0] == '"':
                    yield path, line, f"{name} is not in src/ or include/: mend the path, or write <> if it is foreign"
            elif not target.startswith(("src/", "include/")):
                yield path, line, f"src/ may not include {target}"
            elif target.startswith("src/"):
                other = layer_of(target)
                if other == own:
                    continue
                if HEIGHT.get(other.split("/")[0], 99) >= height:
                    yield path, line, f"{own} may not include {other} ({target}); a layer includes only those below it"
                elif other not in BY_PUBLIC_HEADERS.get(own, [other]):
                    yield path, line, f"{own} may not include {target}; it uses the library by its public headers, as users do"


@rule
def pure_core(tree):
    """src/core has no thread, clock, system call or randomness of its own."""
    header = re.compile(r"<(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|random|ctime|"
                        r"time\.h|unistd\.h|pthread\.h|sys/.*)>")
    call = (r"::now\s*\(|\b(clock_gettime|gettimeofday|timerfd_\w+|nanosleep|getrandom|arc4random|random_device|rand)\s*\("
            r"|\btime\s*\(\s*(NULL|nullptr|0|&)")
    for path in tree.cpp("src/core/"):
        for line, name, _ in tree.includes(path):
            if header.fullmatch(name):
                yield path, line, f"core is pure: take what {name} would give as an argument"
        for _, line, match in tree.find(call, path, tree.code(path)):
            yield path, line, f"core is pure: take the result of {match[0].strip(' (')} as an argument"


@rule
def public_headers(tree):
    """A user needs nothing but include/ and the standard library."""
    for path in tree.cpp("include/"):
        for line, name, target in tree.includes(path):
            ours = target is not None and target.startswith("include/")
            standard = target is None and re.fullmatch(r"<[a-z_0-9]+>", name)
            if not ours and not standard:
                yield path, line, f"a public header includes only public and standard headers, not {name}"


@rule
def registered(tree):
    """Every source, test, example, embedded file and folder is named in a CMakeLists.txt."""
    lists = tree.select("CMakeLists.txt")
    words = {path: set(re.findall(r'[^\s()"]+', re.sub(r"#.*", "", tree.text(path)))) for path in lists}

    def named(path):
        for cmake in lists:
            folder = os.path.dirname(cmake)
            if cmake != path and (not folder or path.startswith(folder + "/")):
                name = os.path.relpath(os.path.dirname(path) if path in lists else path, folder or ".")
                if any(word == name or word.endswith("/" + name) for word in words[cmake]):
                    return True
        return False

    imported = set()
    for path in tree.select(".py"):
        for name in re.findall(r"^\s*(?:from|import) (\w+)", tree.text(path), re.MULTILINE):
            imported.add(os.path.join(os.path.dirname(path), name + ".py"))

    wanted = set(tree.select(".cpp")) | set(tree.select(".sql", ".lua", ".json", under=("src/",))) | set(lists)
    wanted |= set(tree.select(".sh", ".py", under=("tests/", "examples/")))
    for path in sorted(wanted - imported - {"CMakeLists.txt"}):
        if not named(path):
            yield path, 1, "name it in a CMakeLists.txt (written out, not globbed), or delete it"


@rule
def dead_files(tree):
    """Somebody includes every header."""
    included = {target for path in tree.cpp() for _, _, target in tree.includes(path)}
    for path in tree.select(".h"):
        if path not in included:
            yield path, 1, "nobody includes this header: delete it"


@rule
def one_definition(tree):
    """No two headers define the same type in one namespace: the linker would keep the functions of one of them."""
    pattern = (r"^(?:namespace ([\w:]+) \{|(\})|(?:struct|class|union|enum|enum class) (?:\[\[\w+\]\] )?(\w+)(?: final)?"
               r"(?: :[^:;{][^;{]*)? \{)")
    first = {}
    for path in tree.select(".h", under=("include/", "src/")):
        namespaces = []
        for _, line, match in tree.find(pattern, path, tree.code(path)):
            if match[1]:
                namespaces.append(match[1])
            elif match[2]:
                namespaces = namespaces[:-1] if tree.text(path).split("\n")[line - 1].startswith("}  // namespace") else namespaces
            else:
                name = "::".join([*namespaces, match[3]])
                other = first.setdefault(name, path)
                if other != path:
                    yield path, line, f"{other} defines {name} too: give one of them another name"


@rule
def clocks(tree):
    """There is one clock, in src/base; the others stop in suspend or jump."""
    pattern = r"\b(steady_clock|system_clock|high_resolution_clock|utc_clock|CLOCK_MONOTONIC\w*|gettimeofday)\b"
    for path in tree.cpp("src/", "include/", "tests/", "examples/", "sim/", "bench/", "fuzz/"):
        if path.startswith("src/base/") or path == "include/holdfast/clock.h":
            continue
        for _, line, match in tree.find(pattern, path, tree.code(path)):
            yield path, line, f"{match[0]} is for src/base only: use the clock of include/holdfast/clock.h"


@rule
def simulated(tree):
    """What the simulator compiles waits only in ways that it has too: base/sync.h, base/wakeup.h, base/worker.h."""
    pattern = (r"\bstd::(mutex|shared_mutex|(recursive|timed|recursive_timed)_mutex|condition_variable(_any)?|j?thread|this_thread"
               r"|async|future|promise|latch|barrier|(counting|binary)_semaphore|call_once|random_device)\b")
    for path in tree.cpp("src/core/", "src/client/", "src/jobs/", "src/rows/", "src/stores/memory/", "src/stores/decorators/"):
        for _, line, match in tree.find(pattern, path, tree.code(path)):
            yield path, line, f"{match[0]} cannot be simulated: use what base/sync.h, base/wakeup.h or base/worker.h has"


@rule
def sleeps(tree):
    """Code waits for something; it does not sleep and hope."""
    pattern = (r"\b(sleep_for|this_thread\s*::\s*sleep_until|usleep|(clock_)?nanosleep)\b|(?<![\w>])::sleep\s*\("
               r"|(?<![\w.:>])sleep\s*\(\s*\d+\s*\)")
    for path in tree.cpp("src/", "include/", "tests/", "examples/", "sim/", "bench/", "fuzz/"):
        if path.startswith("src/base/") or path in MAY_SLEEP:
            continue
        for _, line, match in tree.find(pattern, path, tree.code(path)):
            yield path, line, f"await a condition instead of {match[0].strip(' (')} (a test: or give a reason in MAY_SLEEP)"
    for path in MAY_SLEEP:
        if path not in tree.files:
            yield path, 1, "MAY_SLEEP names a file that is gone"


def anchors(text):
    """The anchors of the headings of a Markdown text, as forges make them."""
    headings = re.findall(r"^#+ +(.*?) *#*$", text, re.MULTILINE)
    shown = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in shown}


def without_fences(text):
    fence = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
    return fence.sub(lambda match: "\n" * match[0].count("\n"), text)


def without_code(text):
    return re.sub(r"(`+)[^\n]*?\1", "", without_fences(text))


@rule
def links(tree):
    """Relative links in Markdown lead to a file, a folder or a heading."""
    link = r"\[[^\]\n]*\]\(<?([^)>\s]+)>?(?: +\"[^\"]*\")?\)|^ {0,3}\[[^\]\n]+\]: +<?([^\s>]+)>?"
    for path in tree.select(".md"):
        for _, line, match in tree.find(link, path, without_code(tree.text(path))):
            target = match[1] or match[2]
            if re.match(r"[a-z][a-z+.-]*:", target):
                continue
            file, _, anchor = target.partition("#")
            resolved = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if file.startswith("/") or resolved.startswith("..") or not os.path.exists(os.path.join(tree.root, resolved)):
                yield path, line, f"the link {target} leads nowhere"
            elif anchor and resolved.endswith(".md") and anchor not in anchors(without_fences(tree.text(resolved))):
                yield path, line, f"{resolved} has no heading for #{anchor}"


@rule
def readme(tree):
    """The README stays a page or two."""
    if "README.md" in tree.files:
        lines = tree.text("README.md").count("\n")
        if lines >= MAX_README_LINES:
            yield "README.md", lines, f"{lines} lines: keep it under {MAX_README_LINES}, move the rest to docs/"


@rule
def prose(tree):
    """Prose wraps, so that it can be read beside the code and compared line by line."""
    left_out = re.compile(r"\s*(\||<!--|([-*] |\d+\. )?!?\[[^]]*\]\([^)]*\)[.,;:]?$)")
    for path in tree.select(".md", under=("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/")):
        for line, text in enumerate(without_fences(tree.text(path)).split("\n"), 1):
            if len(text) > MAX_PROSE_COLUMNS and not left_out.match(text):
                yield path, line, f"{len(text)} columns: wrap it at {MAX_PROSE_COLUMNS}"


def scripts(tree):
    return tree.select(".py", ".sh", ".cmake", "CMakeLists.txt") + [f for f in ("dev", ".ci/run") if f in tree.files]


@rule
def length(tree):
    """A file holds one idea."""
    for path in tree.cpp() + tree.select(".sql", ".lua") + tree.select(".json", under=("src/",)) + scripts(tree):
        lines = tree.text(path).count("\n")
        most = MAX_STATEMENT_LINES if path.endswith((".sql", ".lua")) else MAX_LINES
        if lines > most:
            yield path, lines, f"{lines} lines: split it by ideas ({most} at most)"


@rule
def leftovers(tree):
    """What is to be done is an issue, not a comment."""
    pattern = r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"
    for path in filter(tree.is_text, tree.files):
        for _, line, match in tree.find(pattern, path, tree.text(path)):
            yield path, line, f"do it now, or open an issue and delete the {match[0]}"


@rule
def machine_paths(tree):
    """Nothing in the tree knows on which machine or from which registry it was made."""
    folder = r"(?<![\w.~-])/(?:work|home|farm)/\w"
    registry = (r"\b(?:(?:deb|security|ftp|snapshot)[.]debian[.]org|(?:archive|security)[.]ubuntu[.]com|npmjs[.](?:org|com)"
                r"|(?:pypi|pythonhosted|rubygems|maven|proxy[.]golang)[.]org|(?:crates|conan|docker|ghcr|quay)[.]io)\b")
    for path in filter(tree.is_text, tree.files):
        for pattern, what in ((folder, "a path of one machine"), (registry, "the host of a package registry")):
            for _, line, match in tree.find(pattern, path, tree.text(path)):
                yield path, line, f"{match[0]} is {what}: take it out"


@rule
def switches(tree):
    """Without `default` the compiler says which case was forgotten."""
    for path in tree.cpp("src/", "include/"):
        for _, line, _ in tree.find(r"\bdefault\s*:(?!:)", path, tree.code(path)):
            yield path, line, "name every case of the enum instead of default"


@rule
def spdx(tree):
    """Every source says its licence in its first line (scripts: behind the shebang)."""
    identifier = "SPDX-License-Identifier: Apache-2.0"
    for path in tree.cpp():
        if not tree.text(path).startswith(f"// {identifier}\n"):
            yield path, 1, f"begin with the line // {identifier}"
    for path in scripts(tree):
        lines = tree.text(path).split("\n")
        line = 2 if lines[0].startswith("#!") else 1
        if lines[line - 1:line] != [f"# {identifier}"]:
            yield path, line, f"begin with the line # {identifier}"


