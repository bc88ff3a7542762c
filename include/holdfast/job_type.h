// SPDX-License-Identifier: Apache-2.0
// job_type.h - converts a struct that declares a job (job.h) to JobOptions and a function.
#pragma once
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "holdfast/job.h"

namespace holdfast::detail {

// The type in which an argument is stored between decoding and the call.
template <class A>
using Kept = std::conditional_t<std::is_same_v<std::remove_cvref_t<A>, std::string_view> ||
                                    std::is_same_v<std::remove_cvref_t<A>, const char*>,
                                std::string, std::remove_cvref_t<A>>;

template <class F>
struct Signature;
template <class J, class R, class... A>
struct Signature<R (J::*)(JobContext&, A...)> {
  using Arguments = std::tuple<Kept<A>...>;
};
template <class J, class R, class... A>
struct Signature<R (J::*)(JobContext&, A...) const> {
  using Arguments = std::tuple<Kept<A>...>;
};
template <class R, class... A>
struct Signature<R (*)(JobContext&, A...)> {
  using Arguments = std::tuple<Kept<A>...>;
};

template <class J>
using Arguments = typename Signature<decltype(&J::perform)>::Arguments;

template <class Tuple>
struct all_scalar;
template <class... A>
struct all_scalar<std::tuple<A...>> : std::conjunction<json::is_scalar<A>...> {};

template <class Tuple>
Tuple decoded(const Args& args) {
  if (args.size() != std::tuple_size_v<Tuple>)
    throw_failure({Errc::invalid, "the job has " + std::to_string(args.size()) +
                                      " arguments, but perform() takes " +
                                      std::to_string(std::tuple_size_v<Tuple>)});
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Tuple(args.get<std::tuple_element_t<I, Tuple>>(I)...);
  }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

// A function of the array that calls `call` with the decoded values; on_first_and_values passes `first`
// before them.
template <class J, class Call>
auto on_values(Call call) {
  return [call](const Args& args) { return std::apply(call, decoded<Arguments<J>>(args)); };
}
template <class J, class First, class Call>
auto on_first_and_values(Call call) {
  return [call](First first, const Args& args) {
    return std::apply([&](auto&&... values) { return call(first, values...); }, decoded<Arguments<J>>(args));
  };
}

template <class J, class... A>
Args args_of(A&&... given) {
  using Tuple = Arguments<J>;
  static_assert(sizeof...(A) == std::tuple_size_v<Tuple>,
                "give a job as many arguments as its perform() takes");
  return std::apply([](const auto&... values) { return Args::of(values...); },
                    Tuple(std::forward<A>(given)...));
}

template <class J>
JobFunction function_of() {
  return on_first_and_values<J, JobContext&>(
      [](JobContext& context, auto&... values) { J().perform(context, values...); });
}

// See JobOptions::lock.  A job without a lock may have arguments that cannot be part of a key.
template <class J>
inline constexpr bool declares_lock = requires {
  J::lock;
}
|| requires { &J::lock_timeout; }
|| requires { &J::lock_store; }
|| requires { &J::lock_failed; }
|| requires { &J::lock_expired_before_release; };

template <class J>
JobOptions options_of() {
  JobOptions options;
  if constexpr (requires { J::queue; }) options.queue = J::queue;
  if constexpr (requires { J::lock; }) options.lock = J::lock;
  if constexpr (requires { J::priority; }) options.priority = J::priority;
  if constexpr (requires { J::max_attempts; }) options.max_attempts = J::max_attempts;
  if constexpr (requires { J::backoff(1); })
    options.backoff = [](int attempt) { return J::backoff(attempt); };
  if constexpr (requires { &J::lock_key; })
    options.lock_key = on_values<J>([](const auto&... v) { return std::string(J::lock_key(v...)); });
  if constexpr (requires { &J::identifier; })
    options.identifier =
        on_values<J>([](const auto&... v) { return std::optional<std::string>(J::identifier(v...)); });
  if constexpr (requires { &J::lock_timeout; })
    options.lock_timeout =
        on_values<J>([](const auto&... v) { return std::chrono::ceil<Millis>(J::lock_timeout(v...)); });
  if constexpr (requires { &J::lock_store; }) options.lock_store = J::lock_store();
  if constexpr (requires { &J::lock_failed; })
    options.lock_failed = on_first_and_values<J, JobContext&>(
        [](JobContext& context, const auto&... v) { J().lock_failed(context, v...); });
  if constexpr (requires { &J::loner_enqueue_failed; })
    options.loner_enqueue_failed = on_first_and_values<J, const Duplicate&>(
        [](const Duplicate& duplicate, const auto&... v) { J().loner_enqueue_failed(duplicate, v...); });
  if constexpr (requires { &J::lock_expired_before_release; })
    options.lock_expired_before_release = on_first_and_values<J, JobContext&>(
        [](JobContext& context, const auto&... v) { J().lock_expired_before_release(context, v...); });
  static_assert(
      !declares_lock<J> || requires { &J::identifier; } || requires { &J::lock_key; } ||
          all_scalar<Arguments<J>>::value,
      "an argument of perform() cannot become part of a key: give the job a static "
      "std::optional<std::string> identifier(args...), or lock_key(args...)");
  return options;
}

}  // namespace holdfast::detail
