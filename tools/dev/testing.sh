# SPDX-License-Identifier: Apache-2.0
# What ./dev does with tests; it reads this file.

# --- what is asked for ------------------------------------------------------------------------------------------------

test_command() { # [NAME...] [--store STORE] [--preset PRESET] [--failed]
  local names=() store='' preset='' failed=no chosen
  while (($# != 0)); do
    case $1 in
      --store | --preset)
        [[ -n ${2-} ]] || die 64 "./dev test: $1 needs a value"
        printf -v "${1#--}" %s "$2" && shift
        ;;
      --store= | --preset=) die 64 "./dev test: ${1%=} needs a value" ;;
      --store=* | --preset=*) printf -v "$(sed 's/--\([a-z]*\)=.*/\1/' <<<"$1")" %s "${1#*=}" ;;
      --failed) failed=yes ;;
      -*) die 64 "./dev test: unknown option $1; it takes names, --store STORE, --preset PRESET and --failed" ;;
      *) names+=("$1") ;;
    esac
    shift
  done
  [[ -z $preset || " dev ${PRESETS[*]} " == *" $preset "* ]] || die 64 "./dev test: unknown preset '$preset'; give one of dev ${PRESETS[*]}"
  # No other preset has the fuzz targets.
  [[ -n $preset || ${names[*]} != fuzz* ]] || preset=asan
  if [[ $failed == yes ]]; then
    [[ ${#names[@]} == 0 && -z $store ]] || die 64 "./dev test --failed takes no names and no --store: it repeats what failed in the last run"
    test_failed "$preset"
  elif [[ ${#names[@]} == 0 && -z $store ]]; then
    # shellcheck disable=SC2086 # nothing, or one word
    test_presets ${preset:-"${PRESETS[@]}"}
  else
    need python3
    chosen=$(python3 "$root/tools/dev/choose.py" ${store:+--store "$store"} "${names[@]}") || exit
    test_chosen "${preset:-dev}" "$chosen" -LE '^soak$'
  fi
}

test_chosen() { # PRESET CHOSEN LABELS...: CHOSEN is what choose.py printed
  local preset=$1 regex=${2%%$'\n'*} targets=${2##*$'\n'}
  need_for_tests "$preset"
  case $preset in
    asan | tsan) set -- -R "$regex" ;; # the presets say which labels
    *) set -- -R "$regex" "${@:3}" ;;
  esac
  # shellcheck disable=SC2086 # several words
  test_preset "$preset" "$targets" "$@"
  summary
}

# What failed when tests ran last, as the summary wrote it down: a line PRESET TEST for each, or PRESET alone if no test is to blame.
test_failed() { # [PRESET]
  local list=$root/build/failed preset tests target programs
  [[ -e $list ]] || die 64 "./dev test --failed: no tests have run here yet; run ./dev test"
  [[ -s $list ]] || { say "nothing failed in the last run" && exit 0; }
  cp "$list" "$list.last"
  for preset in $(cut -d ' ' -f 1 "$list.last" | uniq); do
    [[ -z ${1-} || $preset == "$1" ]] || continue
    need_for_tests "$preset"
    tests=$(sed -n "s/^$preset //p" "$list.last" | sed 's/[.+*?()|$]/[&]/g' | paste -sd '|')
    target=$(target_of "$preset")
    # Only the programs that failed are built, if all of them are known as such.
    mapfile -t programs < <(sed -n "s/^$preset \([^.]*\)[.].*/\1/p" "$list.last" | sort -u)
    [[ -z $tests || " ${programs[*]} " == *" fuzz "* ]] || target=$(python3 "$root/tools/dev/choose.py" "${programs[@]}" | tail -n 1)
    test_preset "$preset" "${target:-all}" ${tests:+-R "^($tests)\$"}
  done
  ((${#results[@]} != 0)) || { say "nothing failed in the last run of $1" && exit 0; }
  summary
}

# --- running them -----------------------------------------------------------------------------------------------------

results=()
packages=0
fetching='' # the process that fetches engines
later=()    # presets to build while this one is tested
ahead=''    # the process that builds them

test_presets() { # PRESET...: builds and tests each, even if others fail; ends with the counts
  local n
  need_for_tests "$@"
  for ((n = 1; n <= $#; n++)); do
    later=("${@:n+1}")
    test_preset "${!n}" "$(target_of "${!n}")"
  done
  summary
}

# Installs packages, and starts to fetch the engines. That takes minutes on a new machine, so run_tests waits for it, not the build.
need_for_tests() { # PRESET...
  local start=$EPOCHSECONDS
  need "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}" "${PACKAGES_SERVERS[@]}" "${PACKAGES_BENCH[@]}"
  [[ " $* " != *" asan "* ]] || need "${PACKAGES_ASAN[@]}"
  packages=$((packages + EPOCHSECONDS - start))
  fetch_engines &
  fetching=$!
}

# Builds presets in the background, with the processor time that the tests leave. A failure shows when test_preset builds again.
# The kernel shares its time among sessions first (autogroups), so the build needs a session of its own that counts for little.
start_building_ahead() { # PRESET...
  (($# != 0)) || return
  setsid "$root/dev" build-ahead "$@" </dev/null >/dev/null 2>&1 &
  ahead=$!
  trap '! jobs -pr | grep -qx "$ahead" || kill -- "-$ahead"' EXIT
  trap 'exit 130' INT TERM HUP
}

stop_building_ahead() {
  [[ -n $ahead ]] || return 0
  kill -- "-$ahead" 2>/dev/null
  wait "$ahead" 2>/dev/null
  ahead=''
}

# One compiler at a time: with two, leases of the tests were lost now and then, because their processes got no time for a second.
build_ahead() { # PRESET...
  local preset
  echo 19 >/proc/self/autogroup 2>/dev/null
  chrt --idle --pid 0 "$$" 2>/dev/null || renice -n 19 -p "$$"
  for preset; do
    # shellcheck disable=SC2046 # several words
    build "$preset" ON -j 1 $(target_of "$preset")
  done
}

target_of() { # PRESET
  case $1 in
    asan) echo asan_tests fuzz_targets ;;
    tsan) echo tsan_tests ;;
    *) echo all ;;
  esac
}

test_preset() { # PRESET TARGETS [CTEST'S WORDS...]: with none the preset says which tests run
  local preset=$1 start=$EPOCHSECONDS built result=unbuilt chosen=''
  (($# == 2)) || chosen=:chosen
  stop_building_ahead
  # shellcheck disable=SC2086 # several words
  build "$preset" ON $2
  built=$?
  local building=$((EPOCHSECONDS - start))
  start=$EPOCHSECONDS
  if ((built == 0)); then
    start_building_ahead "${later[@]}"
    run_tests "$preset" "${@:3}"
    result=$?
  fi
  results+=("$preset:$result:$building:$((EPOCHSECONDS - start))$chosen")
}

# Where tests write. Stores wait for the disk at each commit, and on a busy disk that has taken seconds, longer than a client waits.
scratch_folder() { # prints it: in memory if there is room and programs may be started there, unless TMPDIR says another
  local memory=/dev/shm room
  room=$(df --output=avail --block-size=1G "$memory" 2>/dev/null | tail -n 1)
  if [[ -z ${TMPDIR:-} && $(stat -f -c %T "$memory" 2>/dev/null) == tmpfs && ,$(findmnt -n -o OPTIONS "$memory"), != *,noexec,* ]] &&
    ((room >= 4)); then
    echo "$memory"
  else
    echo "${TMPDIR:-/tmp}"
  fi
}

run_tests() { # PRESET [CTEST'S WORDS...]
  local preset=$1 logs=$root/build/$1/Testing jobs ctest boring='^ *Start +[0-9]+:| Passed +[0-9.]+ sec'
  jobs=$(sed -n 's/^set(HOLDFAST_TEST_JOBS \([0-9]*\))$/\1/p' "$root/cmake/layers.cmake")
  # Without servers most of them only wait.
  [[ $preset != dev ]] || jobs=$((2 * jobs))
  [[ -z $fetching ]] || ! wait "$fetching" || list_tests_again
  fetching=''
  rm -rf "$logs/results" "$logs/junit.xml"
  mkdir -p "$logs/results"
  ctest=(steady "$preset" env TMPDIR="$(scratch_folder)" ctest -j "$jobs" --test-output-size-failed 10000000 --output-junit "$logs/junit.xml" "${@:2}")
  # The preset `dev` would leave out what is not fast, and `release` what is chosen for soaking.
  case $#:$preset in
    1:* | *:asan | *:tsan) ctest+=(--preset "$preset") ;;
    *) ctest+=(--test-dir "$root/build/$preset" --output-on-failure --no-label-summary --no-tests=error) ;;
  esac
  say "testing $preset ..."
  if [[ -t 1 ]]; then
    (cd -- "$root" && "${ctest[@]}" --progress --output-log "$logs/ctest.log") </dev/null
  else
    (cd -- "$root" && "${ctest[@]}") </dev/null 2>&1 | tee "$logs/ctest.log" | sed -u -E "/$boring/d"
    return "${PIPESTATUS[0]}"
  fi
}

summary() {
  python3 "$root/tools/dev/summary.py" "$root/build" --packages "$packages" "${results[@]}"
  exit
}

# --- soaking ----------------------------------------------------------------------------------------------------------

soak() { # [PART [ARGS...]]: a part of it, or all of them
  local part parts=(stores torture fuzz sim debian13) start code=0 worst=0 told=()
  if (($# != 0)); then
    [[ " ${parts[*]} " == *" $1 "* ]] || die 64 "./dev soak: unknown part '$1'; give one of ${parts[*]}"
    parts=("$1") && shift
  elif ((EUID != 0)); then
    say "soak: skipping debian13, which needs root"
    unset 'parts[-1]'
  fi
  for part in "${parts[@]}"; do
    start=$EPOCHSECONDS
    ("soak_$part" "$@")
    code=$?
    case $code in
      0) told+=("$part passed in $((EPOCHSECONDS - start)) s") && continue ;;
      64) exit 64 ;;
      70) worst=70 ;;
      *) ((worst == 70)) || worst=1 ;;
    esac
    told+=("$part FAILED after $((EPOCHSECONDS - start)) s")
  done
  for part in "${told[@]}"; do say "soak: $part"; done
  exit "$worst"
}

soak_stores() { # [NAME...] [--store STORE]: each combination that tests/axes left out of ./dev test
  local chosen
  need python3
  chosen=$(python3 "$root/tools/dev/choose.py" "$@") || exit
  test_chosen release "$chosen" -L '^soak$'
}

soak_torture() { # [ROUNDS]
  [[ $# -le 1 && ${1-1000} =~ ^[1-9][0-9]{0,6}$ ]] || die 64 "./dev soak torture takes a number of rounds or nothing, not '$*'"
  need "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}" "${PACKAGES_SERVERS[@]}"
  build release ON test_cli_torture || exit
  HOLDFAST_ROUNDS=${1-1000} "$root/build/release/bin/test_cli_torture"
}

soak_sim() { # [SEEDS]: others in every second, and the first of them is printed
  [[ $# -le 1 && ${1-100000} =~ ^[1-9][0-9]{0,8}$ ]] || die 64 "./dev soak sim takes a number of seeds or nothing, not '$*'"
  local from
  need "${PACKAGES_BUILD[@]}"
  need_simulator
  build release OFF holdfast_sim || exit
  from=$EPOCHSECONDS
  say "simulating ${1-100000} seeds from $from on ..."
  "$root/build/release/bin/holdfast_sim" --seeds "${1-100000}" --from "$from"
}

soak_fuzz() { # [TARGET] [SECONDS]: seeds and known failures first; what is new stays in build/asan/corpus
  local target=all seconds=60 name names found dict=() failed=0
  [[ ${1-} =~ ^[0-9]*$ ]] || { target=$1 && shift; }
  [[ ! ${1-} =~ ^[1-9][0-9]*$ ]] || { seconds=$1 && shift; }
  names=("$root"/fuzz/corpus/*/)
  names=("${names[@]%/}")
  names=("${names[@]##*/}")
  [[ $# == 0 && " all ${names[*]} " == *" $target "* ]] ||
    die 64 "./dev soak fuzz takes a target (${names[*]}) and a number of seconds, or neither"
  [[ $target == all ]] || names=("$target")
  need "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}" "${PACKAGES_SERVERS[@]}" "${PACKAGES_ASAN[@]}"
  build asan ON fuzz_targets || exit
  for name in "${names[@]}"; do
    found=$root/build/asan/corpus/$name dict=()
    [[ ! -f $root/fuzz/$name.dict ]] || dict=("-dict=$root/fuzz/$name.dict")
    say "fuzzing $name for $seconds s ..."
    "$root/build/asan/bin/fuzz_$name" "${dict[@]}" -max_total_time="$seconds" -timeout=20 -print_final_stats=1 \
      -artifact_prefix="$found-" "$found" "$root/fuzz/corpus/$name" || { say "fuzz_$name failed; its input is $found-*" && failed=1; }
  done
  return "$failed"
}

# What somebody sees who has just installed that Debian and cloned this.
soak_debian13() { # [NAME...]
  local fetch=$root/tests/support/servers/engines/fetch.sh where=${TMPDIR:-/var/tmp} cache=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast
  local archive engine file worst=0
  ((EUID == 0)) || die 70 "./dev soak debian13 needs root; run: sudo ./dev soak debian13"
  need debootstrap util-linux mount python3
  (($# == 0)) || python3 "$root/tools/dev/choose.py" "$@" >/dev/null || exit
  "$fetch" debian13 || die 70 "could not fetch a bare Debian 13; the reason is above"
  archive=$cache/$(sed -n 's/^DEBIAN13=//p' "$fetch")/root.tar

  trap 'exit 130' INT TERM HUP
  bare=$(mktemp -d "$where/holdfast-debian13-XXXXXX") || die 70 "cannot write to $where"
  trap 'rm -rf --one-file-system "$bare"' EXIT
  tar -C "$bare" -xf "$archive" && mkdir -p "$bare/holdfast" "$bare/root/.cache/holdfast" &&
    tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$bare/holdfast" -xf - || die 70 "could not copy files to $bare; is the disk full?"
  # Every machine with a network has these.
  for file in resolv.conf hosts; do cp -L "/etc/$file" "$bare/etc/" || die 70 "could not copy /etc/$file"; done
  # Engines run on any Debian. What is not here is fetched there.
  for engine in MONGODB MYSQL; do
    engine=$cache/$(sed -n "s/^$engine=//p" "$fetch")
    [[ ! -d $engine ]] || cp -a "$engine" "$bare/root/.cache/holdfast" || die 70 "could not copy $engine"
  done

  in_debian13 run hello -- echo "I hold the lease" || return
  in_debian13 holdfast version --verbose || return
  tried='GNU 14[.]2' in_debian13 || worst=$?
  (($# == 0)) || in_debian13 test "$@" || worst=$?
  return "$worst"
}

# Processes and mounts of its own: they end with it, so that nothing is mounted where the folder is deleted.
in_debian13() { # ARGS...: of its ./dev
  local start=$EPOCHSECONDS code environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8) name
  environment+=("HOLDFAST_TRIED_COMPILERS=${tried-}")
  for name in http_proxy https_proxy no_proxy npm_config_registry; do [[ -z ${!name-} ]] || environment+=("$name=${!name}"); done
  say "debian13: ./dev $* ..."
  # Tests mount file systems of their own, which needs a root that is a mount itself.
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount --pid --fork --kill-child sh -c '
    mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" && mount -t tmpfs tmpfs "$1/dev/shm" &&
      mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts" || exit 70
    bare=$1 && shift && exec chroot "$bare" env -i "$@"' sh "$bare" "${environment[@]}" /holdfast/dev "$@" </dev/null
  code=$?
  say "debian13: ./dev $* ended with $code after $((EPOCHSECONDS - start)) s"
  return "$code"
}
