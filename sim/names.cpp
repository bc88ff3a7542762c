// SPDX-License-Identifier: Apache-2.0
#include "sim/names.h"

namespace holdfast::sim {

const char* to_string(Fault value) {
  switch (value) {
    case Fault::slow_message: return "slow message";
    case Fault::stuck_message: return "stuck message";
    case Fault::lost_request: return "lost request";
    case Fault::lost_reply: return "lost reply";
    case Fault::doubled_request: return "doubled request";
    case Fault::refused_connection: return "refused connection";
    case Fault::reset_connection: return "reset connection";
    case Fault::hung_client: return "hung client";
    case Fault::hung_store: return "hung store";
    case Fault::lost_ring: return "lost notification";
    case Fault::late_ring: return "late notification";
    case Fault::doubled_ring: return "doubled notification";
    case Fault::paused_process: return "paused process";
    case Fault::killed_process: return "killed process";
    case Fault::stepped_wall_clock: return "stepped wall clock";
    case Fault::broken_lease: return "broken lease";
    case Fault::purge: return "purge";
    case Fault::end_: return "end";
  }
  return "?";
}

const char* to_string(Sometimes value) {
  switch (value) {
    case Sometimes::granted_at_the_first_attempt: return "granted at the first attempt";
    case Sometimes::granted_after_waiting_in_the_queue: return "granted after waiting in the queue";
    case Sometimes::granted_out_of_order_on_request: return "granted out of order, as the caller asked";
    case Sometimes::granted_on_schedule: return "granted on schedule";
    case Sometimes::taken_over_after_expiry: return "taken over after expiry";
    case Sometimes::same_token_when_the_answer_was_lost: return "same token again after a lost reply";
    case Sometimes::void_on_arrival: return "void on arrival";
    case Sometimes::void_acquire_of_a_caller_that_has_gone:
      return "void acquire of a caller that has given up";
    case Sometimes::too_late_and_given_back: return "too late and given back";
    case Sometimes::busy_and_not_waited: return "busy, and the caller did not wait";
    case Sometimes::wait_over_in_the_queue: return "wait timed out in the queue";
    case Sometimes::wait_over_at_the_gate: return "wait timed out behind another thread";
    case Sometimes::schedule_exhausted: return "schedule exhausted";
    case Sometimes::turned_away_by_the_own_queue: return "busy because another thread of the process waits";
    case Sometimes::handed_over_at_the_gate: return "next thread of the process takes the place";
    case Sometimes::woken_by_a_notification: return "woken by a notification";
    case Sometimes::place_refreshed: return "place refreshed";
    case Sometimes::place_of_the_dead_skipped: return "place of a dead waiter skipped";
    case Sometimes::left_the_queue: return "left the queue";
    case Sometimes::in_doubt_to_the_end: return "in doubt to the end";
    case Sometimes::tidied: return "unclear acquire released";
    case Sometimes::tidied_again: return "unclear acquire released again";
    case Sometimes::tidying_gave_back_a_grant: return "release of an unclear acquire freed a grant";
    case Sometimes::granted_to_a_caller_that_has_gone: return "granted to a caller that has given up";
    case Sometimes::pending_release_tried_again: return "pending release tried again";
    case Sometimes::renewed_in_one_batch_with_others: return "renewed in one batch with others";
    case Sometimes::renewed_after_two_failures: return "renewed after two failures";
    case Sometimes::renewed_by_hand: return "renewed by hand";
    case Sometimes::extended_by_hand: return "extended by hand";
    case Sometimes::renewal_arrived_too_late_to_believe: return "renewal confirmed too late";
    case Sometimes::in_jeopardy: return "in jeopardy";
    case Sometimes::in_jeopardy_and_recovered: return "in jeopardy and recovered";
    case Sometimes::lost_at_the_deadline: return "lost at the deadline";
    case Sometimes::lost_while_paused: return "lost while paused";
    case Sometimes::lost_because_broken: return "lost because broken";
    case Sometimes::released: return "released";
    case Sometimes::release_in_doubt: return "release in doubt";
    case Sometimes::release_found_it_expired: return "release found it expired";
    case Sometimes::release_found_it_taken: return "release found it taken";
    case Sometimes::release_found_it_purged: return "release found it purged";
    case Sometimes::several_threads_in_one_batch: return "several threads in one batch";
    case Sometimes::unsent_behind_a_hung_call: return "not sent, as an earlier call hung";
    case Sometimes::token_rose_although_the_clock_fell: return "token rose although the clock went back";
    case Sometimes::token_rose_across_a_purge: return "token rose across a purge";
    case Sometimes::spared_by_a_purge: return "spared by a purge";
    case Sometimes::left_to_itself: return "detached lease left to itself";
    case Sometimes::held_without_end: return "held without end";
    case Sometimes::broken_because_abandoned: return "broken because abandoned without end";
    case Sometimes::job_was_done: return "job was done";
    case Sometimes::job_ran_again: return "job ran again";
    case Sometimes::job_waited_for_its_lock: return "job waited for its lock";
    case Sometimes::job_lost_its_claim: return "job lost its claim";
    case Sometimes::job_was_handed_back: return "job was handed back";
    case Sometimes::job_died: return "job died of failures or crashes";
    case Sometimes::died_holding: return "died holding";
    case Sometimes::died_waiting: return "died waiting";
    case Sometimes::end_: return "end";
  }
  return "?";
}

const char* to_string(Mutant value) {
  switch (value) {
    case Mutant::none: return "none";
#define HOLDFAST_SIM_NAME(name) \
  case Mutant::name: return #name;
      HOLDFAST_SIM_MUTANTS(HOLDFAST_SIM_NAME)
#undef HOLDFAST_SIM_NAME
    case Mutant::end_: return "end";
  }
  return "?";
}

}  // namespace holdfast::sim
