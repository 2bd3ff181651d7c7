"""Whether transformers loads what tidemill writes, and computes the same.

Run by hand, with transformers, torch and safetensors from PyPI:

    python tests/transformers_roundtrip.py build/release/tools/tidemill [--model DIR]...

transformers makes tiny models from configurations (tied and untied, grouped heads, biases, norms of queries and keys);
each is trained for one step and saved as one file and as shards; transformers loads the folder and its loss on the same
rows, summed over supervised tokens, is compared with `tidemill eval --json`. Folders given with --model are checked the
same way. Ends with 1 if a difference is above the tolerance, or if a tensor is missing, unexpected or newly made.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

ODD = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=80,
           vocab_size=300, max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=None)


def tiny_models():
    llama, qwen2, qwen3, mistral = (getattr(transformers, name + "Config")
                                    for name in ("Llama", "Qwen2", "Qwen3", "Mistral"))
    yield "llama, tied", llama(**ODD, head_dim=12, tie_word_embeddings=True)
    yield "llama, untied", llama(**ODD, head_dim=12, tie_word_embeddings=False)
    odd_heads = dict(ODD, num_attention_heads=3, num_key_value_heads=1, head_dim=32)
    yield "llama, biases, 3 heads of 32", llama(**dict(odd_heads, hidden_size=60), attention_bias=True, mlp_bias=True)
    yield "qwen2, tied", qwen2(**ODD, tie_word_embeddings=True)
    yield "qwen3, 3 heads of 32 over 56", qwen3(**dict(odd_heads, hidden_size=56), tie_word_embeddings=False)
    yield "mistral, window of 8", mistral(**ODD, head_dim=12, sliding_window=8)


def write_rows(path, vocabulary):
    generator = torch.Generator().manual_seed(7)
    rows = []
    for length, masked in ((12, 0), (31, 4), (5, 1), (40, 9), (23, 0)):
        ids = torch.randint(0, vocabulary, (length,), generator=generator).tolist()
        rows.append({"input_ids": ids, "labels": [-100] * masked + ids[masked:]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def transformers_loss(folder, rows):
    model, loading = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    problems = [f"{key}: {sorted(value)}" for key, value in loading.items() if value]
    total, count = 0.0, 0
    for row in rows:
        with torch.no_grad():
            logits = model(torch.tensor([row["input_ids"]])).logits[0, :-1].double()
        targets = torch.tensor(row["labels"][1:])
        total += torch.nn.functional.cross_entropy(logits, targets, ignore_index=-100, reduction="sum").item()
        count += int((targets >= 0).sum())
    return total / count, count, problems


def check(tidemill, name, model, work, shard, tolerance):
    out, data = work / ("out_" + shard), work / "rows.jsonl"
    rows = write_rows(data, json.loads((model / "config.json").read_text())["vocab_size"])
    subprocess.run([tidemill, "train", "--model", model, "--train-data", data, "--output-dir", out, "--max-steps", "1",
                    "--per-device-train-batch-size", "5", "--learning-rate", "1e-3", "--save-strategy", "no",
                    "--max-shard-size", shard], check=True, stderr=subprocess.DEVNULL)
    ours = json.loads(subprocess.run([tidemill, "eval", "--model", out, "--eval-data", data, "--json"], check=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    before, _, _ = transformers_loss(model, rows)
    theirs, count, problems = transformers_loss(out, rows)
    difference = abs(ours["loss"] - theirs) / theirs
    files = len(list(out.glob("*.safetensors")))
    good = difference <= tolerance and count == ours["supervised_tokens"] and not problems and before != theirs
    print(f"{name:32} {files:3} file(s)  before {before:.7f}  tidemill {ours['loss']:.7f}  transformers {theirs:.7f}  "
          f"relative {difference:.1e}  {'ok' if good else 'WRONG'} {'; '.join(problems)}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidemill")
    parser.add_argument("--model", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    arguments = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as root:
        folders = [(str(folder), folder, ("5GB", "100MB")) for folder in arguments.model]
        for name, config in tiny_models():
            torch.manual_seed(1)
            folder = pathlib.Path(root) / ("tiny_%d" % len(folders))
            transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
            folders.append((name, folder, ("5GB", "60KB")))
        for index, (name, folder, shards) in enumerate(folders):
            work = pathlib.Path(root) / f"work_{index}"
            work.mkdir()
            for shard in shards:
                good &= check(arguments.tidemill, name, folder, work, shard, arguments.tolerance)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
