// SPDX-License-Identifier: Apache-2.0
// names.h - enums whose values have names and are counted.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::sim {

// What can go wrong.  Each kind has a probability of its own in each seed, and is off in half of them.
enum class Fault : std::uint8_t {
  slow_message,   // takes up to some 100 ms
  stuck_message,  // takes seconds, perhaps longer than anybody waits for it
  lost_request,
  lost_reply,
  doubled_request,  // delivered twice, the second time at a moment of its own
  refused_connection,
  reset_connection,  // the caller is told at once; what it sent may still arrive
  hung_client,       // a client's network swallows or holds everything for a while
  hung_store,        // the store answers nobody for a while
  lost_ring,
  late_ring,
  doubled_ring,
  paused_process,      // SIGSTOP, swap, a suspended laptop
  killed_process,      // and another is started in its place
  stepped_wall_clock,  // the store's wall clock, back or forth
  broken_lease,        // an operator takes it away
  purge,               // the store forgets all keys that are free
  end_,
};

// Situations that a good run of many seeds must have seen, or it has proven nothing about them.
enum class Sometimes : std::uint8_t {
  granted_at_the_first_attempt,
  granted_after_waiting_in_the_queue,
  granted_out_of_order_on_request,
  granted_on_schedule,
  taken_over_after_expiry,
  same_token_when_the_answer_was_lost,
  void_on_arrival,
  void_acquire_of_a_caller_that_has_gone,
  too_late_and_given_back,
  busy_and_not_waited,
  wait_over_in_the_queue,
  wait_over_at_the_gate,
  schedule_exhausted,
  turned_away_by_the_own_queue,
  handed_over_at_the_gate,
  woken_by_a_notification,
  place_refreshed,
  place_of_the_dead_skipped,
  left_the_queue,
  in_doubt_to_the_end,
  tidied,
  tidied_again,
  tidying_gave_back_a_grant,
  granted_to_a_caller_that_has_gone,
  pending_release_tried_again,
  renewed_in_one_batch_with_others,
  renewed_after_two_failures,
  renewed_by_hand,
  extended_by_hand,
  renewal_arrived_too_late_to_believe,
  in_jeopardy,
  in_jeopardy_and_recovered,
  lost_at_the_deadline,
  lost_while_paused,
  lost_because_broken,
  released,
  release_in_doubt,
  release_found_it_expired,
  release_found_it_taken,
  release_found_it_purged,
  several_threads_in_one_batch,
  unsent_behind_a_hung_call,
  token_rose_although_the_clock_fell,
  token_rose_across_a_purge,
  spared_by_a_purge,  // its token was ahead of the clock
  left_to_itself,     // a detached lease was not released
  held_without_end,
  broken_because_abandoned,  // a lease without end whose process had died
  job_was_done,
  job_ran_again,  // after the death of its worker, or a failure
  job_waited_for_its_lock,
  job_lost_its_claim,
  job_was_handed_back,
  job_died,
  died_holding,
  died_waiting,
  end_,
};

// Deliberate mistakes, to see that the checks notice.  Those of the library are planted by plant.py.
#define HOLDFAST_SIM_MUTANTS(X)              \
  /* how long a lease is believed in */      \
  X(deadline_from_the_reply)                 \
  X(renewals_counted_from_the_reply)         \
  X(renewals_by_hand_counted_from_the_reply) \
  X(no_margin)                               \
  X(margin_of_a_fifth_of_a_percent)          \
  X(late_grants_taken)                       \
  X(life_as_asked)                           \
  X(lost_is_not_final)                       \
  X(held_until_the_release_is_answered)      \
  /* keeping */                              \
  X(renewed_once_only)                       \
  X(renewals_not_repeated)                   \
  X(renewed_at_the_last_moment)              \
  X(failed_renewals_stay_in_flight)          \
  X(calls_without_a_limit)                   \
  X(one_failure_is_loss)                     \
  X(jeopardy_is_loss)                        \
  X(losses_not_noticed)                      \
  X(loss_after_the_renewal)                  \
  X(loss_told_late)                          \
  /* requests without a reply */             \
  X(unknown_is_failure)                      \
  X(unknown_is_success)                      \
  X(failures_are_not_doubt)                  \
  X(in_doubt_is_not_tidied)                  \
  X(tidied_once_only)                        \
  X(doubt_forgotten_by_a_grant)              \
  X(doubt_released_by_its_token)             \
  X(pending_releases_sent_once)              \
  X(acquires_valid_for_ever)                 \
  X(void_time_from_the_reply)                \
  /* waiting */                              \
  X(gate_ignored)                            \
  X(next_thread_sleeps_on)                   \
  X(waits_for_itself)                        \
  X(nothing_but_the_listener)                \
  X(neither_listener_nor_poll)               \
  X(places_not_asked_for)                    \
  X(places_asked_for_once)                   \
  X(queue_not_left)                          \
  X(pending_releases_leave_blindly)          \
  X(waits_past_its_end)                      \
  /* threads on one connection */            \
  X(replies_of_another_thread)               \
  X(followers_with_less_time_taken)          \
  /* jobs */                                 \
  X(claims_counted_from_the_reply)           \
  X(claims_of_anybody)                       \
  X(claims_end_early)                        \
  /* the store */                            \
  X(acquires_shorten)                        \
  X(leases_end_early)                        \
  X(renewed_by_anybody)                      \
  X(places_not_left)                         \
  X(queue_ignored)                           \
  X(tokens_stay)                             \
  X(void_time_ignored)                       \
  X(released_by_key)                         \
  X(token_is_the_clock)                      \
  X(token_restarts)                          \
  X(purged_blindly)                          \
  X(places_never_end)
enum class Mutant : std::uint8_t {
  none,
#define HOLDFAST_SIM_ENUMERATOR(name) name,
  HOLDFAST_SIM_MUTANTS(HOLDFAST_SIM_ENUMERATOR)
#undef HOLDFAST_SIM_ENUMERATOR
      end_,
};

const char* to_string(Fault);
const char* to_string(Sometimes);
const char* to_string(Mutant);

// How often each value of an enum was seen.
template <class E>
class Tally {
 public:
  void count(E what) { ++counts_[static_cast<std::size_t>(what)]; }
  std::uint64_t operator[](E what) const { return counts_[static_cast<std::size_t>(what)]; }
  Tally& operator+=(const Tally& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    return *this;
  }

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(E::end_)> counts_{};
};

// for (Fault f : all<Fault>)
template <class E>
inline constexpr auto all = [] {
  std::array<E, static_cast<std::size_t>(E::end_)> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<E>(i);
  return values;
}();

}  // namespace holdfast::sim
