// SPDX-License-Identifier: Apache-2.0
#include "holdfast/mongodb.h"
#include "stores/mongodb/open_url.h"

namespace holdfast::mongodb {

Result<std::shared_ptr<Origin>> origin(Options) { return Error{Errc::invalid, "not there yet"}; }

Result<std::shared_ptr<Origin>> open_url(const Url&) { return Error{Errc::invalid, "not there yet"}; }

}  // namespace holdfast::mongodb
