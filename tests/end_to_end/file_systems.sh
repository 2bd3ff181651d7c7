#!/bin/bash
# Swap directories on other file systems, alone and striped together: file_systems.sh PATH_TO_TIDEMILL SOURCE_DIR
# ext4, xfs and btrfs on loop devices, ext4 on one with sectors of 4096 bytes, and tmpfs; full and read-only ones too. The results are those of a run without swapping.
# Exit 0: all as it should be, but for what a line says was skipped; 1: not; 77: all skipped, and why.
set -u
tidemill=$1 model=$2/tests/golden/models/llama_gqa_tied_f32
[ "$(id -u)" = 0 ] || { echo "skipped: needs root, to mount"; exit 77; }
if [ "${3:-}" != inside ]; then  # mounts of our own, which end with the script whatever ends it
  unshare -m true 2> /dev/null || { echo "skipped: mount namespaces are not permitted here"; exit 77; }
  exec unshare -m bash "$0" "$1" "$2" inside
fi
folder=$(mktemp -d) || exit 1
trap 'umount "$folder"/mnt/* 2> /dev/null; rm -rf --one-file-system "$folder"' EXIT
mkdir "$folder/mnt"
for row in 1 2 3 4 5 6 7 8; do echo "{\"input_ids\":[1,2,$((row + 2)),4,5,6,7,8,9,10,11,12]}"; done > "$folder/rows.jsonl"
failures=0
fail() { echo "FAILED: $1"; tail -3 "$folder/$2.err"; failures=$((failures + 1)); }

# train NAME FLAGS...
train() {
  local name=$1
  shift
  "$tidemill" train --model "$model" --train-data "$folder/rows.jsonl" --output-dir "$folder/$name" --threads 1 \
    --device host:mem=64MiB --host-memory 64MiB --dtype fp32 --max-steps 4 --logging-steps 1 "$@" \
    > "$folder/$name.out" 2> "$folder/$name.err"
}
results() { grep -o '"loss":[^,]*\|"grad_norm":[^,]*' "$folder/$1/metrics.jsonl"; }
on_nvme="--place-params nvme --place-optimizer nvme --place-gradients nvme --place-activations nvme"
# same NAME DIRECTORY...: a run over these directories is the run without, and leaves nothing.
same() {
  local name=$1 directory directories=()
  shift
  for directory in "$@"; do directories+=(--swap-dir "$directory"); done
  if ! train "$name" $on_nvme "${directories[@]}"; then
    fail "$name: the run fails" "$name"
  elif [ "$(results "$name")" != "$(results memory)" ]; then
    fail "$name: losses or norms differ" "$name"
  elif ! cmp -s "$folder/memory/model.safetensors" "$folder/$name/model.safetensors"; then
    fail "$name: weights differ" "$name"
  elif ls -A "$@" | grep -q tidemill; then
    fail "$name: files are left" "$name"
  else
    echo "ok: $name ($(grep -c 'O_DIRECT is refused' "$folder/$name.err") without O_DIRECT)"
  fi
}
# mounted NAME KIND SIZE [SECTOR_BYTES]: makes $folder/mnt/NAME; else says why not.
mounted() {
  local name=$1 kind=$2 size=$3 sector=${4:-512} where=$folder/mnt/$1 device
  mkdir "$where"
  if [ "$kind" = tmpfs ]; then
    mount -t tmpfs -o "size=$size" tmpfs "$where" 2> /dev/null && return
  elif ! command -v "mkfs.$kind" > /dev/null; then
    echo "skipped: $name: needs mkfs.$kind"
    return 1
  else
    truncate -s "$size" "$folder/$name.img"
    if device=$(losetup --find --show --sector-size "$sector" "$folder/$name.img" 2> /dev/null); then
      "mkfs.$kind" -q "$device" > /dev/null 2>&1 && mount "$device" "$where" 2> /dev/null
      local made=$?
      losetup --detach "$device"  # goes once nothing is mounted from it
      [ $made = 0 ] && return
    fi
  fi
  echo "skipped: $name: cannot be made and mounted here"
  return 1
}

train memory --place-params host --place-optimizer host || { fail "the run without swapping fails" memory; exit 1; }
[ -n "$(results memory)" ] || { fail "no results to compare with" memory; exit 1; }
all=()
for kind in ext4 xfs btrfs tmpfs; do
  mounted $kind $kind 400M || continue
  all+=("$folder/mnt/$kind")
  same $kind "$folder/mnt/$kind"
  "$tidemill" bench io --swap-dir "$folder/mnt/$kind" --size 8MiB --bs 64KiB,1MiB --iodepth 4 --rw readwrite \
    --runtime 100ms --verify > /dev/null 2> "$folder/$kind.err" || fail "$kind: bench io --verify" $kind
done
if mounted sectors ext4 400M 4096; then
  all+=("$folder/mnt/sectors")
  same "ext4 with sectors of 4096 bytes" "$folder/mnt/sectors"
fi
[ ${#all[@]} -gt 0 ] || exit 77
[ ${#all[@]} -lt 2 ] || same "all together" "${all[@]}"

# The tier needs about 3 MiB: a directory that takes 1 MiB of it leaves the rest to the other, and two are too few.
if mounted small tmpfs 1M && mounted little tmpfs 1M; then
  same "a small one beside a large one" "$folder/mnt/small" "${all[0]}"
  train full $on_nvme --swap-dir "$folder/mnt/small" --swap-dir "$folder/mnt/little"
  code=$?
  [ $code = 3 ] || fail "two that are too small: exit $code, not 3" full
  echo "two that are too small: exit $code"
  for name in small little; do
    grep -q "$folder/mnt/$name has [0-9]* bytes free" "$folder/full.err" || fail "$name is not named with its free bytes" full
  done
fi

# refused_output NAME EXIT WORDS: a run into $folder/mnt/NAME/out ends with EXIT before its first step, and says WORDS.
refused_output() {
  local name=$1 want=$2 words=$3 code
  train "$name" --output-dir "$folder/mnt/$name/out" --save-steps 1
  code=$?
  [ $code = "$want" ] || fail "output on $name: exit $code, not $want" "$name"
  grep -q "$words" "$folder/$name.err" || fail "output on $name: does not say '$words'" "$name"
  grep -q "^step 1" "$folder/$name.err" && fail "output on $name: found out after a step" "$name"
  echo "output on $name: exit $code"
}
# Weights and a checkpoint take about 2 MiB.
mounted scarce tmpfs 1M && refused_output scarce 3 "are needed and 1.00 MiB are free ('$folder/mnt/scarce/out')"
if mounted readonly tmpfs 1M && mount -o remount,ro "$folder/mnt/readonly"; then
  refused_output readonly 2 "cannot write into the output directory ($folder/mnt/readonly/out)"
fi
[ $failures = 0 ]
