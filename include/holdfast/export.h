// SPDX-License-Identifier: Apache-2.0
// export.h - what is seen outside the library.  Everything else in it is hidden.
#pragma once

#define HOLDFAST_API __attribute__((visibility("default")))
