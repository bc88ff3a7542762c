// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/open_url.h"

namespace holdfast::redis {

Result<std::shared_ptr<Origin>> open_url(const Url& url) {
  return Error{Errc::invalid, url.scheme + ": is not there yet"};
}

}  // namespace holdfast::redis
