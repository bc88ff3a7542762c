// SPDX-License-Identifier: Apache-2.0
// probe.cpp - a user's program.  How it was compiled and linked is how the programs of the documents are.
#include "prelude.h"

int main() { return holdfast::version() == nullptr; }
