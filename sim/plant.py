# SPDX-License-Identifier: Apache-2.0
"""Plants deliberate mistakes, and counters of situations, in copies of the sources that the simulator compiles.

  plant.py --list              the files that get any
  plant.py --src SRC --out DIR writes their copies

PLANTED(name) is true in a run with that mutant, SAW(name) counts a situation: sim/planted.h. Each entry replaces a text
that must stand exactly once in its file, so that a change of the source is noticed here. What has no entry is compiled as
it is in src/."""
import argparse
import pathlib
import re
import sys

ENTRIES = []


def plant(file, old, new):
    ENTRIES.append((file, old, new))


def instead(mutant, file, old, new):
    """The mutant has the expression `new` in place of the expression `old`."""
    plant(file, old, f"(PLANTED({mutant}) ? ({new}) : ({old}))")


def only_unless(mutant, file, statement):
    """The mutant leaves out a statement."""
    plant(file, statement, f"if (!PLANTED({mutant})) {{ {statement} }}")


def before(text, file, statement):
    plant(file, statement, f"{text}\n{statement}")


# -- core: how long a lease is believed in

instead("no_margin", "core/timing.h", "set.value_or(std::max(Millis(5), life / 100 + Millis(life % 100 == Millis::zero() ? 0 : 1)))",
        "Millis::zero()")
plant("core/timing.h", "constexpr Millis margin_of(", "inline Millis margin_of(")
before("if (PLANTED(margin_of_a_fifth_of_a_percent) && life != never) return life / 500;", "core/timing.h",
       "if (life == never) return Millis::zero();\n  return (")
plant("core/timing.h", "constexpr bool worth_having(", "inline bool worth_having(")
instead("late_grants_taken", "core/timing.h", "now < deadline && deadline - now >= ttl / 2", "true")
plant("core/timing.h", "constexpr Millis granted_life(Millis asked, Millis remaining) { return std::min(asked, remaining); }",
      "inline Millis granted_life(Millis asked, Millis remaining) "
      "{ return PLANTED(life_as_asked) ? asked : std::min(asked, remaining); }")
plant("core/timing.h", "constexpr Millis attempt_limit(Millis ttl) { return std::clamp(ttl / 6, shortest_attempt, longest_attempt); }",
      "inline Millis attempt_limit(Millis ttl) "
      "{ return PLANTED(calls_without_a_limit) ? Millis(20'000) : std::clamp(ttl / 6, shortest_attempt, longest_attempt); }")
instead("void_time_from_the_reply", "core/timing.h", "moment.time_since_epoch() + *least_ - apart",
        "moment.time_since_epoch() + *least_ + apart + std::chrono::seconds(1)")
plant("core/belief.cpp", "wanted < deadline_ ? wanted : end - (plan_.ttl - plan_.ttl / 3)",
      "PLANTED(renewed_at_the_last_moment) ? end - plan_.ttl / 50 : (wanted < deadline_ ? wanted : end - (plan_.ttl - plan_.ttl / 3))")
before("if (PLANTED(renewals_not_repeated)) { renew_at_ = Instant::max(); return; }", "core/belief.cpp",
       "if (renew_at_ == Instant::max()) return;  // stop_renewing()")

# -- core: which leases are renewed, and which are lost

instead("renewed_once_only", "core/keeping.cpp", "entry.in_flight ? Instant::max() : entry.belief.renew_at()",
        "entry.belief.deadline() == Instant::max() || entry.in_flight || entry.group != nullptr || entry.renewal != Instant{} "
        "? Instant::max() : entry.belief.renew_at()")
instead("jeopardy_is_loss", "core/keeping.cpp", "entry.event == entry.belief.deadline()", "true")
plant("core/keeping.cpp", "entry.in_flight = false;\n  entry.belief.failed(now, jitter);",
      "entry.in_flight = PLANTED(failed_renewals_stay_in_flight);\n  entry.belief.failed(now, jitter);")

# -- core: acquiring

only_unless("failures_are_not_doubt", "core/acquiring.cpp", "if (in_doubt) unclear_until_ = in_flight_until_;")
instead("in_doubt_is_not_tidied", "core/acquiring.cpp", "failed && (queued_ || unclear_until_ || failed == Errc::too_late)",
        "failed && (queued_ || failed == Errc::too_late)")
plant("core/acquiring.cpp", ".tidy_again = unclear_until_}",
      ".tidy_again = PLANTED(tidied_once_only) ? std::nullopt : unclear_until_}")
instead("acquires_valid_for_ever", "core/acquiring.cpp", "attempts_ == 0 && !waits() ? limit : std::min(limit, horizon_)",
        "clamped_add(now, Millis(10'000))")
instead("places_asked_for_once", "core/acquiring.cpp", "queues() && (!placed_ || now - placed_->since >= placed_->life / 4)",
        "queues() && !placed_")
instead("places_not_asked_for", "core/acquiring.cpp", "placing_ ? placing_->life : Millis::zero()", "Millis::zero()")
before("if ((PLANTED(nothing_but_the_listener) || PLANTED(neither_listener_nor_poll)) && queues()) { asleep_until_ = Instant::max(); sleep_from_.reset(); }",
       "core/acquiring.cpp", "if (sleep_from_) {\n")
before("if (PLANTED(waits_past_its_end)) return Sleep{clamped_add(now, Millis(500))};", "core/acquiring.cpp",
       "finish(last_failure_ == Errc::busy ? Errc::timeout : last_failure_);\n    return done_;")

# -- the client: one acquire

plant("client/attempt.cpp", "if (waiter_->first()) return std::nullopt;",
      "if (waiter_->first() || PLANTED(gate_ignored)) return std::nullopt;")
plant("client/attempt.cpp", "const Reply last = waiter_->last_reply();",
      "SAW(wait_over_at_the_gate); const Reply last = waiter_->last_reply();")
plant("client/attempt.cpp", "waiter_->sleep(give_up_);\n  }\n",
      "waiter_->sleep(give_up_);\n  }\n  SAW(handed_over_at_the_gate);\n")
plant("client/attempt.cpp", "if (BootClock::now() < to_sleep->until) acquiring_.ready();",
      "if (BootClock::now() < to_sleep->until) { SAW(woken_by_a_notification); acquiring_.ready(); }")
plant("client/attempt.cpp", "const bool mine = (terms_.owner || unclear_until_) && ask_as_owner(step.until);",
      "SAW(turned_away_by_the_own_queue);\n"
      "    const bool mine = (terms_.owner || (unclear_until_ && !PLANTED(waits_for_itself))) && ask_as_owner(step.until);")
plant("client/attempt.cpp", "client_.waiting_.listen(step.until);  //",
      "if (!PLANTED(neither_listener_nor_poll)) client_.waiting_.listen(step.until);  //")
plant("client/attempt.cpp", "if (!reply) {\n    log_failure(reply.error());",
      "if (!reply && PLANTED(unknown_is_success)) {\n"
      "    reply_ = Reply{.verdict = Verdict::granted, .token = Token{1}, .remaining = terms_.ttl};\n"
      "    return acquiring_.answered(sent_, BootClock::now(), reply_);\n  }\n"
      "  if (!reply) {\n    log_failure(reply.error());")
plant("client/attempt.cpp", "acquiring_.answered(sent_, BootClock::now(), reply_);\n}",
      "if (PLANTED(deadline_from_the_reply)) sent_ = BootClock::now();\n  acquiring_.answered(sent_, BootClock::now(), reply_);\n}")
plant("client/attempt.cpp", "if (!terms_.owner) lease->unclear_until = unclear_until;",
      "if (!terms_.owner && !PLANTED(doubt_forgotten_by_a_grant)) lease->unclear_until = unclear_until;")
before("if (PLANTED(unknown_is_failure)) return;", "client/attempt.cpp", "const bool last = waiter_ && waiter_->leave();")
plant("client/attempt.cpp", "room_.mapped().place = last ? 1ms : 0ms;",
      "SAW(tidied);\n  room_.mapped().place = last && !PLANTED(queue_not_left) ? 1ms : 0ms;")
plant("client/attempt.cpp", "if (done.tidy_again) room_", "if (done.tidy_again) SAW(tidied_again);\n  if (done.tidy_again) room_")

# -- the client: waiting

plant("client/waiting.cpp", "door->second.queued = true;\n    return true;",
      "door->second.queued = true;\n    return !PLANTED(pending_releases_leave_blindly);")
plant("client/waiting.cpp", "if (const auto next = at->second.gate.leave(this)) (*next)->ring();",
      "const auto next = at->second.gate.leave(this);\n  if (next && !PLANTED(next_thread_sleeps_on)) (*next)->ring();")

# -- the client: keeping

plant("client/renewal_thread.cpp", "renew(connection, due);\n", 
      "{ if (due.size() > 1) SAW(renewed_in_one_batch_with_others); renewing = true; renew(connection, due); renewing = false; }\n")
plant("client/renewal_thread.cpp", "settle_renewed(due[i], replies[i], sent);",
      "settle_renewed(due[i], replies[i], PLANTED(renewals_counted_from_the_reply) ? now : sent);")
plant("client/renewal_thread.cpp", "if (deadline) set_renewed(*lease, *deadline);",
      "if (!deadline && lease->phase.load() != LeaseState::Phase::released) SAW(renewal_arrived_too_late_to_believe);\n"
      "  if (!deadline && PLANTED(lost_is_not_final) && lease->phase.load() != LeaseState::Phase::released) {\n"
      "    lease->phase = LeaseState::Phase::held;\n"
      "    lease->deadline = clamped_add(sent, reply.remaining).time_since_epoch().count();\n  }\n"
      "  if (deadline) set_renewed(*lease, *deadline);")
plant("client/renewal_thread.cpp", "lose(due[i],\n", "if (!PLANTED(losses_not_noticed)) lose(due[i],\n")
plant("client/renewal_thread.cpp", "for (const auto& lease : failed) keeping.failed(lease->id, now, jitter.fraction());",
      "for (const auto& lease : failed) keeping.failed(lease->id, now, jitter.fraction());\n"
      "  }\n  if (PLANTED(one_failure_is_loss)) {\n    for (const auto& lease : failed) lose(lease, {Loss::unreachable, {}});")
plant("client/renewal_thread.cpp", "if (now >= e.give_up || is_held_again(e)) continue;",
      "if (PLANTED(pending_releases_sent_once) && !e.answered) continue;\n    if (now >= e.give_up || is_held_again(e)) continue;")
plant("client/keeper.h", "Instant next_purge = Instant::max();", "Instant next_purge = Instant::max();\n  bool renewing = false;")
plant("client/keeper.cpp", "while (handle_next_event()) {",
      "while (!(PLANTED(loss_after_the_renewal) && renewing) && handle_next_event()) {")
plant("client/keeper.cpp", "if (next != Instant::max()) next -= early;",
      "if (next != Instant::max()) next -= early;\n"
      "      if (PLANTED(loss_after_the_renewal) && renewing) next = clamped_add(BootClock::now(), 20ms);\n"
      "      if (PLANTED(loss_told_late) && next != Instant::max()) next += 30ms;")

# -- the client: renewing and releasing by hand

plant("client/client_state.cpp", "const bool in_time = extend ?", 
      "const Instant counted = PLANTED(renewals_by_hand_counted_from_the_reply) ? BootClock::now() : sent;\n"
      "    const bool in_time = extend ?")
plant("client/client_state.cpp", "keeper_.extended(*lease, ttl, sent, reply->remaining)", "keeper_.extended(*lease, ttl, counted, reply->remaining)")
plant("client/client_state.cpp", "keeper_.renewed(*lease, ttl, sent, reply->remaining)", "keeper_.renewed(*lease, ttl, counted, reply->remaining)")
plant("client/client_state.cpp", "const Request release{.verb = Verb::release, .key = {lease.key}, .owner = {lease.owner}};",
      "const Request release{.verb = Verb::release, .key = {lease.key}, .owner = {lease.owner}, "
      ".token = PLANTED(doubt_released_by_its_token) ? lease.token : no_token};")
plant("client/client_state.cpp", "const bool was_held = lease->release();  // from here",
      "const bool was_held = PLANTED(held_until_the_release_is_answered) ? lease->held() : lease->release();  // from here")
plant("client/client_state.cpp", "auto found = send_release(lease, was_held);",
      "auto found = send_release(lease, was_held);\n  if (PLANTED(held_until_the_release_is_answered)) lease->release();")

# -- many threads on one connection

plant("stores/decorators/batched.cpp", "last_group_ = group;\n",
      "last_group_ = group;\n  if (group > 1) SAW(several_threads_in_one_batch);\n")
plant("stores/decorators/batched.cpp", "case Turn::late: return unsent();", "case Turn::late: SAW(unsent_behind_a_hung_call); return unsent();")
plant("stores/decorators/batched.cpp", "std::move(next, end, t->replies.begin());",
      "if (PLANTED(replies_of_another_thread)) std::copy_n(replies.begin(), end - next, t->replies.begin());\n"
      "    else std::move(next, end, t->replies.begin());")
instead("followers_with_less_time_taken", "stores/decorators/batched.cpp", "t->until >= self->until", "true")

# -- the rule of the store

plant("core/rule.cpp", "if (!end || *end > *record_.end) set_end(end);",
      "if (!end || *end > *record_.end || PLANTED(acquires_shorten)) set_end(end);")
instead("leases_end_early", "core/rule.cpp", "record_.live(moment_.now)", "record_.live(moment_.now + std::chrono::milliseconds(20))")
instead("tokens_stay", "core/rule.cpp", "std::max(to_number(last) + 1, wall)", "std::max(to_number(last), wall)")
instead("queue_ignored", "core/rule.cpp", "!live() && (!next || next->client == client_)", "!live()")
instead("renewed_by_anybody", "core/rule.cpp", "live() && record_.owner == request_.owner.text &&\n"
        "           (request_.token == no_token || request_.token == record_.token)", "live() && (request_.verb == Verb::renew || "
        "(record_.owner == request_.owner.text && (request_.token == no_token || request_.token == record_.token)))")
plant("core/rule.cpp", "const bool left = request_.place > Millis::zero() && leave();",
      "const bool left = request_.place > Millis::zero() && !PLANTED(places_not_left) && leave();")

# -- jobs

before("SAW(job_waited_for_its_lock);", "core/job_rule.cpp", "const bool again = job.row.parked;")
plant("jobs/worker.cpp", "  if (!claimed) return cannot_claim(attempt, claimed.error(), owner);",
      "  const Instant counted = PLANTED(claims_counted_from_the_reply) ? BootClock::now() : sent;\n"
      "  if (!claimed) return cannot_claim(attempt, claimed.error(), owner);")
plant("jobs/worker.cpp", "run(*std::move(claimed), sent);", "run(*std::move(claimed), counted);")
instead("claims_of_anybody", "core/job_rule.cpp", "job.row.owner == claim.owner.text", "true")
instead("claims_end_early", "core/job_rule.cpp", "moment.now + claim.ttl", "moment.now + claim.ttl / 2")


def planted(src, out):
    texts = {}
    for file, old, new in ENTRIES:
        if file not in texts:
            texts[file] = (src / file).read_text()
        text = texts[file]
        if text.count(old) != 1:
            sys.exit(f"sim/plant.py: this text stands {text.count(old)} times in src/{file}, not once; follow its change:\n{old}")
        texts[file] = text.replace(old, new)
    for path in out.rglob("*.*"):
        if str(path.relative_to(out)) not in texts:
            path.unlink()  # it has no entry any more
    for file, text in texts.items():
        text = re.sub(r'(#include ")', r'#include "sim/planted.h"\n\1', text, count=1) if '#include "' in text else text
        path = out / file
        if path.exists() and path.read_text() == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--src", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.list:
        print(";".join(sorted({file for file, _, _ in ENTRIES})))
    else:
        planted(arguments.src, arguments.out)


main()
