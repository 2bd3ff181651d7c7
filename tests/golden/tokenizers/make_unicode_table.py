#!/usr/bin/env python3
"""Writes data/unicode_table.inc: the character classes that the reference tokenizer (PyPI `tokenizers`, 0.23.3) sees.

    make_unicode_table.py > data/unicode_table.inc

Its parts were built with different editions of Unicode: the regular expressions' letters and numbers with 16.0, the
Digits pre-tokenizer with 17.0. So each code point is asked for, instead of copying one edition's tables.
"""
import tokenizers
from tokenizers import AddedToken, Regex, models, pre_tokenizers

LETTER, NUMBER, NUMERIC, WORD = 1, 2, 4, 8
splitters = [
    (LETTER, pre_tokenizers.Split(Regex(r"\p{L}"), "isolated")),
    (NUMBER, pre_tokenizers.Split(Regex(r"\p{N}"), "isolated")),
    (NUMERIC, pre_tokenizers.Digits(individual_digits=True)),
]
single_word = tokenizers.Tokenizer(models.BPE(vocab={"x": 0}, merges=[]))
single_word.add_tokens([AddedToken("@@", single_word=True)])


def classes(code):
    bits = sum(bit for bit, split in splitters if len(split.pre_tokenize_str("-" + chr(code) + "-")) == 3)
    return bits if single_word.encode("@@" + chr(code)).ids else bits | WORD


ranges = []
for code in range(0x80, 0x110000):
    bits = 0 if 0xD800 <= code < 0xE000 else classes(code)
    if bits and ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == bits:
        ranges[-1][1] = code
    elif bits:
        ranges.append([code, code, bits])

line = ""
for first, last, bits in ranges:
    item = f"{{{first:#x},{last:#x},{bits}}},"
    if len(line) + len(item) > 120:
        print(line)
        line = ""
    line += item
print(line)
