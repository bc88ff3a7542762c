# SPDX-License-Identifier: Apache-2.0
"""The same files in every store's folder: who knows one store finds his way in the others."""
import re

PAGE = "docs/internals/architecture.md"
HEADING = "## A store, file by file"
# Of the folder, not of the store.
ALWAYS = {"CMakeLists.txt"}


def files_of(cell):
    """`store` is store.h and store.cpp; `jobs.sql` is that."""
    for name in re.findall(r"`([^`]+)`", cell):
        yield name, [name] if "." in name else [name + ".h", name + ".cpp"]


def same_files(tree):
    """A file in src/stores/DB/ has a name from the tables of architecture.md, and these name no file that is gone."""
    if PAGE not in tree.files:
        return
    text = tree.text(PAGE)
    start = text.find(HEADING)
    section = text[start:text.find("\n## ", start + 1)] if start >= 0 else ""
    first = text.count("\n", 0, max(start, 0)) + 1
    folders = sorted({path.split("/")[2] for path in tree.select("/descriptor.cpp", under=("src/stores/",))})
    there = {folder: {path.split("/", 3)[3] for path in tree.files if path.startswith(f"src/stores/{folder}/")} for folder in folders}
    known = {folder: set(ALWAYS) for folder in folders}
    for line, row in enumerate(section.split("\n"), first):
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        if len(cells) == 2:  # | file | role |
            stores = folders
        elif len(cells) == 3 and cells[1].strip("`") in folders:  # | file | store | role |
            stores = [cells[1].strip("`")]
        else:
            continue
        for name, files in files_of(cells[0]):
            for store in stores:
                known[store].update(files)
            if not any(file in there[store] for file in files for store in stores):
                who = "no store has" if stores is folders else f"{stores[0]} has no"
                yield PAGE, line, f"{who} {name}: take it out of the table"
    for folder in folders:
        for file in sorted(there[folder] - known[folder]):
            yield (f"src/stores/{folder}/{file}", 1,
                   f"give it the name that its role has in other stores, or name it in {PAGE}, '{HEADING[3:]}'")
