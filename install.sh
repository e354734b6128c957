#!/bin/sh
# Installs svc for the user who runs it: `curl -fsSL <host>/install.sh | sh`, with options `... | sh -s -- --help`.
# POSIX sh. What it installs is verified with the key below, or not installed.

{ # one command up to its closing brace: of a script that is cut off, nothing runs
PUBLIC_KEY=""
BASE_URL=""

argument_count=$#
temp='' child='' made='' placed='' quiet='' verifier=''
newline='
'

usage() {
  cat <<END
Installs svc, or another version of it.

  --version v1.2.3      this version instead of the latest; the only way to an older one
  --dir DIR             where to: DIR/svc (default ~/.svc/bin)
  --from PLACE          where from: the URL of a release host, a folder, or a file beside its SHA256SUMS and SHA256SUMS.minisig
  --key KEY             minisign public key to trust, for a copy of this script that carries none
  --no-modify-path      leave the shell's start files alone
  --no-manual           write no manual pages and no completions; with --dir none are written anyway
  --uninstall           remove svc; your data and settings stay
  --quiet               say nothing but errors and warnings
  --help

SVC_RELEASES, SVC_HOME, SVC_NO_MODIFY_PATH=1 and SVC_NO_MANUAL=1 say the same as --from, the folder above bin, --no-modify-path and --no-manual.
SVC_INSTALL_TIMEOUT is the number of seconds that a host may be silent (default 30).
END
}

say() { [ -n "$quiet" ] || printf '%s\n' "$*" >&2; }
warn() { printf 'svc install: warning: %s\n' "$*" >&2; }
die() {
  printf 'svc install: %s\n' "$*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

misused() {
  printf 'svc install: %s; see --help\n' "$*" >&2
  exit 2
}

parse_arguments() {
  version='' from=${SVC_RELEASES:-} dir='' named='' key='' modify_path=yes manual=yes uninstall=''
  [ -z "${SVC_NO_MODIFY_PATH:-}" ] || modify_path=''
  [ -z "${SVC_NO_MANUAL:-}" ] || manual=''
  patience=${SVC_INSTALL_TIMEOUT:-30}
  while [ $# -gt 0 ]; do
    case $1 in
      --version=* | --dir=* | --from=* | --key=*)
        option=${1%%=*} value=${1#*=}
        shift
        ;;
      --version | --dir | --from | --key)
        option=$1
        [ $# -gt 1 ] || misused "$1 needs a value"
        value=$2
        shift 2
        ;;
      *)
        option=$1 value=-
        shift
        ;;
    esac
    [ -n "$value" ] || misused "$option needs a value"
    case $option in
      --version) version=v${value#v} ;;
      --dir) dir=$value named=yes ;;
      --from) from=$value ;;
      --key) key=$value ;;
      --no-modify-path) modify_path='' ;;
      --no-manual) manual='' ;;
      --uninstall) uninstall=yes ;;
      --quiet) quiet=yes ;;
      --help | -h)
        usage
        exit 0
        ;;
      *) misused "there is no option $option" ;;
    esac
  done
  [ -z "$version" ] || is_version "$version" || misused "--version: $version is no version like v1.2.3"
  case $patience in '' | *[!0-9]* | 0*) misused "SVC_INSTALL_TIMEOUT: $patience is no number of seconds" ;; esac
}

is_version() {
  case $1 in
    v | v*[!0-9.]* | *..* | *. | v.* | *.*.*.* | v0[0-9]* | *.0[0-9]*) return 1 ;;
    v*.*.*) [ ${#1} -lt 27 ] ;;
    *) return 1 ;;
  esac
}

# older A B: whether version A is before version B
older() {
  a=${1#v}. b=${2#v}.
  while [ -n "$a" ] && [ "${a%%.*}" -eq "${b%%.*}" ]; do a=${a#*.} b=${b#*.}; done
  [ -n "$a" ] && [ "${a%%.*}" -lt "${b%%.*}" ]
}

clean_up() {
  [ -z "$child" ] || kill "$child" 2>/dev/null
  [ -z "$placed" ] || [ "$(readlink "$dir/svc")" = "${placed##*/}" ] || rm -f "$placed"
  [ -z "$temp" ] || rm -rf "$temp"
  while [ -n "$made" ]; do
    rmdir "${made%%"$newline"*}" 2>/dev/null
    made=${made#*"$newline"}
  done
}

find_tools() {
  missing=''
  for tool in cat chmod cp cut date dd expr grep head ln mkdir mktemp mv readlink rm rmdir sed tail tr uname wc; do
    has "$tool" || missing="$missing $tool"
  done
  [ -z "$missing" ] || die "this needs$missing, which cannot be found"
  hasher=''
  for tool in openssl sha256sum shasum; do
    if [ -z "$hasher" ] && has $tool; then hasher=$tool; fi
  done
  if [ -z "$hasher" ] && has busybox; then hasher='busybox sha256sum'; fi
  [ -n "$hasher" ] || die "nothing here can check a SHA-256: install sha256sum, shasum or openssl"
}

# Sets target, from the machine
find_target() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN* | Windows*) die "on Windows, run this in PowerShell: irm ${BASE_URL:-<release host>}/install.ps1 | iex" ;;
    *) die "there is no svc for $(uname -s): only for Linux, macOS and Windows" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die "there is no svc for $(uname -m) processors: only for x86_64 and arm64" ;;
  esac
  if [ $os = darwin ]; then
    [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || arch=arm64
    target=darwin-$arch
    return
  fi
  [ -e /proc/self/exe ] || die "svc needs /proc, which is not mounted here"
  target=linux-$arch
  find_libc
  [ $libc = glibc ] || target=$target-musl
  if [ $arch = amd64 ] && ! grep -qw avx2 /proc/cpuinfo; then target=$target-baseline; fi
}

# Sets libc: what the system's own programs ask for; loaders may be there of a library that is not the system's
find_libc() {
  libc=''
  for program in /bin/sh /usr/bin/env /bin/cat "/proc/$$/exe"; do
    case $(head -c 4096 "$program" 2>/dev/null | tr -d '\000') in
      *ld-musl-*) libc=musl ;;
      *ld-linux-* | *ld64.so*) libc=glibc ;;
      *) continue ;;
    esac
    break
  done
  for loader in /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.* /lib/ld-musl-*.so.*; do
    if [ -n "$libc" ] || [ ! -e "$loader" ]; then continue; fi
    case $loader in */ld-musl-*) libc=musl ;; *) libc=glibc ;; esac
  done
  [ -n "$libc" ] || die "there is no C library here that svc can use: neither glibc nor musl"
  [ $libc = glibc ] || return 0
  found=$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>/dev/null | head -n 1)
  found=${found##* }
  case $found in
    *[!0-9.]* | *.*.*.* | '') return 0 ;;
    *.*) ;;
    *) return 0 ;;
  esac
  minor=${found#*.}
  if [ "${found%%.*}" -lt 2 ] || { [ "${found%%.*}" -eq 2 ] && [ "${minor%%.*}" -lt 17 ]; }; then
    die "svc needs glibc 2.17 or newer; this is glibc $found"
  fi
}

# Sets dir
find_folder() {
  if [ -z "$dir" ]; then
    [ -n "${SVC_HOME:-${HOME:-}}" ] || die "HOME is not set: set it, or say where to with --dir"
    dir=${SVC_HOME:-$HOME/.svc}/bin
  fi
  case $dir in
    /*) ;;
    *) dir=$(pwd)/$dir ;;
  esac
  while [ "${dir%/}" != "$dir" ] && [ "$dir" != / ]; do dir=${dir%/}; done
  case $dir in *:* | *"$newline"*) die "--dir: a folder of PATH has no ':' and no line break in its name" ;; esac
}

# make_folder PATH: with its parents, remembering which are new; a new ~/.svc is its owner's alone
make_folder() {
  [ ! -d "$1" ] || return 0
  case $1 in /*/*) make_folder "${1%/*}" ;; esac
  mode=755
  [ "$1" != "${SVC_HOME:-${HOME:-}/.svc}" ] || mode=700
  if why=$(mkdir -m $mode "$1" 2>&1); then
    made=$1$newline$made
  else
    [ -d "$1" ] || die "cannot make the folder $1 (${why##*: }); choose another with --dir"
  fi
}

# Sets temp, beside what it becomes: so the last step is a rename, and what runs there runs here
prepare_folder() {
  make_folder "$dir"
  [ ! -d "$dir/svc" ] || [ -L "$dir/svc" ] || die "$dir/svc is a folder: move it away, or choose another place with --dir"
  if [ -e "$dir/svc" ] || [ -L "$dir/svc" ]; then
    installed=$(readlink "$dir/svc") || die "$dir/svc was not put there by this script: move it away, or choose another place with --dir"
    is_version "${installed#svc-}" || die "$dir/svc links to $installed, which is not this script's: move it away, or choose another place with --dir"
    installed=${installed#svc-}
    [ ! -d "$dir/svc-$installed" ] || die "$dir/svc-$installed is a folder: move it away, or choose another place with --dir"
  else
    installed=''
  fi
  why=$(mktemp -d "$dir/.svc-install-XXXXXX" 2>&1) || die "cannot write to $dir (${why##*: }); choose another place with --dir"
  temp=$why
  has find && find "$dir" -maxdepth 1 -name '.svc-install-*' -type d -mtime +1 -exec rm -rf {} + 2>/dev/null
  return 0
}

# limited BYTES COMMAND...: runs it with a limit on the file it writes to; a signal to this script ends it
limited() {
  blocks=$(($1 / 512 + 1))
  shift
  (
    trap '' XFSZ
    ulimit -f $blocks 2>/dev/null
    exec "$@"
  ) </dev/null &
  child=$!
  wait $child
  ended=$?
  child=''
  return $ended
}

find_downloader() {
  if has curl; then
    downloader=curl
  elif has wget; then
    case $(wget --version 2>/dev/null | head -n 1) in
      'GNU Wget2 '*) die "wget2 does not say reliably how a download ended: install curl, or name a folder with --from" ;;
      'GNU Wget '*) downloader=wget ;;
      *) downloader=busybox ;;
    esac
  else
    die "nothing here can download: install curl or wget, or name a folder with --from"
  fi
}

# download URL FILE BYTES: whole and not longer, or it ends here. What came by https never goes on by http.
download() {
  file=$2 most=$3 log=$temp/log
  protocols='=http,https'
  case $url in https://*) protocols='=https' ;; esac
  case $downloader in
    curl)
      set -- curl -sSfL --proto "$protocols" --proto-redir "$protocols" --tlsv1.2 --max-redirs 5 \
        --connect-timeout "$patience" --speed-time "$patience" --speed-limit 100 --max-time 7200 -- "$1"
      ;;
    wget) set -- wget -nv -S --max-redirect=5 --timeout="$patience" --tries=1 -O - -- "$1" ;;
    *) set -- wget -S -T "$patience" -O - -- "$1" ;;
  esac
  status=0
  limited "$most" "$@" >"$file" 2>"$log" || status=$?
  if [ "$downloader$status" = busybox139 ]; then # a static busybox can die of -T; its own limit is 15 minutes
    status=0
    limited "$most" wget -S -O - -- "$url" >"$file" 2>"$log" || status=$?
  fi
  size=$(wc -c <"$file")
  if [ $protocols = '=https' ] && grep -qiE 'location: *http:|protocol "?http"? (not supported|disabled)' "$log"; then
    die "$url sends on to an address without https: not followed"
  fi
  if [ "$size" -gt "$most" ] || { [ $status != 0 ] && [ "$size" -eq "$most" ]; }; then
    die "$url is longer than the $most bytes it may have: not taken"
  fi
  if [ $status = 0 ]; then
    [ "$size" -gt 0 ] || die "$url is empty"
    return 0
  fi
  if grep -q ' 404' "$log"; then die "$url does not exist (404)"; fi
  why=$(grep -E '^(curl|wget): |ERROR' "$log" | head -n 1)
  [ -n "$why" ] || why=$(grep -v '^ ' "$log" | grep -v '^Connecting to' | tail -n 1)
  die "cannot download $url: ${why:-$downloader ended with $status}"
}

# get PATH FILE BYTES: a file of the release host or folder
get() {
  url=${folder:-$from}/$1
  if [ -z "$folder" ]; then
    download "$url" "$2" "$3"
  else
    [ -f "$url" ] || die "$url does not exist"
    [ "$(wc -c <"$url")" -le "$3" ] || die "$url is longer than the $3 bytes it may have: not taken"
    limited "$3" cat "$url" >"$2" || die "cannot copy $url to $dir: is the disk full?"
  fi
}

# Gets the sums and their signature. Sets folder (empty for a URL), only (a file that was named), place (of the files), feed
find_release() {
  from=${from:-$BASE_URL}
  [ -n "$from" ] || die "this copy of the script does not know where releases are: say --from URL, FOLDER or FILE"
  while [ "${from%/}" != "$from" ] && [ "$from" != / ]; do from=${from%/}; done
  folder='' only='' feed=$from
  case $from in
    http://* | https://*) find_downloader ;;
    *://*) die "--from $from: only http and https URLs, folders and files" ;;
    *)
      case $from in /*) ;; *) from=$(pwd)/$from ;; esac
      folder=$from feed=$from
      if [ -f "$from" ]; then
        folder=${from%/*} only=${from##*/} feed=''
      elif [ ! -d "$from" ]; then
        die "--from $from does not exist"
      fi
      ;;
  esac
  if [ -n "$folder" ] && [ -f "$folder/SHA256SUMS" ]; then
    place='' feed=''
  elif [ -n "$only" ]; then
    die "--from $from: SHA256SUMS and SHA256SUMS.minisig of its release have to be beside it"
  elif [ -n "$version" ]; then
    place=releases/$version/
  else
    place=latest/
  fi
  signature=$temp/SHA256SUMS.minisig sums=$temp/SHA256SUMS
  get "${place}SHA256SUMS.minisig" "$signature" 10000
  read_signature
  [ "$place" != latest/ ] || place=releases/$signed_version/
  get "${place}SHA256SUMS" "$sums" 1000000
}

# Reads the four lines of the signature. Sets comment, signed_version, expires
read_signature() {
  { read -r first && read -r head && read -r comment && read -r tail; } <"$signature"
  case $first$comment in
    *'<'*) die "$url is a web page, and no signature: is there a login or a proxy in between?" ;;
    'untrusted comment: '*'trusted comment: '*) ;;
    *) head='' ;;
  esac
  case $head$tail in *[!A-Za-z0-9+/=]*) head='' ;; esac
  [ "${#head} ${#tail}" = '100 88' ] || die "SHA256SUMS.minisig is no minisign signature"
  case $head in RU[Q-T]*) ;; *) die "the signature is of a kind that is not taken: it must be over BLAKE2b-512" ;; esac
  [ "$(echo "$head" | cut -c 3-13)" = "$(echo "$key" | cut -c 3-13)" ] ||
    die "the release is signed by another key than the one this script trusts ($key)"
  comment=${comment#trusted comment: }
  case $comment in
    'svc sums version:v'*' expires:'????-??-??T??:??:??*Z) ;;
    *) die "the signature is not one of the sums of a release: $comment" ;;
  esac
  signed_version=${comment#svc sums version:}
  signed_version=${signed_version%% *} expires=${comment##* expires:}
  is_version "$signed_version" || die "the signature is not one of the sums of a release: $comment"
  [ -z "$version" ] || [ "$signed_version" = "$version" ] || die "$version was asked for, and this is $signed_version"
}

find_key() {
  if [ -n "$PUBLIC_KEY" ]; then
    [ -z "$key" ] || [ "$key" = "$PUBLIC_KEY" ] || misused "--key: this script carries the key it trusts, $PUBLIC_KEY"
    key=$PUBLIC_KEY
  fi
  [ -n "$key" ] || die "this copy of the script carries no key to verify with: say --key KEY, or take the install.sh of a release host"
  case $key in RW[Q-T]*) ;; *) key='?' ;; esac
  case $key in *[!A-Za-z0-9+/]*) key='?' ;; esac
  [ ${#key} -eq 56 ] || misused "--key: that is no minisign public key"
}

# Verifies SHA256SUMS with a tool that is here, if there is one. Sets verifier
verify_sums() {
  if has minisign; then
    verifier=minisign
    said=$(minisign -V -Q -P "$key" -m "$sums" -x "$signature" 2>&1) || die "the signature does not fit SHA256SUMS${said:+: $said}"
    [ "$said" = "$comment" ] || die "the signature does not fit its comment"
  elif openssl_can; then
    verifier=openssl
    openssl_fits || die "the signature does not fit SHA256SUMS, or its comment was changed"
  fi
}

# bytes NAME FROM COUNT <base64: writes some of the decoded bytes to a file
bytes() { openssl base64 -d -A 2>/dev/null | dd bs=1 skip="$2" count="$3" of="$temp/$1" 2>/dev/null; }

# fits KEY SIGNATURE DATA: whether openssl finds that an Ed25519 signature fits
fits() {
  [ "$(openssl pkeyutl -verify -pubin -keyform DER -inkey "$temp/$1" -rawin -in "$temp/$3" -sigfile "$temp/$2" 2>/dev/null)" = 'Signature Verified Successfully' ]
}

# Whether this openssl can do what is needed: it is asked about a signature of RFC 8032 (7.1, test 2), and about one that does not fit
openssl_can() {
  has openssl && [ "$(printf '' | openssl dgst -blake2b512 -binary 2>/dev/null | wc -c)" -eq 64 ] || return 1
  echo MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw= | bytes key 0 44
  echo kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA== | bytes signed 0 64
  printf r >"$temp/text"
  printf s >"$temp/other"
  fits key signed text && ! fits key signed other
}

openssl_fits() {
  echo "$key" | bytes half 10 32
  { printf '\060\052\060\005\006\003\053\145\160\003\041\000' && cat "$temp/half"; } >"$temp/key"
  echo "$head" | bytes signed 10 64
  echo "$tail" | bytes whole 0 64
  openssl dgst -blake2b512 -binary "$sums" >"$temp/text"
  { cat "$temp/signed" && printf '%s' "$comment"; } >"$temp/other"
  fits key signed text && fits key whole other
}

# What an expired or an older release is refused for, unless its version was asked for
check_version() {
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  if [ -z "$version" ]; then
    expr "$now" '<' "$expires" >/dev/null ||
      die "what is called the latest release here, $signed_version, was so until $expires, and it is $now: the host is out of date, or the clock is wrong; --version $signed_version takes it nevertheless"
    if [ -n "$installed" ] && older "$signed_version" "$installed"; then
      die "$installed is installed, and the latest release here is $signed_version: --version $signed_version goes back to it"
    fi
  fi
  version=$signed_version
}

# sum_of NAME: sets sum; fails when there is none
sum_of() {
  sum=''
  while read -r listed name rest || [ -n "$listed" ]; do
    [ "$name$rest" = "$1" ] || continue
    [ -z "$sum" ] || die "SHA256SUMS has two lines for $1"
    case $listed in *[!0-9a-f]*) listed='' ;; esac
    [ ${#listed} -eq 64 ] || die "SHA256SUMS has no SHA-256 for $1"
    sum=$listed
  done <"$sums"
  [ -n "$sum" ]
}

# has_sum FILE SUM
has_sum() {
  case $hasher in
    shasum) hash=$(shasum -a 256 <"$1") ;;
    openssl) hash=$(openssl dgst -sha256 <"$1") hash=${hash##* } ;;
    *) hash=$($hasher <"$1") ;;
  esac
  [ "${hash%% *}" = "$2" ]
}

# Sets binary: the file of this version, whole
get_binary() {
  binary=$dir/svc-$version
  [ ! -d "$binary" ] || die "$binary is a folder: move it away, or choose another place with --dir"
  program=svc-$target
  if [ -n "$only" ]; then
    case $only in "svc-$target-baseline" | "svc-$target-baseline".*) program=svc-$target-baseline ;; esac
  fi
  sum_of "$program" || die "release $version has no svc for this machine ($target): SHA256SUMS has no $program"
  program_sum=$sum
  if [ -f "$binary" ] && [ ! -L "$binary" ] && has_sum "$binary" "$program_sum"; then
    chmod 755 "$binary"
    return 0
  fi
  binary=$temp/svc
  choose_file
  case $chosen in
    *.zst) unpack=zstd ;;
    *.gz) unpack=gzip ;;
    *) unpack='' ;;
  esac
  say "Getting svc $version for $target"
  get "$place$chosen" "$temp/$chosen" 400000000
  sum_of "$chosen" || die "SHA256SUMS has no $chosen"
  has_sum "$temp/$chosen" "$sum" || wrong_sum "$temp/$chosen"
  if [ -n "$unpack" ]; then
    limited 400000000 "$unpack" -dc "$temp/$chosen" >"$binary" 2>"$temp/log" || die "cannot unpack $chosen: $(head -n 1 "$temp/log")"
    rm -f "$temp/$chosen"
    has_sum "$binary" "$program_sum" || die "$chosen holds another file than SHA256SUMS says, or the disk is full"
  else
    mv -f "$temp/$chosen" "$binary"
  fi
  chmod 755 "$binary"
}

# Sets chosen: the smallest form of the binary that is there and can be unpacked here
choose_file() {
  for ending in .zst .gz ''; do
    chosen=$program$ending
    [ -z "$only" ] || [ "$only" = "$chosen" ] || continue
    [ "$ending" != .zst ] || has zstd || continue
    [ "$ending" != .gz ] || has gzip || continue
    [ -z "$folder" ] || [ -f "$folder/$place$chosen" ] || continue
    ! sum_of "$chosen" || return 0
  done
  [ -z "$only" ] || die "$only is not for this machine ($target), or cannot be unpacked here"
  die "there is no $program in $from"
}

wrong_sum() {
  case $(head -c 200 "$1" | tr -d '\000') in
    *'<html'* | *'<HTML'* | *'<!'*) die "$url is a web page, and not svc: is there a login or a proxy in between?" ;;
  esac
  die "$chosen is not what SHA256SUMS says: it is damaged, or was changed"
}

# run_new ARGUMENT...: runs the new svc. Sets said, status and complaint, a line
run_new() {
  status=0
  { SVC_NO_UPDATE_CHECK=1 "$binary" "$@" || status=$?; } >"$temp/said" 2>"$temp/log" </dev/null
  said=$(cat "$temp/said") complaint=$(head -n 1 "$temp/log")
}

# Runs it before anything depends on it
try_binary() {
  run_new version --tag-only
  if [ $status = 0 ]; then
    [ "$said" = "$version" ] || die "the new svc says that it is '$said', and not $version: not installed"
    return 0
  fi
  case $complaint in
    *GLIBC_*' not found'*) die "svc needs a newer glibc than this system's: $complaint" ;;
    *'rror relocating '*'symbol not found'*)
      die "svc needs a newer libstdc++ than this system's: that of GCC 13, which Alpine has since 3.19 (${complaint#Error relocating *: })"
      ;;
    *libstdc++* | *libgcc_s*) die "svc needs libstdc++, which is not here (on Alpine: apk add libstdc++)" ;;
    *'ermission denied'*) die "cannot run programs in $dir: is it mounted with noexec? choose another place with --dir" ;;
  esac
  case $status in
    127) die "the new svc does not start, as its loader or a library is not on this system: $complaint" ;;
    132) die "the new svc uses instructions that this processor does not have" ;;
  esac
  die "the new svc does not run here: ${complaint:-it ended with $status}"
}

# The last resort when no tool could verify: the file itself does, whose sum is in what it verifies
verify_with_binary() {
  [ -z "$verifier" ] || return 0
  verifier="the downloaded svc itself, as neither minisign nor an openssl that can is here"
  run_new __verify "$sums" "$signature"
  [ $status = 0 ] || die "the signature does not fit SHA256SUMS: $complaint"
  [ "$said" = "$comment" ] || die "the signature does not fit its comment"
  warn "the signature was checked by $verifier; that says less than a check by a tool that you have already"
}

# Puts the binary and the link in their places, each by a rename. Until the last one the version before is what runs.
switch() {
  if [ "$binary" = "$temp/svc" ]; then
    [ ! -L "$dir/svc-$version" ] || rm -f "$dir/svc-$version"
    [ -e "$dir/svc-$version" ] || placed=$dir/svc-$version
    mv -f "$binary" "$dir/svc-$version" || die "cannot write $dir/svc-$version; $(still)"
  fi
  if ! ln -s "svc-$version" "$temp/link" || ! mv -f "$temp/link" "$dir/svc"; then die "cannot write $dir/svc; $(still)"; fi
  placed='' made=''
  write_receipt || warn "cannot write $dir/.svc-install.json: tell svc update where to look with --from"
}

still() { if [ -n "$installed" ]; then echo "$installed is still installed"; else echo "nothing was installed"; fi; }

json() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g' | tr -d '\000-\037')"; }

# The note that svc update reads
write_receipt() {
  {
    printf '{'
    [ -z "$feed" ] || printf '"source": %s, ' "$(json "$feed")"
    [ -z "$installed" ] || [ "$installed" = "$version" ] || printf '"history": [%s], ' "$(json "$installed")"
    printf '"target": %s}\n' "$(json "${program#svc-}")"
  } >"$temp/receipt" && chmod 644 "$temp/receipt" && mv -f "$temp/receipt" "$dir/.svc-install.json"
}

quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
fish_quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/[\\\\']/\\\\&/g")"; }

# Sets line and fish_line: what start files get, the same each time so that it is found again
path_lines() {
  mark='# added by the installer of svc'
  line="case \":\$PATH:\" in *:$(quoted "$dir"):*) ;; *) export PATH=$(quoted "$dir"):\"\$PATH\" ;; esac $mark"
  fish_line="contains -- $(fish_quoted "$dir") \$PATH; or set -gx PATH $(fish_quoted "$dir") \$PATH $mark"
  fish_file=${XDG_CONFIG_HOME:-${HOME:-}/.config}/fish/conf.d/svc.fish
}

add_path() {
  path_lines
  [ -n "$modify_path" ] || return 0
  case ":$PATH:" in *:"$dir":*) return 0 ;; esac
  [ -n "${HOME:-}" ] || return 0
  case ${SHELL##*/} in
    zsh) start=${ZDOTDIR:-$HOME}/.zshrc ;;
    bash) start=$HOME/.bashrc ;;
    fish) start=$fish_file line=$fish_line ;;
    *) start=$HOME/.profile ;;
  esac
  if [ "$(uname -s)/${SHELL##*/}" = Darwin/bash ]; then
    start=$HOME/.bash_profile
    for file in "$HOME/.profile" "$HOME/.bash_login" "$HOME/.bash_profile"; do [ ! -f "$file" ] || start=$file; done
  fi
  if [ -f "$start" ] && grep -qxF -e "$line" "$start"; then return 0; fi
  if append_line 2>/dev/null; then
    say "Added $dir to PATH in $start, for new terminals."
  else
    warn "cannot write $start; add this line to it: $line"
  fi
}

append_line() (
  umask "$user_umask"
  mkdir -p "${start%/*}" || exit 1
  text=$line
  if [ -s "$start" ] && [ -n "$(tail -c 1 "$start")" ]; then text=$newline$line; fi
  printf '%s\n' "$text" >>"$start"
)

# Sets pages, and words_bash and words_fish: where manual pages and completions are looked for
manual_places() {
  pages=${dir%/bin}/share/man/man1
  words_bash=${XDG_DATA_HOME:-${HOME:-}/.local/share}/bash-completion/completions/svc
  words_fish=${XDG_CONFIG_HOME:-${HOME:-}/.config}/fish/completions/svc.fish
}

# is_ours FILE: whether a completion is svc's own, which asks svc for its words
is_ours() { [ -f "$1" ] && grep -q 'svc completion' "$1"; }

# Manual pages beside the folder of builds, where man looks because of PATH; completions for the shells that are here. The new svc writes both.
add_manual() {
  manual_places
  [ -n "$manual" ] && [ -z "$named" ] || return 0
  if ! "$dir/svc" help --manual "$pages" >/dev/null 2>&1 </dev/null; then
    warn "cannot write manual pages to $pages"
    return 0
  fi
  for shell in bash fish; do
    if ! has $shell || [ -z "${HOME:-}" ]; then continue; fi
    case $shell in bash) words=$words_bash ;; *) words=$words_fish ;; esac
    if [ -e "$words" ] && ! is_ours "$words"; then continue; fi
    write_completion 2>/dev/null || warn "cannot write $words; svc completion $shell prints what belongs there"
  done
  say "Manual pages are in $pages; --uninstall removes them and the completions."
}

write_completion() (
  umask "$user_umask"
  mkdir -p "${words%/*}" && "$dir/svc" completion $shell >"$words.svc-$$" </dev/null && mv -f "$words.svc-$$" "$words" && exit 0
  rm -f "$words.svc-$$"
  exit 1
)

remove_manual() {
  manual_places
  for file in "$pages"/svc.1 "$pages"/svc-*.1; do remove "$file"; done
  rmdir "$pages" "${pages%/*}" "${pages%/*/*}" 2>/dev/null
  for words in "$words_bash" "$words_fish"; do ! is_ours "$words" || remove "$words"; done
}

report() {
  [ -z "$quiet" ] || return 0
  say "Signature checked with $verifier."
  SVC_NO_UPDATE_CHECK=1 "$dir/svc" version </dev/null
  printf 'OS: %s\nArch: %s\nPath: %s\n' "$os" "$arch" "$dir/svc-$version"
  case ":$PATH:" in
    *:"$dir":*) ;;
    *)
      case ${SHELL:-} in
        */fish) say "To use svc in this terminal: set -gx PATH $(fish_quoted "$dir") \$PATH" ;;
        *) say "To use svc in this terminal: export PATH=$(quoted "$dir"):\"\$PATH\"" ;;
      esac
      ;;
  esac
}

# Removes what this script and svc update put in the folder, and the line in the start files
uninstall() {
  removed=''
  if installed=$(readlink "$dir/svc" 2>/dev/null) && is_version "${installed#svc-}"; then remove "$dir/svc"; fi
  for file in "$dir"/svc-v*; do
    if is_version "${file#"$dir"/svc-}" && [ ! -d "$file" ]; then remove "$file"; fi
  done
  for file in "$dir"/.svc-install.json "$dir"/.svc-install-* "$dir"/.svc-update*; do remove "$file"; done
  path_lines
  if [ -n "${HOME:-}" ]; then
    for file in "$HOME/.profile" "$HOME/.bashrc" "$HOME/.bash_profile" "$HOME/.bash_login" "$HOME/.zshrc" "${ZDOTDIR:-$HOME}/.zshrc"; do
      remove_line "$file" "$line"
    done
    remove_line "$fish_file" "$fish_line"
  fi
  [ -n "$named" ] || remove_manual
  rmdir "$dir" 2>/dev/null
  if [ -n "$removed" ]; then say "svc is removed from $dir."; else say "There is no svc in $dir."; fi
  data=${SVC_HOME:-${HOME:-}/.svc}
  rmdir "$data" 2>/dev/null
  [ ! -d "$data" ] || say "What it kept for you is still in $data; remove that too if you do not need it."
}

remove() {
  [ -e "$1" ] || [ -L "$1" ] || return 0
  rm -rf "$1" || die "cannot remove $1"
  removed=yes
}

# remove_line FILE LINE: the file keeps its mode, and a link to it stays one
remove_line() {
  [ -f "$1" ] && grep -qxF -e "$2" "$1" || return 0
  real=$1
  while [ -L "$real" ]; do
    linked=$(readlink "$real")
    case $linked in /*) real=$linked ;; *) real=${real%/*}/$linked ;; esac
  done
  changed=$real.svc-$$
  if cp -p "$real" "$changed" && { grep -vxF -e "$2" "$real" >"$changed" || [ $? = 1 ]; }; then
    if [ -s "$changed" ] || [ -L "$1" ]; then mv -f "$changed" "$real"; else rm -f "$changed" "$real"; fi
  else
    rm -f "$changed"
    warn "cannot write $1; remove this line from it: $2"
  fi
}

main() {
  [ $# = "$argument_count" ] || die "this script is cut off: nothing was done"
  user_umask=$(umask)
  umask 022
  [ -e /dev/null ] || die "there is no /dev/null here"
  unset CDPATH
  LC_ALL=C
  export LC_ALL
  parse_arguments "$@"
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  find_folder
  if [ -n "$uninstall" ]; then
    uninstall
    return
  fi
  find_key
  find_tools
  find_target
  prepare_folder
  find_release
  verify_sums
  check_version
  get_binary
  try_binary
  verify_with_binary
  switch
  add_path
  add_manual
  report
}
}

main "$@"
