#!/bin/bash
# What the kernel may refuse, refused for real: io_refusals.sh PATH_TO_TIDEMILL
# Each engine falls back one step with one line that says "refused"; a named one is exit 1; the bytes are right each time.
# Exit 0: all as it should be; 1: not; 77: skipped, and why.
set -u
tidemill=$1
command -v strace > /dev/null || { echo "skipped: needs strace"; exit 77; }
strace -o /dev/null true 2> /dev/null || { echo "skipped: strace is not permitted here"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
chmod 777 "$folder"
bench=(bench io --swap-dir "$folder" --size 8MiB --bs 1MiB --iodepth 4 --rw readwrite --runtime 200ms --verify --json)
failures=0

# expect NAME EXIT ENGINE LINES_WITH_REFUSED COMMAND...
expect() {
  local name=$1 want_exit=$2 want_engine=$3 want_lines=$4
  shift 4
  "$@" > "$folder/out" 2> "$folder/err"
  local got_exit=$? engine lines
  engine=$(grep -o '"engine":"[a-z_]*"' "$folder/out" | head -1 | cut -d'"' -f4)
  lines=$(grep -c refused "$folder/err")
  if [ "$got_exit" = "$want_exit" ] && [ "$engine" = "$want_engine" ] && [ "$lines" = "$want_lines" ]; then
    echo "ok: $name"
  else
    echo "FAILED: $name: exit $got_exit (want $want_exit), engine '$engine' ('$want_engine'), $lines lines ($want_lines)"
    cat "$folder/err"
    failures=$((failures + 1))
  fi
  rm -f "$folder/out" "$folder/err"
  if [ -n "$(ls -A "$folder")" ]; then
    echo "FAILED: $name: left behind: $(ls -A "$folder")"
    failures=$((failures + 1))
  fi
}
refuse() { strace -f -o /dev/null "${@/#/-einject=}" "$tidemill" "${bench[@]}" "${extra[@]}"; }

extra=()
expect "io_uring refused by EPERM" 0 libaio 1 refuse io_uring_setup:error=EPERM
expect "io_uring refused by ENOSYS" 0 libaio 1 refuse io_uring_setup:error=ENOSYS
expect "both refused" 0 posix 2 refuse io_uring_setup:error=EPERM io_setup:error=EAGAIN
extra=(--engine io_uring)
expect "named io_uring refused" 1 "" 1 refuse io_uring_setup:error=EPERM
extra=(--engine libaio)
expect "named libaio refused" 1 "" 1 refuse io_setup:error=EAGAIN
extra=()

if [ "$(id -u)" = 0 ] && "$tidemill" "${bench[@]}" --engine io_uring > /dev/null 2>&1; then
  expect "memlock of 64 KiB" 0 io_uring 1 \
    setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --memlock=65536:65536 \
    "$tidemill" "${bench[@]}" --engine io_uring
else
  echo "skipped: memlock of 64 KiB (needs root and io_uring)"
fi

# The first open of the bench file, with O_DIRECT, is refused; the second one, without, is not.
mkdir "$folder/file" && path="$folder/file/tidemill-bench.bin" && head -c 8388608 /dev/urandom > "$path"
strace -f -o /dev/null -P "$path" -e trace=openat -e inject=openat:error=EINVAL:when=1 \
  "$tidemill" "${bench[@]}" --swap-dir "$folder/file" > "$folder/out" 2> "$folder/err"
if [ $? = 0 ] && grep -q '"direct":false' "$folder/out" && [ "$(grep -c 'O_DIRECT is refused' "$folder/err")" = 1 ]; then
  echo "ok: O_DIRECT refused by the file system"
else
  echo "FAILED: O_DIRECT refused by the file system"
  cat "$folder/err"
  failures=$((failures + 1))
fi
[ -f "$path" ] || { echo "FAILED: the user's bench file is gone"; failures=$((failures + 1)); }
[ "$failures" = 0 ]
