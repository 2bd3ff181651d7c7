#!/usr/bin/env python3
"""Makes the tokenizer goldens with the reference, PyPI's `tokenizers` (0.23.3). Run by hand; the tests only read them.

    make_goldens.py NAME...             NAME/golden.json anew, from NAME/tokenizer.json and texts.json
    make_goldens.py --trim FILE NAME    first NAME/tokenizer.json, from the first 300 merges of a large FILE
"""
import json
import os
import sys

from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
MERGES_KEPT = 300


def trim(source, name):
    full = json.load(open(source))
    model = full["model"]
    pairs = [m if isinstance(m, list) else m.split(" ") for m in model["merges"][:MERGES_KEPT]]
    kept = {token for a, b in pairs for token in (a, b, a + b)} | {a["content"] for a in full["added_tokens"]}
    kept |= {token for token in model["vocab"] if len(token) == 1}
    order = sorted((t for t in model["vocab"] if t in kept), key=model["vocab"].get)
    model["vocab"] = {token: i for i, token in enumerate(order)}
    model["merges"] = [" ".join(pair) for pair in pairs]
    for token in full["added_tokens"]:
        token["id"] = model["vocab"][token["content"]]
    os.makedirs(os.path.join(HERE, name), exist_ok=True)
    json.dump(full, open(os.path.join(HERE, name, "tokenizer.json"), "w"), ensure_ascii=False, separators=(",", ":"))


def record(name):
    tokenizer = Tokenizer.from_file(os.path.join(HERE, name, "tokenizer.json"))
    cases = []
    for text in json.load(open(os.path.join(HERE, "texts.json"))):
        ids, plain = tokenizer.encode(text).ids, tokenizer.encode(text, add_special_tokens=False).ids
        cases.append({"text": text, "ids": ids, "ids_no_special": plain,
                      "decode": tokenizer.decode(plain, skip_special_tokens=False),
                      "decode_skip": tokenizer.decode(ids, skip_special_tokens=True)})
    with open(os.path.join(HERE, name, "golden.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


names = sys.argv[1:]
if names and names[0] == "--trim":
    trim(names[1], names[2])
    names = names[2:]
for golden in names:
    record(golden)
