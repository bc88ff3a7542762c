// SPDX-License-Identifier: Apache-2.0
// pipe_line.h - two processes and a pipe each way: the least that one can do to wake another.
#pragma once
#include "base/fd.h"
#include "bench/subject.h"

namespace holdfast::bench {

class PipeLine final : public Line {
 public:
  PipeLine();
  void join(int me) override { me_ = me; }
  void send() override;
  void receive() override;

 private:
  struct Pipe {
    Pipe();
    Fd out, in;
  };
  Pipe to_[2];
  int me_ = 0;
};

}  // namespace holdfast::bench
