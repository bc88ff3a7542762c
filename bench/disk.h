// SPDX-License-Identifier: Apache-2.0
// disk.h - what a commit cannot do without: a page to the disk.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/fd.h"
#include "bench/subject.h"
#include "bench/workload.h"

namespace holdfast::bench {

class Disk {
 public:
  explicit Disk(const std::string& folder)
      : file_(::open((folder + "/disk").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (!file_) throw std::runtime_error("cannot write in " + folder);
    write_page();
  }
  void write_page() {
    if (pwrite(file_.get(), page_.data(), page_.size(), 0) < 0 || fdatasync(file_.get()) != 0)
      throw std::runtime_error("cannot write to the disk");
  }

 private:
  const Fd file_;
  const std::array<char, 8192> page_ = {};
};

// On the disk that a server has its data on.
inline Rival twice_to_disk(const std::string& folder) {
  return {"twice fdatasync", Role::floor, [disk = std::make_shared<Disk>(folder)](double seconds) {
            return rate_of(seconds, [&] { disk->write_page(), disk->write_page(); });
          }};
}

}  // namespace holdfast::bench
