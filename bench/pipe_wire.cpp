// SPDX-License-Identifier: Apache-2.0
#include "bench/pipe_wire.h"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

namespace holdfast::bench {

Pipe::Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe to be had");
  out = Fd(ends[0]);
  in = Fd(ends[1]);
}

void PipeWire::send() {
  if (write(to_[1 - me_].in.get(), "k", 1) != 1) throw std::runtime_error("cannot write to a pipe");
}

void PipeWire::receive() {
  char byte = 0;
  if (read(to_[me_].out.get(), &byte, 1) != 1) throw std::runtime_error("cannot read from a pipe");
}

}  // namespace holdfast::bench
