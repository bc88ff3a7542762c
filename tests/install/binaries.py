# SPDX-License-Identifier: Apache-2.0
"""What the tools of the system say about our binaries, and what is wrong with it."""
import platform
import re
from collections import Counter

# How to build something without hardening.
SOFT = "-fno-stack-protector -fcf-protection=none -Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,/nowhere"
if platform.machine() != "x86_64":
    SOFT = SOFT.replace("-fcf-protection=none ", "")

OF_A_CLASS = re.compile(r"(typeinfo for|typeinfo name for|vtable for) (.*)")


def function_name(signature):
    """holdfast::Lease::held for `holdfast::Lease::held() const`."""
    return re.match(r".*?::operator\(\)|[^(]*", signature.replace("[abi:cxx11]", ""))[0]


def wrong_names(listing, nm):
    """Sentences about what `nm -DC --defined-only` shows and the headers do not declare, or the other way round."""
    names = {re.sub(r"^\S+ \w ", "", line) for line in nm.splitlines()}
    tables = {match[0]: match[2] for match in map(OF_A_CLASS.fullmatch, names) if match}
    functions = {name: function_name(name) for name in names if name not in tables}
    counts = Counter(functions.values())
    wrong = []
    for name, function in functions.items():
        # A class is exported as a whole: its private functions are outside as well.
        inside = any(function.startswith(known + "::") for known in listing.classes)
        if function not in listing.functions and not inside:
            wrong.append(f"{name} is outside and in no public header: hide it")
    for name, subject in tables.items():
        if subject not in listing.classes:
            wrong.append(f"{name} is outside and in no public header: hide it")
    for function, count in listing.functions.items():
        if counts[function] < count:
            wrong.append(f"{function} is declared {count} times and outside {counts[function]} times: mark it HOLDFAST_API and define it")
    for subject in listing.polymorphic():
        if f"typeinfo for {subject}" not in names:
            wrong.append(f"typeinfo for {subject} is not outside: mark the class HOLDFAST_API")
    return sorted(wrong)


def softness(tool):
    """What hardening is missing from a binary; tool(WORDS...) runs a tool on it."""
    segments, dynamic, symbols = tool("readelf", "-lW"), tool("readelf", "-dW"), tool("readelf", "-sW")
    stack = re.search(r"GNU_STACK .* (R\S*) +0x\w+$", segments, re.MULTILINE)
    wanted = {
        "its relocations stay writable (no RELRO)": "GNU_RELRO" in segments,
        "it binds lazily (no BIND_NOW)": re.search(r"BIND_NOW|\bFLAGS_1\b.*\bNOW\b", dynamic),
        "its stack is executable": stack and "E" not in stack[1],
        "its code is relocated (TEXTREL)": "TEXTREL" not in dynamic,
        "it looks for libraries in a place of its own (RPATH)": not re.search("RPATH|RUNPATH", dynamic),
        "it has no stack protector": "__stack_chk_fail" in symbols,
        "it has no fortified function": re.search(r"\b__(?!stack)\w+_chk\b", symbols),
        "asserts of the standard library are off": "__glibcxx_assert_fail" in symbols,
    }
    if platform.machine() == "x86_64":
        wanted["indirect jumps are not marked (no endbr64)"] = tool("objdump", "-d").count("endbr64") > 100
    return [words for words, truth in wanted.items() if not truth]
