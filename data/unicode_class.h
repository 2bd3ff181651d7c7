// The few character classes that tokenizers ask for, as the reference tokenizer's own regular expressions see them.
//
//   Source   data/unicode_table.inc, written by tests/golden/tokenizers/make_unicode_table.py; it says which editions
//            of Unicode these are. A class of another edition would give other ids for a few hundred rare characters.
//   Threads  pure functions.
#pragma once

#include <cstdint>

namespace tidemill::data {

enum CharClass : uint8_t {
  kLetter = 1,   // \p{L}
  kNumber = 2,   // \p{N} of the pre-tokenizers' regular expressions
  kNumeric = 4,  // the same three categories in the newer edition that the Digits pre-tokenizer uses
  kWord = 8,     // \w: alphabetic, mark, decimal digit, connector or joiner
  kSpace = 16,   // \s: White_Space
};

// The classes of a code point, or'ed together; 0 for punctuation, symbols, controls and what is unassigned.
uint8_t ClassesOf(uint32_t code);

}  // namespace tidemill::data
