#include "apps/commands.h"

namespace inferno::apps {
namespace {

constexpr CommandRow kCommands[] = {
    {"generate", nullptr, "Generate text with a model, or with the demo model inside", setup_generate},
    {"inspect", "gguf-inspect", "Show what is inside a GGUF file", setup_inspect},
    {"tokenize", nullptr, "Turn text into token ids", setup_tokenize},
    {"logits", nullptr, "Write the logits of a prompt to a .npy file", setup_logits},
    {"perplexity", nullptr, "Measure how well a model predicts a text", setup_perplexity},
    {"synthesize", nullptr, "Write a model of known shape with random weights, for benchmarks",
     setup_synthesize},
    {"quantize", nullptr, "Write a model with its weights in another format", setup_quantize},
    {"ceilings", nullptr, "Show how fast this machine reads memory and computes", setup_ceilings},
    {"bench", nullptr, "Measure speeds, compare and show them", setup_bench},
    {"cache", nullptr, "List or remove the repacked weights that --repack-cache keeps", setup_cache},
    {kCompletionCommand, nullptr, "Print a completion script for a shell", setup_completion},
    {nullptr, "model-generate", "Generate greedily and show every number", setup_model_generate},
    {nullptr, "bench-generation", "Time the configurations of a suite on one model", setup_bench_generation},
    {nullptr, "tokenizer-demo", "Show the tokens of a text and the way back", setup_tokenizer_demo},
};

}  // namespace

std::span<const CommandRow> command_rows() {
  return kCommands;
}

}  // namespace inferno::apps
