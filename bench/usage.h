// SPDX-License-Identifier: Apache-2.0
// usage.h - what this process uses of the machine.
#pragma once
#include <string>

namespace holdfast::bench {

double cpu_seconds();  // of all its threads, since it started
int thread_count();
double resident_bytes();
double file_bytes(const std::string& path);

}  // namespace holdfast::bench
