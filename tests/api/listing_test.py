#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives small headers to tools/api/listing.py and looks at what it makes of them."""
import os
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "api"))

import listing  # noqa: E402

# (what it shows, a header, the lines, the functions that the library must define)
CASES = [
    ("comments and bodies are gone, whitespace is one space",
     "// f();\nint  f( /* why */ int a,\n       int b = 2 ) ; inline int g() { return '}'; }  // h();\n",
     ["int f(int a, int b = 2)", "inline int g()"], {"f": 1}),
    ("private parts are gone, also those that a class has by default",
     "class A {\n  int hidden();\n public:\n  int seen();\n protected:\n  int also_seen();\n private:\n  struct B { B(); };\n  int b_;\n};\n",
     ["class A", "  int seen()", "  int also_seen()"], {"A::seen": 1, "A::also_seen": 1}),
    ("a struct is public unless it says otherwise",
     "struct A {\n  int a = 1;\n  friend struct B;\n  static_assert(true);\n private:\n  int b;\n};\n", ["struct A", "  int a = 1"], {}),
    ("namespaces name what is in them",
     "namespace a::b {\nvoid f();\nstruct S { static S make(); };\n}  // namespace a::b\n",
     ["namespace a::b", "void f()", "struct S", "  static S make()"], {"a::b::f": 1, "a::b::S::make": 1}),
    ("what is under detail is not shown, but the library must have it",
     "namespace a {\nnamespace detail::b {\nvoid f();\n}\nvoid g();\n}\n", ["namespace a", "void g()"], {"a::detail::b::f": 1, "a::g": 1}),
    ("a class that is only named is not shown", "class A;\nstruct B;\nstruct C {};\n", ["struct C"], {}),
    ("an enum is one line, its comments gone",
     "enum class E : int {\n  one,  // the first\n  two = 2,\n};\nenum class F : long {};\n",
     ["enum class E : int { one, two = 2 }", "enum class F : long {}"], {}),
    ("initialisers in braces stay, those of a constructor go",
     'struct A {\n  A(int a) : b_{a}, c_([](int) { return 1; }) { f(); }\n  Millis m{seconds(30)};\n  S s = {};\n  S t{"{"};\n};\n',
     ["struct A", "  A(int a)", "  Millis m{seconds(30)}", "  S s = {}", '  S t{"{"}'], {}),
    ("constants are no functions", "inline constexpr T never = T::max();\nusing F = void(int);\n",
     ["inline constexpr T never = T::max()", "using F = void(int)"], {}),
    ("what has no definition elsewhere is not asked of the library",
     "struct A {\n  A() = default;\n  A(const A&) = delete;\n  virtual ~A();\n  virtual int f() = 0;\n  A(int);\n  A(long);\n};\n"
     "template <class T> int g(T);\ntemplate <class T> struct B { int h(); };\n",
     ["struct A", "  A() = default", "  A(const A&) = delete", "  virtual ~A()", "  virtual int f() = 0", "  A(int)", "  A(long)",
      "template <class T> int g(T)", "template <class T> struct B", "  int h()"], {"A::A": 2, "A::~A": 1}),
    ("operators",
     "struct A {\n  A& operator=(A&&) noexcept;\n  explicit operator bool() const { return true; }\n  int operator()(int) const;\n"
     "  T* operator->() { return t; }\n};\n",
     ["struct A", "  A& operator=(A&&) noexcept", "  explicit operator bool() const", "  int operator()(int) const", "  T* operator->()"],
     {"A::operator=": 1, "A::operator()": 1}),
    ("functions of functions", "void on(std::function<void(const S&)>, F f = {});\nstd::function<int()> g();\n",
     ["void on(std::function<void(const S&)>, F f = {})", "std::function<int()> g()"], {"on": 1, "g": 1}),
    ("a definition outside its class is no second declaration", "template <class F>\nauto C::run(F f) {\n  return f;\n}\nint after();\n",
     ["int after()"], {"after": 1}),
    ("the export macro is not shown, macros are",
     '#pragma once\n#include <map>\n#define HOLDFAST_API here\nclass HOLDFAST_API C {\n public:\n  C();\n};\n[[noreturn]] HOLDFAST_API void f();\n',
     ["#define HOLDFAST_API here", "class C", "  C()", "[[noreturn]] void f()"], {"C::C": 1, "f": 1}),
]


def main():
    failures = 0
    for what, header, lines, functions in CASES:
        found = listing.Listing()
        listing.add(found, header)
        if found.lines != lines or found.functions != functions:
            print(f"{what}:\n  expected {lines} {functions}\n  found    {found.lines} {dict(found.functions)}")
            failures += 1

    found = listing.Listing()
    listing.add(found, "struct D : C {};\nstruct C : B {};\nstruct B { virtual ~B(); };\nclass E : public std::runtime_error {};\nstruct F {};\n"
                       "struct G : F {};\n")
    if found.polymorphic() != {"B", "C", "D", "E"}:
        print(f"which classes have a vtable: found {found.polymorphic()}")
        failures += 1
    print(f"{failures} of {len(CASES) + 1} failed" if failures else f"{len(CASES) + 1} as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
