// SPDX-License-Identifier: Apache-2.0
// pipe_wire.h - two processes and a pipe each way: the least that one can do to wake another.
#pragma once
#include "base/fd.h"
#include "bench/subject.h"

namespace holdfast::bench {

struct Pipe {
  Pipe();  // throws if there is none to be had
  Fd out, in;
};

class PipeWire final : public Wire {
 public:
  void join(int me) override { me_ = me; }
  void send() override;
  void receive() override;

 private:
  Pipe to_[2];
  int me_ = 0;
};

}  // namespace holdfast::bench
