// SPDX-License-Identifier: Apache-2.0
// planted.h - what plant.py puts into copies of the library's sources: mutants, and counters of situations.
#pragma once
#include "sim/names.h"

namespace holdfast::sim {

struct RunContext;
// The world that planted() and saw() mean; null: none.
void plant_in(RunContext* context) noexcept;
bool planted(Mutant) noexcept;
void saw(Sometimes) noexcept;

}  // namespace holdfast::sim

#define PLANTED(name) (::holdfast::sim::planted(::holdfast::sim::Mutant::name))
#define SAW(name) (::holdfast::sim::saw(::holdfast::sim::Sometimes::name))
