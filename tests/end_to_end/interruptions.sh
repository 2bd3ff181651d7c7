#!/bin/bash
# A run that is killed at each step of a save, or told to stop while it loads, evaluates or saves:
# interruptions.sh PATH_TO_TIDEMILL SOURCE_DIR
# What is there afterwards is whole, and going on ends with the bits of the run that nothing happened to.
# Exit 0: all as it should be; 1: not; 77: skipped, and why.
set -u
tidemill=$1 model=$2/tests/golden/models/llama_gqa_tied_f32
command -v strace > /dev/null || { echo "skipped: needs strace"; exit 77; }
strace -o /dev/null true 2> /dev/null || { echo "skipped: strace is not permitted here"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
for row in 1 2 3 4 5 6 7 8; do echo "{\"input_ids\":[1,2,$((row + 2)),4,5,6,7,8,9,10,11,12]}"; done > "$folder/rows.jsonl"
cp "$folder/rows.jsonl" "$folder/eval.jsonl"
failures=0
fail() { echo "FAILED: $1"; tail -3 "$folder/err"; failures=$((failures + 1)); }

# train NAME [COMMAND...]: the run, started by COMMAND. Its exit status.
train() {
  local name=$1
  shift
  "$@" "$tidemill" train --model "$model" --train-data "$folder/rows.jsonl" --output-dir "$folder/$name" --threads 1 \
    --device host:mem=64MiB --host-memory 64MiB --dtype fp32 --max-steps 6 --save-steps 2 --logging-steps 1 \
    --save-total-limit 2 --eval-data "$folder/eval.jsonl" --eval-strategy steps --eval-steps 1 \
    --resume-from-checkpoint auto > /dev/null 2> "$folder/err"
}
results() { grep -o '"loss":[^,]*\|"grad_norm":[^,]*\|"learning_rate":[^,]*' "$folder/$1/metrics.jsonl"; }
# goes_on NAME WHAT: resumes from the last checkpoint that was announced or a later one; the end is the whole run's, and
# nothing half-made is left.
goes_on() {
  local name=$1 what=$2 file saved
  saved=$(grep -o '^saved checkpoint-[0-9]*' "$folder/err" | tail -1 | tr -dc 0-9)
  train "$name" || { fail "$what: resuming fails"; return; }
  after=$(grep -o 'continuing after step [0-9]*' "$folder/err" | tr -dc 0-9)
  [ "${after:-0}" -ge "${saved:-0}" ] || fail "$what: went on after step ${after:-0}, and $saved had been saved"
  [ "$(results "$name")" = "$(results whole)" ] || fail "$what: losses, norms or rates differ"
  [ -z "$(find "$folder/$name" -name '*.partial*')" ] || fail "$what: left behind: $(find "$folder/$name" -name '*.partial*')"
  for file in model.safetensors checkpoint-6/model.safetensors checkpoint-6/optimizer/exp_avg_sq.safetensors; do
    cmp -s "$folder/whole/$file" "$folder/$name/$file" || fail "$what: $file differs"
  done
}

train whole || { fail "the run without interruption"; exit 1; }
[ "$(results whole | wc -l)" = 18 ] || { fail "no results to compare with"; exit 1; }

# Killed at each kind of call that changes what is on the disk, early, in the middle and last.
train counted strace -qq -o "$folder/calls" -e trace=write,fsync,rename,mkdir,unlink,unlinkat || { fail "counting"; exit 1; }
kills=0 resumed=0 after=0
for call in write fsync rename mkdir unlink unlinkat; do
  count=$(grep -c "^$call(" "$folder/calls")
  [ "$count" -gt 0 ] || { fail "no $call in a run that saves"; continue; }
  for quarter in 1 2 3 4; do
    at=$(((count * quarter + 3) / 4))
    rm -rf "$folder/killed"
    (train killed strace -qq -o /dev/null -e trace=$call -e "inject=$call:signal=SIGKILL:when=$at") 2> /dev/null
    code=$?
    [ $code = 137 ] || fail "killed at $call $at of $count: exit $code"
    goes_on killed "killed at $call $at of $count"
    kills=$((kills + 1)) resumed=$((resumed + (${after:-0} > 0)))
  done
done
echo "killed $kills times, resumed from a checkpoint $resumed times"
[ $resumed -gt $((kills / 2)) ] || fail "most kills were before the first checkpoint"

# stopped WHAT SIGNAL EXIT STRACE_FLAGS...: the signal ends the run with EXIT, when all is saved.
stopped() {
  local what=$1 signal=$2 want=$3 code
  shift 3
  rm -rf "$folder/stopped"
  train stopped strace -qq -o /dev/null "$@:signal=$signal:when=$at"
  code=$?
  [ $code = "$want" ] || fail "$what: exit $code, not $want"
  goes_on stopped "$what"
  echo "ok: $what"
}
at=1 stopped "SIGTERM while loading" SIGTERM 143 -P "$model/model.safetensors" -e trace=openat -e inject=openat
at=1 stopped "SIGINT while loading" SIGINT 130 -P "$folder/rows.jsonl" -e trace=openat -e inject=openat
at=5 stopped "SIGTERM while evaluating" SIGTERM 143 -P "$folder/eval.jsonl" -e trace=pread64 -e inject=pread64
at=5 stopped "SIGTERM while saving" SIGTERM 143 -e trace=fsync -e inject=fsync
at=3 stopped "SIGINT while saving" SIGINT 130 -e trace=rename -e inject=rename
[ $failures = 0 ]
