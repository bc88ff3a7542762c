// SPDX-License-Identifier: Apache-2.0
// doze.h - how a simulated thread sleeps: until a moment of its own clock, or until somebody rings.
#pragma once
#include <memory>

#include "sim/clocks.h"
#include "sim/task.h"
#include "sim/timeline.h"

namespace holdfast::sim {

// The Wakeup of base/fd.h in virtual time.  A ring that comes before the sleep is not lost.
class Doze {
 public:
  Doze(Timeline& timeline, Timeline::Owner owner, const DriftingClock& clock)
      : timeline_(timeline), owner_(owner), clock_(clock), bed_(std::make_shared<Bed>()) {}

  // To be awaited at once.
  Parking::Stand until(Instant moment) {
    Bed& bed = *bed_;
    ++bed.night;
    bed.asleep = !bed.ready;
    bed.parking.open = bed.ready;
    bed.ready = false;
    if (bed.asleep) wake_at(std::max(clock_.when(moment), timeline_.now()));
    return bed.parking.stand();
  }

  void ring() {
    if (bed_->asleep)
      wake_at(timeline_.now());
    else
      bed_->ready = true;
  }

 private:
  struct Bed {
    Parking parking;
    std::uint64_t night = 0;
    bool asleep = false, ready = false;
  };

  void wake_at(True when) {
    timeline_.at(when, owner_, [bed = bed_, night = bed_->night] {
      if (!bed->asleep || bed->night != night) return;
      bed->asleep = false;
      bed->parking.let_go();
    });
  }

  Timeline& timeline_;
  const Timeline::Owner owner_;
  const DriftingClock& clock_;
  const std::shared_ptr<Bed> bed_;  // outlives the sleeper: the timeline may still hold its alarm
};

}  // namespace holdfast::sim
