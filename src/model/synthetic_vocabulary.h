// The vocabulary of a synthetic model: as many tokens as the real one has, its special tokens and the 256
// bytes where the real one has them, and generated words for all others.
#pragma once

#include "gguf/writer.h"
#include "model/presets.h"

namespace inferno::model {

// Writes the tokenizer.ggml.* keys. The words are all strings of letters in order, a space or none before
// them: " a", " b" … " z", " aa", "aa", " ab", "ab" … Each is the merge of the word without its last letter
// and that letter, the shorter ones first, so any text can be encoded, and decodes to itself.
void add_vocabulary(const Preset& preset, gguf::Writer& writer);

}  // namespace inferno::model
