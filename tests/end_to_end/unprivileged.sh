#!/bin/bash
# A whole `train` as nobody, with 64 KiB of locked memory, without io_uring, without any engine of the kernel's and without
# O_DIRECT: unprivileged.sh PATH_TO_TIDEMILL SOURCE_DIR
# It runs, says what was refused, and gives the bits of the run that had everything.
# Exit 0: all as it should be; 1: not; 77: skipped, and why.
set -u
tidemill=$1 model=$2/tests/golden/models/llama_gqa_tied_f32
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED: $1"; cat "$folder/$2.err"; exit 1; }
for tool in strace setpriv prlimit; do command -v $tool > /dev/null || skip "needs $tool"; done
[ "$(id -u)" = 0 ] || skip "needs root, to become nobody"
strace -o /dev/null true 2> /dev/null || skip "strace is not permitted here"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp "$tidemill" "$folder/tidemill" && cp -r "$model" "$folder/model" && mkdir "$folder/swap" "$folder/other" || exit 1
for row in 1 2 3 4 5 6 7 8; do echo "{\"input_ids\":[1,2,$((row + 2)),4,5,6,7,8,9,10,11,12]}"; done > "$folder/rows.jsonl"
chmod -R a+rX "$folder" && chmod 777 "$folder" "$folder/swap" "$folder/other"

# train NAME COMMAND...: one run with everything on nvme, striped over two directories.
train() {
  local name=$1
  shift
  "$@" "$folder/tidemill" train --model "$folder/model" --train-data "$folder/rows.jsonl" --output-dir "$folder/$name" \
    --device host:mem=64MiB --dtype fp32 --threads 1 --max-steps 6 --save-steps 3 --logging-steps 1 --host-memory 64MiB \
    --swap-dir "$folder/swap" --swap-dir "$folder/other" --place-params nvme --place-optimizer nvme \
    --place-gradients nvme --place-activations nvme > "$folder/$name.out" 2> "$folder/$name.err"
}
results() { grep -o '"loss":[^,]*\|"grad_norm":[^,]*' "$folder/$1/metrics.jsonl"; }

train normal || fail "the normal run ends with $?" normal
[ "$(results normal | wc -l)" -ge 12 ] || fail "the normal run has no metrics" normal

# same NAME LINE COMMAND...: a run that says LINE, and gives what the normal one gave.
same() {
  local name=$1 line=$2
  shift 2
  train "$name" "$@" || fail "the run '$name' ends with $?" "$name"
  [ "$(grep -c "$line" "$folder/$name.err")" = 1 ] || fail "'$name' does not say '$line'" "$name"
  [ "$(results normal)" = "$(results "$name")" ] || fail "losses or norms of '$name' differ" "$name"
  (cd "$folder/normal" && find . -name '*.safetensors') | while read -r file; do
    cmp "$folder/normal/$file" "$folder/$name/$file" || exit 1
  done || fail "weights or moments of '$name' differ" "$name"
  [ -z "$(ls -A "$folder/swap" "$folder/other" | grep tidemill)" ] || fail "swap files of '$name' are left" "$name"
  echo "ok: $name"
}
[ "$(find "$folder/normal" -name '*.safetensors' | wc -l)" -ge 2 ] || fail "nothing was saved" normal
same "no io_uring, no libaio" "libaio is refused.*posix" \
  strace -f -o /dev/null -e inject=io_uring_setup,io_setup:error=ENOSYS
if grep -q "O_DIRECT is refused" "$folder/normal.err"; then
  echo "skipped: O_DIRECT refused in one of two directories: it is refused here anyway"
else  # opened to be measured, then to be used: each time with O_DIRECT, and again without
  same "O_DIRECT refused in one of two directories" "O_DIRECT is refused (.*/other/tidemill-swap.bin: " \
    strace -f -o /dev/null -P "$folder/other/tidemill-swap.bin" -e trace=openat -e inject=openat:error=EINVAL:when=1+2
fi
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --memlock=65536:65536)
same "nobody, little locked memory, no io_uring" "io_uring is refused.*libaio" \
  strace -f -o /dev/null -e inject=io_uring_setup:error=EPERM "${nobody[@]}"
if grep -q "io_uring is refused" "$folder/normal.err"; then
  echo "skipped: little locked memory with io_uring: io_uring is refused here"
else
  same "nobody, little locked memory" "registering buffers.*refused.*limit 64.0 KiB" "${nobody[@]}"
fi
