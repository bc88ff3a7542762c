# SPDX-License-Identifier: Apache-2.0
"""Pages with one thing wrong in each: a check that does not see it is worth nothing."""
FENCE = "```"


def block(info, *lines):
    return "\n".join([FENCE + info, *lines, FENCE, ""])


GOOD = "\n".join([
    "# A page where everything is right", "",
    block("text", "a picture"),
    block("cpp", "auto other = client.acquire(\"k\");", "use(other);"),
    block("cpp global", "int twice(int n) { return 2 * n; }"),
    block("cpp global=other", "int twice(int n) { return n + n; }"),
    block("cpp program=ask", "#include <holdfast/holdfast.h>", "#include <iostream>", "", "int main() {",
          "  auto client = holdfast::open(\"sqlite:x.db\");", "  std::cout << holdfast::Admin(client).list().leases.size() << \"\\n\";", "}"),
    block("console", "$ ./ask", "0", "$ printf 'one\\ntwo\\nthree\\n'", "…", "th…e", "$ sh -c 'exit 3'", "[exit 3]",
          "$ cat <<END", "> text", "> END", "text",
          "$ holdfast run k -- sleep 60 &"),
    "<!-- until: holdfast ls | grep -q ^k -->",
    block("console", "$ holdfast run -n k -- true", "holdfast: k is held by … pid …", "[exit 75]", "$ kill %1; wait %1",
          "[exit 143]"),
    block("sh", "holdfast run k -- true"),
    block("sh syntax", "./dev test"),
    block("sh file=work", "echo worked"),
    block("console", "$ ./work", "worked"),
    block("crontab", "MAILTO=ops", "5 3 * * * holdfast run -n nightly -- no-such-program || true"),
    block("ini", "[Service]", "ExecStart=/usr/bin/holdfast run -n nightly -- no-such-program"),
    block("toml", "[keys.k]", "note = 'of the file'"),
    block("console", "$ holdfast config k | grep note", "note … of the file …/config.toml:2"),
    block("sql", "SELECT key, sequence FROM locks;"),
    "<!-- servers: PostgreSQL, Redis, MongoDB and MariaDB on localhost -->",
    block("sql db=postgres", "SELECT 1;"),
    block("sql db=mariadb", "SELECT 1;"),
    block("json db=mongodb", '{"ping": 1}'),
    block("json", '{"a": "document"}'),
    block("console", "$ redis-cli ping", "PONG", "$ mariadb -u app -h localhost app -Ne 'SELECT 7'", "7"),
    block("usage", "holdfast run [-n | -w DURATION] KEY [--] CMD", "holdfast show KEY | ls [PREFIX]"),
])

# (what is said of it, the page).
BAD = [
    ("nothing runs Ruby here", block("ruby", "Locker.run('k') { }")),
    ("nothing runs Java here", block("java", "locker.run();")),
    ("names no server", "<!-- servers: Oracle on localhost -->\n"),
    ("MongoDB refuses", "<!-- servers: MongoDB on localhost -->\n" + block("json db=mongodb", '{"dance": 1}')),
    ("ends with 1", block("json", "{a document}")),
    ("ERROR 1146", "<!-- servers: MariaDB on localhost -->\n" + block("sql db=mariadb", "SELECT * FROM nowhere;")),
    ("should print", "<!-- servers: Redis on localhost -->\n" + block("console", "$ redis-cli ping", "PANG")),
    ("is no kind of block", block("pascal", "begin end.")),
    ("says not what it is", block("", "anything")),
    ("is not closed", FENCE + "text\nno end"),
    ("means nothing behind", block("console now", "$ true")),
    ("not in an indented one", "Do this:\n\n    $ holdfast ls\n"),
    ("not in an indented one", "Do this:\n\n    first\n    holdfast ls\n"),
    ("is no direction", "<!-- sleep: 5 -->\n"),
    ("a text block is a picture", block("text", "holdfast ls")),
    ("docs/page.md:3:", block("cpp", "client.acquire(\"k\");", "client.acquaint(\"k\");")),
    ("does not compile", block("cpp", "int f() {")),
    ("does not compile", block("cpp global", "struct Mail {", "  static constexpr std::string_view name = \"Mail\";",
                               "  static std::string lock_key(std::string) { return \"k\"; }",
                               "  void perform(holdfast::JobContext&, int) {}", "};")),
    ("does not compile", block("cpp global=one", "int f();") + block("cpp", "f();")),
    ("does not compile", block("cpp", "int main() { return nonsense; }")),
    ("ends with 3", block("cpp run", "int main() { return 3; }")),
    ("begins with a command", block("console", "output")),
    ("but printed", block("console", "$ echo right", "wrong")),
    ("but printed", block("console", "$ echo right")),
    ("but printed", block("console", "$ true", "something")),
    ("but printed", block("console", "$ printf 'a\\nb\\n'", "a")),
    ("should end with 0, but ended with 3", block("console", "$ (exit 3)")),
    ("should end with 75, but ended with 0", block("console", "$ true", "[exit 75]")),
    ("ends with 1", block("sh", "false", "true")),
    ("bash cannot parse it", block("sh syntax", "if true")),
    ("./dev has no word", block("sh syntax", "./dev dance")),
    ("no line of a crontab", block("crontab", "5 3 * * holdfast run -n k -- true")),
    ("cron takes %", block("crontab", "5 3 * * * holdfast run -n k -- date +%F")),
    ("ends with 64", block("crontab", "5 3 * * * holdfast run -x k -- true")),
    ("write -- before CMD", block("crontab", "5 3 * * * holdfast run k backup")),
    ("is no key of", block("ini", "[Service]", "ExecStrat=holdfast ls")),
    ("ends with 64", block("ini", "[Service]", "ExecStart=/usr/bin/holdfast run --ttl 5 k -- backup")),
    ("ends with 64", block("toml", "[defaults]", "ttl = 5")),
    ("no such column", block("sql", "SELECT owner FROM locks;")),
    ("is not in `holdfast help run`", block("usage", "holdfast run [-x] KEY")),
    ("names no command", block("usage", "holdfast fly")),
    ("is missing", block("usage all", "holdfast run KEY")),
    ("no project in tests/install", block("cmake", "find_package(something_else)")),
]


def run(faults):
    """`faults(text)` is what the checks say about a page."""
    failures = [f"false alarm: {fault}" for fault in faults(GOOD)]
    for said, page in BAD:
        found = faults(page)
        if not any(said in fault for fault in found):
            failures.append(f"not found out ({said}):\n{page}found instead: {found}")
    print("\n".join(failures) if failures else f"{len(BAD)} wrong pages found out")
    return 1 if failures else 0
