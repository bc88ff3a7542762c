// SPDX-License-Identifier: Apache-2.0
#include "bench/pipe_line.h"

#include <unistd.h>

#include <stdexcept>

namespace holdfast::bench {

PipeLine::Pipe::Pipe() {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe to be had");
  out = Fd(ends[0]);
  in = Fd(ends[1]);
}

PipeLine::PipeLine() = default;

void PipeLine::send() {
  if (write(to_[1 - me_].in.get(), "k", 1) != 1) throw std::runtime_error("cannot write to a pipe");
}

void PipeLine::receive() {
  char byte = 0;
  if (read(to_[me_].out.get(), &byte, 1) != 1) throw std::runtime_error("cannot read from a pipe");
}

}  // namespace holdfast::bench
