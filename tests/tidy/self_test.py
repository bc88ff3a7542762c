# SPDX-License-Identifier: Apache-2.0
"""Plants one offence after the other in a small clean tree and checks that its rule finds it, and finds nothing before."""
import os
import tempfile

import rules
from tree import Tree

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
SCRIPT = "# SPDX-License-Identifier: Apache-2.0\n"
STORE_FILES = "# Architecture\n## A store, file by file\n| file | role |\n| --- | --- |\n| `descriptor` | a |\n| `findings` | b |\n| `own.inc` | `sqlite` | c |\n"
TOPIC_ROW = "| `sqlite.known` | danger | what it means | what to change |\n"

# A tree without offence, full of what a careless rule would take for one.
CLEAN = {
    ".git": "gitdir: /" "home/me/holdfast/.git/worktrees/one\n",  # in a worktree it is a file
    "CMakeLists.txt": SCRIPT + "foreach(folder src/base src/core src/stores/a src/stores/b src/stores/sqlite src/client tests)\n",
    "README.md": "# Title\n[one](docs/one.md), [heading](docs/one.md#a-heading-with-code), [here](#title), `[no](link)`\n"
                 "[web](https://example.org/nowhere)\n```\n[no](link)\n```\n",
    "docs/one.md": "# One\n## A heading, with `code`\nsrc/home/x and ~/work/x are no machine's paths\n" + "é" * 100 + "\n"
                   f"| {'cell ' * 30}|\n<!-- until: {'true; ' * 30}-->\n```text\n{'column ' * 30}\n```\n"
                   f"- [a long link](https://example.org/{'x' * 100}).\n",
    "docs/internals/architecture.md": STORE_FILES + "## Something else\n| `gone` | d |\n",
    "docs/stores/sqlite.md": TOPIC_ROW,
    "include/holdfast/clock.h": LICENCE + "#pragma once\n#include <chrono>\nusing Other = std::chrono::steady_clock;\n",
    "include/holdfast/all.h": LICENCE + '#pragma once\n#include <vector>\n#include "holdfast/clock.h"\n',
    "src/base/CMakeLists.txt": SCRIPT + "holdfast_layer(base SOURCES late.cpp now.cpp)\n",
    "src/base/late.h": LICENCE + "#pragma once\nnamespace a::b {\nenum class E : int { y };\n}  // namespace a::b\nlong late();\n",
    "src/base/late.cpp": LICENCE + '#include "base/now.h"\n#include "base/late.h"\nlong late() { return now(); }\n',
    "src/base/now.h": LICENCE + "#pragma once\nlong now();\n",
    "src/base/now.cpp": LICENCE + '#include "base/now.h"\n// steady_clock\nlong now() { return sleep_for(steady_clock); }\n',
    "src/core/CMakeLists.txt": SCRIPT + "holdfast_layer(core SOURCES core.cpp)\n",
    "src/core/core.h": LICENCE + "#pragma once\nstruct Core { Core() = default; long now = 1'000; };\n",
    "src/core/core.cpp": LICENCE + '#include "core/core.h"\n#include "base/now.h"\n#include "holdfast/all.h"\n'
                                   'auto s = "default: sleep_for " R"(system_clock)"; // default: #include <mutex>\n',
    "src/stores/a/CMakeLists.txt": SCRIPT + "holdfast_layer(a SOURCES a.cpp)\nholdfast_embed(holdfast_a a get.sql)\n",
    "src/stores/a/a.h": LICENCE + '#pragma once\n#include "core/core.h"\n',
    "src/stores/a/a.cpp": LICENCE + '#include "a.h"\n#include <foreign.h>\n#include "stores/a/get.sql.h"\n',
    "src/stores/a/get.sql": "select 1;\n",
    "src/stores/b/CMakeLists.txt": SCRIPT + "holdfast_layer(b SOURCES b.cpp)\nholdfast_statements(holdfast_b b leases.sql)\n",
    "src/stores/b/leases.sql": "-- name: get\nselect 1;\n",
    "src/stores/b/b.h": LICENCE + "#pragma once\nclass Core;\nnamespace b {\nstruct Core {};\n}  // namespace b\n",
    "src/stores/b/b.cpp": LICENCE + '#include "stores/b/b.h"\n#include "base/now.h"\n#include "stores/b/sql.h"\n',
    "src/stores/sqlite/CMakeLists.txt": SCRIPT + "holdfast_layer(sqlite SOURCES descriptor.cpp findings.cpp)\n",
    "src/stores/sqlite/descriptor.h": LICENCE + "#pragma once\nextern int sqlite;\n",
    "src/stores/sqlite/descriptor.cpp": LICENCE,
    "src/stores/sqlite/findings.cpp": LICENCE + 'auto topic = "sqlite.known"; // "sqlite.unknown"\n',
    "src/stores/sqlite/own.inc": "",
    "src/client/CMakeLists.txt": SCRIPT + "holdfast_layer(client SOURCES client.cpp stores.cpp)\n",
    "src/client/client.h": LICENCE + "#pragma once\n",
    "src/client/client.cpp": LICENCE + '#include "client/client.h"\n#include "stores/a/a.h"\n#include "stores/b/b.h"\n',
    "src/client/stores.cpp": LICENCE + '#include "stores/sqlite/descriptor.h"\n',
    "tests/CMakeLists.txt": SCRIPT + "holdfast_test(core SOURCES core/core_test.cpp)\nadd_test(tool tool.py)\n",
    "tests/core/core_test.cpp": LICENCE + '#include "core/core.h"\n#include "tests/support.h"\n"sqlite.known"\n',
    "tests/support.h": LICENCE + "#pragma once\n",
    "tests/tool.py": "#!/usr/bin/env python3\n" + SCRIPT + "import part\n",
    "tests/part.py": SCRIPT,
    "build/dev/rubbish.h": "steady_clock",
}

# (rule, file, the text it gets, the line where the offence is).
PLANTS = [
    ("headers_alone", "tests/support.h", LICENCE + "#pragma once\nstd::string s;\n", 1),
    # Its source file includes something else before it.
    ("headers_alone", "src/base/late.h", LICENCE + "#pragma once\ninline long late() { return now(); }\n", 1),
    ("headers_alone", "src/core/core.h", LICENCE + "struct Twice {};\n", 1),
    ("layers", "src/core/core.h", LICENCE + '#include "client/client.h"\n', 2),
    ("layers", "src/base/now.h", LICENCE + '\n#include "core/core.h"\n', 3),
    ("layers", "src/stores/a/a.h", LICENCE + '#include "stores/b/b.h"\n', 2),
    ("layers", "src/stores/a/a.h", LICENCE + '#include "../b/b.h"\n', 2),
    ("layers", "src/stores/a/a.h", LICENCE + '#include "client/client.h"\n', 2),
    ("layers", "src/client/client.h", LICENCE + '#include "cli/args.h"\n', 2),
    ("layers", "src/client/client.h", LICENCE + '#include "tests/support.h"\n', 2),
    ("layers", "src/client/client.h", LICENCE + "#include <tests/support.h>\n", 2),
    ("layers", "src/cli/cli.h", LICENCE + '#include "core/core.h"\n', 2),
    ("layers", "src/util/util.h", LICENCE, 1),
    ("layers", "src/stores/common.h", LICENCE, 1),
    *(("pure_core", "src/core/core.h", LICENCE + f"#include <{name}>\n", 2)
      for name in ("thread", "mutex", "condition_variable", "random", "unistd.h", "sys/socket.h", "ctime")),
    *(("pure_core", "src/core/core.cpp", LICENCE + f"auto t = {call};\n", 2)
      for call in ("BootClock::now()", "time(nullptr)", "clock_gettime(0, &t)", "std::random_device()()")),
    ("public_headers", "include/holdfast/all.h", LICENCE + '#include "core/core.h"\n', 2),
    ("public_headers", "include/holdfast/all.h", LICENCE + "#include <sqlite3.h>\n", 2),
    ("public_headers", "include/holdfast/all.h", LICENCE + "#include <nlohmann/json.hpp>\n", 2),
    ("registered", "src/core/extra.cpp", LICENCE, 1),
    ("registered", "src/client/core.cpp", LICENCE, 1),
    ("registered", "tests/core/more_test.cpp", LICENCE, 1),
    ("registered", "tests/kill.sh", SCRIPT, 1),
    ("registered", "examples/first.cpp", LICENCE, 1),
    ("registered", "src/stores/b/put.sql", "select 1;\n", 1),
    ("registered", "src/jobs/CMakeLists.txt", SCRIPT, 1),
    ("dead_files", "src/core/unused.h", LICENCE, 1),
    ("dead_files", "include/holdfast/unused.h", LICENCE, 1),
    ("one_definition", "src/stores/a/a.h", LICENCE + "#pragma once\nclass Core {\n};\n", 3),
    ("one_definition", "src/client/client.h", LICENCE + "namespace a::b {\nenum class E : int { x };\n}  // namespace a::b\n", 3),
    *(("clocks", file, LICENCE + f"auto now = {clock};\n", 2)
      for file in ("src/core/core.h", "src/client/client.cpp", "include/holdfast/all.h", "tests/support.h")
      for clock in ("std::chrono::steady_clock::now()", "system_clock::now()", "high_resolution_clock()", "CLOCK_MONOTONIC")),
    *(("simulated", file, LICENCE + f"{wait} w;\n", 2)
      for file in ("src/client/client.cpp", "src/core/core.cpp")
      for wait in ("std::mutex", "std::condition_variable_any", "std::jthread")),
    *(("sleeps", file, LICENCE + f"void f() {{ {call}; }}\n", 2)
      for file in ("src/stores/a/a.cpp", "tests/core/core_test.cpp", "examples/first.cpp", "sim/world.h")
      for call in ("std::this_thread::sleep_for(1s)", "std::this_thread::sleep_until(t)", "usleep(5)", "::sleep(n)", "sleep(1)",
                   "nanosleep(&t, 0)")),
    ("links", "docs/one.md", "text\n[gone](two.md)\n", 2),
    ("links", "docs/one.md", "[gone](../README.md#no-such-heading)\n", 1),
    ("links", "docs/one.md", "[absolute](/README.md)\n", 1),
    ("links", "docs/one.md", "[by name]\n\n[by name]: two.md\n", 3),
    ("readme", "README.md", "line\n" * 200, 200),
    *(("prose", file, "\n" + begin + "x " * 51 + "\n", 2)
      for file in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/one.md")
      for begin in ("", "- ", "    ", "## ", "[a link](https://example.org) ")),
    ("length", "src/core/core.cpp", LICENCE + "\n" * 400, 401),
    ("length", "tests/tool.py", SCRIPT + "\n" * 400, 401),
    *(("leftovers", file, "\n" + word + ": later\n", 2)
      for file in ("README.md", "src/core/core.cpp", "dev") for word in ("TO" "DO", "FIX" "ME", "XX" "X")),
    *(("machine_paths", file, f"cd {words}\n", 1)
      for file in ("README.md", "dev", "src/base/now.cpp")
      for words in ("/" "work/main", '"/' 'home/me"', "https://deb." "debian.org/x", "pypi." "org")),
    *(("same_files", file, LICENCE, 1)
      for file in ("src/stores/sqlite/odd.cpp", "src/stores/sqlite/own.h", "src/stores/sqlite/part/findings.cpp")),
    *(("same_files", "docs/internals/architecture.md", STORE_FILES + row, 8)
      for row in ("| `gone` | d |\n", "| `gone.lua` | `sqlite` | d |\n")),
    ("topics", "src/stores/sqlite/new.cpp", LICENCE + 'auto topic = "sqlite.new";\n', 2),
    ("topics", "src/cli/new.cpp", LICENCE + 'auto topic = "all.new";\n', 2),
    ("topics", "src/stores/sqlite/listing.cpp", LICENCE + 'auto topic = "sqlite.elsewhere";\n', 2),
    *(("store_names", file, LICENCE + f"{words}\n", 2)
      for file in ("src/client/client.cpp", "src/stores/a/a.cpp", "include/holdfast/all.h", "src/stores/b/put.sql")
      for words in ('if (url.starts_with("sqlite:"))', "// as SQLite does", "#ifdef HOLDFAST_SQLITE")),
    ("topics", "docs/stores/sqlite.md", "| `sqlite.gone` | danger | means | change |\n", 1),
    ("topics", "docs/stores/sqlite.md", TOPIC_ROW + "| `memory.known` | note | means | change |\n", 2),
    ("topics", "docs/stores/sqlite.md", TOPIC_ROW + TOPIC_ROW, 2),
    ("topics", "docs/stores/sqlite.md", "| `sqlite.known` | bad | means | change |\n", 1),
    ("switches", "src/core/core.cpp", LICENCE + "switch (x) {\n  default:\n    break;\n}\n", 3),
    ("spdx", "src/core/core.h", "#pragma once\n", 1),
    ("spdx", "src/core/core.h", "\n" + LICENCE, 1),
    ("spdx", "tests/tool.py", "#!/usr/bin/env python3\nimport part\n", 2),
    ("spdx", "dev", "#!/usr/bin/env bash\n", 2),
    ("spdx", "src/core/CMakeLists.txt", "holdfast_layer(core SOURCES core.cpp)\n", 1),
]


def plant(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


def offences(files, name):
    with tempfile.TemporaryDirectory() as root:
        plant(root, CLEAN)
        plant(root, files)
        return list(rules.RULES[name](Tree(root)))


def run():
    failures = []
    for name in rules.RULES:
        failures += [f"{name}: false alarm in the clean tree: {offence}" for offence in offences({}, name)]
        if name not in {planted for planted, *_ in PLANTS}:
            failures.append(f"{name}: has no plant here")
    for name, path, text, line in PLANTS:
        found = offences({path: text}, name)
        if (path, line) not in [(file, at) for file, at, _ in found]:
            failures.append(f"{name}: did not find the offence at {path}:{line} in {text[-60:]!r}; found {found}")
    print("\n".join(failures) if failures else f"{len(PLANTS)} plants found by {len(rules.RULES)} rules")
    return 1 if failures else 0
