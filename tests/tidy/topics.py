# SPDX-License-Identifier: Apache-2.0
"""What the doctor can find is written down: each topic has a row in a page, and a test that has seen it."""
import re

from store_names import stores_of

# Whose topics are not a store's own page.
ELSEWHERE = {"all": "docs/reference/doctor.md", "memory": "docs/reference/doctor.md"}


def page_of(topic):
    store = topic.split(".")[0]
    return ELSEWHERE.get(store, f"docs/stores/{store}.md")


def topics(tree):
    """Each topic of a finding has one row in its page, is named in a test, and can be accepted; no row has lost its topic."""
    stores = stores_of(tree)
    names = "|".join((*stores, *ELSEWHERE))
    in_code = rf'"((?:{names})\.[a-z][a-z0-9-]*)"'
    row = rf"^\| `((?:{names})\.[a-z][a-z0-9-]*)` \|(.*)\|(.*)\|(.*)\| *$"
    said = {}  # topic -> where a finding of it is made
    for path in tree.cpp("src/"):
        for _, line, match in tree.find(in_code, path, tree.uncommented(path)):
            said.setdefault(match[1], (path, line))
    rows = {}  # topic -> where its row is
    for page in sorted({page_of(store + ".") for store in (*stores, *ELSEWHERE)} & set(tree.files)):
        for _, line, match in tree.find(row, page, tree.text(page)):
            if page_of(match[1]) != page:
                yield page, line, f"the row of {match[1]} belongs into {page_of(match[1])}"
            elif match[1] in rows:
                yield page, line, f"{match[1]} has a row already"
            elif not re.search(r"note|warning|danger", match[2]):
                yield page, line, f"the second cell of {match[1]} is its severity: note, warning or danger"
            elif match[1] not in said:
                yield page, line, f"nothing in src/ finds {match[1]}: take the row away"
            rows.setdefault(match[1], (page, line))
    for store in stores:
        path = f"src/stores/{store}/findings.cpp"
        listed = [match[1] for _, _, match in tree.find(in_code, path, tree.uncommented(path))] if path in tree.files else []
        for topic in sorted(t for t in said if t.startswith(store + ".") and t not in listed):
            yield *said[topic], f"{topic} is missing in {path}: accept={topic} would be refused"
    tests = "".join(tree.text(path) for path in tree.cpp("tests/"))
    for topic, (path, line) in sorted(said.items()):
        if topic not in rows:
            yield path, line, f"{topic} has no row | `{topic}` | severity | what it means | what to change | in {page_of(topic)}"
        if not re.search(rf"\b{re.escape(topic)}(?![\w-])", tests):
            yield path, line, f"no test names {topic}: show that it is found"
