// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/open_url.h"

namespace holdfast::postgres {

Result<std::shared_ptr<Origin>> open_url(const Url& url) {
  return Error{Errc::invalid, url.scheme + ": is not there yet"};
}

}  // namespace holdfast::postgres
