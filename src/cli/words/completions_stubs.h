// SPDX-License-Identifier: Apache-2.0
// completions_stubs.h - what asks `holdfast __complete` in each shell, for a second at most.
#pragma once

namespace holdfast::cli {

// With or without the package bash-completion.  Readline wants of each word what stands behind the last
// break; an @ stays.
inline constexpr const char* bash_stub =
    R"script(# What bash completes holdfast with; printed by `holdfast completions bash`.
_holdfast() {
  local line=${COMP_LINE:0:COMP_POINT} words current answer lead cut='' word i
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=('')
  current=${words[-1]}
  mapfile -t answer < <(printf '%s\0' "${words[@]:1}" | timeout 1 holdfast __complete 2>/dev/null)
  case ${answer[0]-} in
    "command $((${#words[@]} - 2))") mapfile -t COMPREPLY < <(compgen -c -- "$current") && return ;;
    command*) answer=('files ') ;;
  esac
  if [[ ${answer[0]-} == files* ]]; then
    lead=${answer[0]#files }
    mapfile -t answer < <(compgen -f -- "${current#"$lead"}")
    ((${#answer[@]} == 0)) || answer=('' "${answer[@]/#/$lead}")
    compopt -o filenames 2>/dev/null
  fi
  for ((i = ${#current}; i > 0; --i)); do
    [[ $COMP_WORDBREAKS != *"${current:i-1:1}"* ]] || { cut=${current:0:i} && break; }
  done
  cut=${cut%@}
  for word in "${answer[@]:1}"; do
    word=${word%%$'\t'*}
    [[ $word != "$current"* ]] || COMPREPLY+=("${word#"$cut"}")
  done
  [[ ${COMPREPLY[0]-} != *[:/@=] ]] || compopt -o nospace 2>/dev/null
}
complete -F _holdfast holdfast
)script";

inline constexpr const char* zsh_stub = R"script(#compdef holdfast
# What zsh completes holdfast with; printed by `holdfast completions zsh`.
_holdfast() {
  local -a answer offers
  local word lead
  answer=(${(f)"$(print -rN -- "${(@)words[2,CURRENT-1]}" "$PREFIX" | timeout 1 holdfast __complete 2>/dev/null)"})
  case $answer[1] in
    files*)
      lead=${answer[1]#files }
      [[ -z $lead ]] || compset -P ${(b)lead}
      _files
      ;;
    command*)
      shift $(( ${answer[1]#command } + 1 )) words
      (( CURRENT -= ${answer[1]#command } + 1 ))
      _normal
      ;;
    words)
      for word in ${answer[2,-1]}; do
        offers+=("${${word%%$'\t'*}//:/\\:}${${word#*$'\t'}:+:${word#*$'\t'}}")
      done
      [[ $offers[1] == *[:/@=] ]] && _describe -t words word offers -S '' || _describe -t words word offers
      ;;
  esac
}
if [[ $funcstack[1] == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
)script";

inline constexpr const char* fish_stub =
    R"script(# What fish completes holdfast with; printed by `holdfast completions fish`.
function __holdfast_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc) "$current"
    set -l answer (printf '%s\0' $words[2..-1] | timeout 1 holdfast __complete 2>/dev/null)
    set -l kind (string split -m 1 ' ' -- "$answer[1]")
    switch "$kind[1]"
        case files
            set -l path (string replace -- "$kind[2]" '' "$current")
            # In @~/x no shell expands the ~.
            test -z "$kind[2]"; or set path (string replace -r '^~' '\\\\~' -- "$path")
            for file in (complete -C "'' $path")
                printf '%s\n' "$kind[2]$file"
            end
        case command
            set -l before (string escape -- $words[(math $kind[2] + 2)..-1])
            set -e before[-1]
            complete --do-complete=(string join ' ' -- $before "$current")
        case words
            printf '%s\n' $answer[2..-1]
    end
end
complete -c holdfast -f -a '(__holdfast_complete)'
)script";

}  // namespace holdfast::cli
