# SPDX-License-Identifier: Apache-2.0
"""What others know of a store is its descriptor: its name stands in its folder, its header and the table of stores."""
import re

# Which all of them may be named in.
TABLES = {"src/client/stores.cpp", "include/holdfast/holdfast.h"}
# The default store, as an example, and where a path may look like a password.
NAMED_ONCE = {"include/holdfast/client.h": "sqlite", "src/base/url.cpp": "sqlite"}
# Other names of the same database.
ALSO = {"mariadb": ["mysql"]}
# An ordinary word of the language.
NO_NAMES = {"memory"}


def stores_of(tree):
    """The stores: who has a descriptor."""
    return sorted({path.split("/")[2] for path in tree.select("/descriptor.cpp", under=("src/stores/",))} - NO_NAMES)


def store_names(tree):
    """No store's name stands in src/ or include/ outside its folder, its header and the table of stores."""
    stores = stores_of(tree)
    for path in tree.files:
        if not path.startswith(("src/", "include/")) or path.endswith("CMakeLists.txt") or path in TABLES:
            continue
        for store in stores:
            if path.startswith(f"src/stores/{store}/") or path == f"include/holdfast/{store}.h" or NAMED_ONCE.get(path) == store:
                continue
            words = "|".join([store, *ALSO.get(store, [])])
            for _, line, match in tree.find(f"(?i){words}", path, tree.text(path)):
                yield path, line, f"{match[0]} is the name of a store: ask its descriptor (holdfast/spi/descriptor.h)"
