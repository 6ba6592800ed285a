// `inferno generate`, called as a user calls it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "backend/backend.h"
#include "base/json.h"
#include "base/memory.h"
#include "models/demo/demo_model.h"
#include "support/bare_model.h"
#include "support/raw_gguf.h"
#include "support/run_program.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"
#include "support/tiny_vocabulary.h"

namespace inferno::test {
namespace {

constexpr const char* kTale =
    ", there was a small girl who lived in a small town. Her name was Molly. She was kind and everyone liked "
    "her. She was not very big,";

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

Finished generate(const std::string& arguments, const std::string& input = "") {
  return run_program("inferno", "generate " + arguments, input);
}

// Greedy text of the demo model without the newline at its end.
std::string text_of(const std::string& arguments, const std::string& input = "") {
  const Finished finished = generate("--metrics none " + arguments, input);
  EXPECT_EQ(finished.exit_code, 0) << arguments << "\n" << finished.err;
  EXPECT_EQ(finished.err, "") << arguments;
  EXPECT_TRUE(finished.out.ends_with('\n'));
  return finished.out.substr(0, finished.out.size() - 1);
}

Json json_of(const std::string& arguments) {
  const Finished finished = generate("--json " + arguments);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  return parse_json(finished.out).value();
}

// One line on stderr, nothing on stdout.
void expect_refusal(const Finished& finished, int exit_code, const std::string& part) {
  EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(finished.err.starts_with("error: ")) << finished.err;
  EXPECT_TRUE(contains(finished.err, part)) << part << "\nis not in\n" << finished.err;
}

std::string write_model(const std::string& name, const std::vector<std::byte>& bytes) {
  const std::string path = (scratch_dir("generate_" + name) / name).string();
  write_file(path, bytes);
  return path;
}

std::string demo_file() {
  const auto bytes = demo::model_bytes();
  return write_model("demo.gguf", {bytes.begin(), bytes.end()});
}

TEST(GenerateCommand, TellsTheTaleOfTheDemoModelFromAnyFolder) {
  EXPECT_EQ(text_of("-n 32"), kTale);
  EXPECT_EQ(text_of("'Once upon a time' 32"), kTale);
  EXPECT_EQ(text_of("'Once upon a time' 32 -n 32"), kTale);
  EXPECT_EQ(text_of("- 32", "Once upon a time"), kTale);
  EXPECT_EQ(text_of("- 32", "Once upon a time\n"), kTale) << "as echo has it";
  EXPECT_EQ(text_of("--kv 'Once upon a time' 32"), kTale) << "--kv takes no value but with =";
  EXPECT_EQ(text_of("--kv=basic 'Once upon a time' 32"), kTale);
  EXPECT_EQ(text_of("--prompt-ids 542,495,258,420 32"), kTale);
  EXPECT_EQ(text_of("--stop Molly --stop nowhere 'Once upon a time' 32"),
            ", there was a small girl who lived in a small town. Her name was ");
}

TEST(GenerateCommand, TextOnStandardInputThatIsNotReadIsWarnedOf) {
  const std::string warning =
      "warning: the text on standard input is not read: as PROMPT, - reads it; the prompt is \"Once upon a "
      "time\"\n";
  const std::string two = "-n 2 --metrics none ";
  EXPECT_EQ(generate(two, "Hello").err, warning) << "a file";
  const Finished piped = generate(two + "<<END\nHello\nEND\n");
  EXPECT_EQ(piped.exit_code, 0);
  EXPECT_EQ(piped.out, ", there\n");
  EXPECT_EQ(piped.err, warning);
  EXPECT_EQ(generate(two + "- <<END\nOnce upon a time\nEND\n").out, piped.out);
  EXPECT_EQ(generate(two + "-", "Hello").err, "");
  EXPECT_EQ(generate(two + "'Hello, you'", "Hello").err, "");
  EXPECT_EQ(generate(two + "--prompt-ids 542", "Hello").err, "");
  EXPECT_EQ(generate(two + "</dev/null").err, "");
  EXPECT_EQ(generate(two + "</dev/zero").err, "");
  EXPECT_EQ(generate(two + "<&-").err, "") << "closed";
}

TEST(GenerateCommand, TheFirstArgumentIsAModelIfItExistsOrLooksLikeOne) {
  const std::string model = demo_file();
  EXPECT_EQ(text_of(model + " -n 32"), kTale);
  EXPECT_EQ(text_of(model + " 'Once upon a time' 32"), kTale);
  const std::string unnamed = write_model("no_suffix", {});
  expect_refusal(generate(unnamed), 1, "no_suffix");
  expect_refusal(generate("nowhere.gguf"), 1, "nowhere.gguf");
  expect_refusal(generate("synthetic:7b"), 2, "preset: expected one of");
  expect_refusal(generate("synthetic:qwen3-06b:q8_0"), 2, "did you mean qwen3-0.6b?");
}

TEST(GenerateCommand, WithoutCacheTheTokensAreTheSameInEveryType) {
  for (const char* type : {"f32", "f16", "bf16", "q8_0"}) {
    for (const char* backend : {"auto", "simd", "scalar"}) {
      const std::string options = fmt::format("-n 6 --kv-type {} --backend {}", type, backend);
      EXPECT_EQ(json_of(options)["generated_ids"], json_of(options + " --no-kv")["generated_ids"]) << options;
    }
  }
}

TEST(GenerateCommand, SameSeedSameText) {
  const std::string text = text_of("-t 1 --seed 7 -n 24");
  EXPECT_EQ(text_of("-t 1 --seed 7 -n 24"), text);
  EXPECT_NE(text_of("-t 1 --seed 8 -n 24"), text);
  EXPECT_EQ(text_of("-t 1 --top-k 1 -n 32"), kTale);
}

TEST(GenerateCommand, AChoiceInOtherLettersIsThatChoice) {
  const Finished finished = generate("-n 8 --kv-type Q8_0 --backend Parallel --metrics NONE");
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(finished.out, generate("-n 8 --kv-type q8_0 --backend parallel --metrics none").out);
}

TEST(GenerateCommand, OptionsThatChangeNothingAreSaidToDoSo) {
  const Finished greedy = generate("-n 2 --top-k 40 --metrics none");
  EXPECT_EQ(greedy.exit_code, 0);
  EXPECT_EQ(greedy.err, "warning: --top-k changes nothing at temperature 0; add -t 1 to draw\n");
  EXPECT_EQ(generate("-n 2 --top-k 40 -t 1 --metrics none").err, "");
  EXPECT_EQ(generate("-n 2 --seed 7 --metrics none").err,
            "warning: --seed changes nothing at temperature 0; add -t 1 to draw\n");
  EXPECT_EQ(generate("5 --metrics none").err, "warning: 5 is the prompt; as the number of tokens: -n 5\n");
  EXPECT_EQ(generate("5 2 --metrics none").err, "");
  EXPECT_EQ(generate("-n 2 -t 8 --metrics none").err,
            "warning: -t 8 makes the text all but random: -t is the temperature, threads are --threads\n");
}

TEST(GenerateCommand, WhereThreadsAndMemoryLieChangesNoText) {
  const Finished spread = run_program("inferno", "generate -n 8 --metrics none");
  const Finished isolated = run_program("inferno", "generate -n 8 --metrics none --numa isolate");
  EXPECT_EQ(isolated.exit_code, 0) << isolated.err;
  EXPECT_EQ(isolated.out, spread.out);
}

TEST(GenerateCommand, SpeculationGivesTheSameTextAndSaysWhatItGuessed) {
  const std::string prompt = "'One little duck, two little ducks. One little duck, two' -n 60 --ignore-eos";
  const auto plain = json_of(prompt), guessing = json_of(prompt + " --speculative ngram");
  EXPECT_EQ(guessing["generated_ids"], plain["generated_ids"]);
  EXPECT_EQ(plain["guesses"]["drafted"], 0);
  EXPECT_LE(guessing["guesses"]["accepted"], guessing["guesses"]["drafted"]);
  const Finished idle = generate("-n 2 --speculative ngram --no-kv --metrics none");
  EXPECT_EQ(idle.exit_code, 0);
  EXPECT_TRUE(contains(idle.err, "--speculative changes nothing with --no-kv")) << idle.err;
}

TEST(GenerateCommand, TheHeadScreenGivesTheSameTextAndSaysWhatItRead) {
  const auto plain = json_of("-n 40 --ignore-eos"), screened = json_of("-n 40 --ignore-eos --head-screen");
  EXPECT_EQ(screened["generated_ids"], plain["generated_ids"]);
  EXPECT_EQ(plain["head_screen"]["passes"], 0);
  EXPECT_EQ(screened["head_screen"]["passes"], 40);
  EXPECT_LT(screened["head_screen"]["read_bytes"], screened["head_screen"]["head_bytes"]);
  const Finished told = generate("-n 40 --ignore-eos --head-screen");
  EXPECT_TRUE(contains(told.err, "\n head_screen:              in ")) << told.err;
  EXPECT_TRUE(contains(told.err, " of 40 passes, ")) << told.err;
  EXPECT_FALSE(contains(generate("-n 4").err, "head_screen"));
  const Finished idle = generate("-n 2 --head-screen --backend scalar --metrics none");
  EXPECT_EQ(idle.exit_code, 0);
  EXPECT_TRUE(contains(idle.err, "--head-screen changes nothing: expected --backend parallel or simd"))
      << idle.err;
  const Finished drawn = generate("-n 2 --head-screen -t 1 --metrics none");
  EXPECT_TRUE(contains(drawn.err, "--head-screen changes nothing at temperature")) << drawn.err;
}

// Without an option small files are looked through and warned of.
TEST(GenerateCommand, WeightsThatAreNaNAreWarnedOfOrRefusedOrNotLookedAt) {
  const std::span<const std::byte> model = demo::model_bytes();
  std::string bytes(reinterpret_cast<const char*>(model.data()), model.size());
  const auto file = gguf::File::from_memory(model, "demo").value();
  const Tensor& norm = file.find_tensor("output_norm.weight")->tensor;
  ASSERT_EQ(norm.dtype, DType::kF32);
  const auto offset =
      static_cast<size_t>(norm.as<const char>() - reinterpret_cast<const char*>(model.data()));
  bytes.replace(offset, 4, "\xff\xff\xff\x7f", 4);
  const std::string path = (scratch_dir("nan") / "nan.gguf").string();
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_TRUE(contains(generate("-n 1 " + path + " Once").err, "output_norm.weight"));
  EXPECT_FALSE(contains(generate("-n 1 --no-check-tensors " + path + " Once").err, "output_norm.weight"));
  EXPECT_TRUE(contains(generate("-n 1 --no-check-tensors --check-tensors " + path + " Once").err, "error: "))
      << "the last one counts";
  const Finished wrong = generate("-n 1 --check-tensors=maybe " + path + " Once");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(contains(wrong.err, "maybe")) << wrong.err;
  const Finished refused = generate("-n 1 --check-tensors " + path + " Once");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(contains(refused.err, "error: ") && contains(refused.err, "output_norm.weight")) << refused.err;
}

TEST(GenerateCommand, AnEmptyStopStringIsRefused) {
  expect_refusal(generate("--stop ''"), 2, "--stop: expected text, found none");
  expect_refusal(generate("--stop="), 2, "--stop");
}

TEST(GenerateCommand, MetricsAreOnStderr) {
  const Finished summary = generate("-n 3");
  for (const char* part : {"\nmetrics:\n model:                    demo-tales-q8_0.gguf (embedded), Q8_0, ",
                           "\n backend:                  parallel, ", "\n load_ms:                  ",
                           "\n prompt_tokens_per_second: ", " (4 tokens)\n time_to_first_token_ms:   ",
                           "\n decode_tokens_per_second: ", "\n per_forward_ms:           min ",
                           "(n=3)\n bytes_per_token:          ", " GB/s:\n                           "}) {
    EXPECT_TRUE(contains(summary.err, part)) << part << "\nis not in\n" << summary.err;
  }
  EXPECT_FALSE(contains(summary.err, "forward 1:"));
  EXPECT_TRUE(contains(generate("-n 3 --metrics full").err, "\n forward 3:                "));
}

TEST(GenerateCommand, MetricsAreOfWhatRan) {
  const Finished none = generate("-n 0");
  EXPECT_EQ(none.out, "\n");
  EXPECT_EQ(none.err, "warning: nothing is generated: 0 tokens were asked for\n") << "and no metrics";
  const Finished one = generate("-n 1");
  EXPECT_FALSE(contains(one.err, "time_to_first_token_ms:   —"));
  EXPECT_TRUE(contains(one.err, "decode_tokens_per_second: —\n per_forward_ms:           min ")) << one.err;
}

TEST(GenerateCommand, JsonIsOneObject) {
  const auto json = json_of("--prompt-ids 542,495,258,420 -n 3");
  EXPECT_EQ(json["prompt_ids"], Json({542, 495, 258, 420}));
  EXPECT_EQ(json["generated_ids"], Json({44, 373, 293}));
  EXPECT_EQ(json["text"], ", there was");
  EXPECT_EQ(json["finish_reason"], "length");
  EXPECT_FALSE(json["isa"].get<std::string>().empty());
  EXPECT_GE(json["threads"], 1);
  EXPECT_TRUE(json["repack_cache"].is_null());
  EXPECT_GT(json["metrics"]["load_ms"], 0);
  EXPECT_GT(json["metrics"]["prompt_tokens_per_second"], 0);
  EXPECT_EQ(json["metrics"]["per_forward_ms"].size(), 3u);
  EXPECT_GT(json["metrics"]["decode_tokens_per_second"], 0);
  EXPECT_TRUE(json_of("-n 1")["metrics"]["decode_tokens_per_second"].is_null());
}

TEST(GenerateCommand, MetricsCsvHoldsTheFiguresOfTheRequest) {
  const auto folder = scratch_dir("generate_metrics_csv");
  const std::string csv = (folder / "metrics.csv").string();
  text_of("'Once upon' -n 3 --metrics-csv " + csv);
  const std::string text = read_file(csv);
  EXPECT_TRUE(text.starts_with("metric,n,mean,min,p50,p95,p99,max\ntps,1,")) << text;
  EXPECT_TRUE(contains(text, "\nitl_s,2,")) << text;
  EXPECT_TRUE(contains(text, "\nn_requests,1,1,,,,,\nn_cancelled,1,0,,,,,\nn_failed,1,0,,,,,\n")) << text;
  expect_refusal(generate("missing.gguf Once 3 --metrics-csv /dev/null"), 1,
                 "/dev/null: expected the name of a regular file");
  const auto serving = json_of("'Once upon' -n 3")["serving"];
  EXPECT_EQ(serving["n_cancelled"], 0);
  EXPECT_EQ(serving["n_failed"], 0);
}

TEST(GenerateCommand, AWordThatBeginsAsAPathDoesIsAModel) {
  const auto folder = scratch_dir("generate_path");
  const std::string path = (folder / "nope").string();
  expect_refusal(generate(path + " hi 4"), 1, path + ": no such file");
  expect_refusal(generate("./nope-at-all 8"), 1, "./nope-at-all: no such file");
  expect_refusal(generate("models/nope hi 4"), 1, "models/nope: no such file");
  text_of("'/ two words' -n 1");
  text_of("https://example.org -n 1");
  text_of("昔々/あるところに -n 1");
  expect_refusal(generate("and/or -n 1"), 1, "a prompt with a / and no blank goes to standard input");
}

TEST(GenerateCommand, AModelThatIsNotThereGetsTheNearestName) {
  const std::string model = demo_file();
  const std::string folder = model.substr(0, model.rfind('/') + 1);
  expect_refusal(generate(folder + "demmo.gguf hi 4"), 1, ": no such file; did you mean " + model + "?\n");
  EXPECT_FALSE(contains(generate(folder + "entirely-else.gguf hi 4").err, "did you mean"));
  expect_refusal(generate("Qwen/Qwen3-0.6B-GGUF hi 4"), 1,
                 "Qwen/Qwen3-0.6B-GGUF: no such file; inferno does not download: README.md says where");
  expect_refusal(generate("https://example.org/x.gguf hi"), 1, "; inferno does not download: README.md");
}

TEST(GenerateCommand, AFolderNamesTheModelsInIt) {
  const auto folder = scratch_dir("generate_folder");
  const std::string found = folder.string() + ": expected a regular file, found a directory; ";
  std::ofstream(folder / "README.md") << "";
  expect_refusal(generate(folder.string() + " hi 4"), 1, found + "no .gguf file is in it\n");
  for (const char* name : {"c.gguf", "a.gguf", "b.gguf"}) std::ofstream(folder / name) << "";
  expect_refusal(generate(folder.string()), 1, found + "give a .gguf file of it: a.gguf, b.gguf, c.gguf\n");
  for (const char* name : {"f.gguf", "e.gguf", "d.gguf"}) std::ofstream(folder / name) << "";
  expect_refusal(run_program("inferno", "tokenize " + folder.string() + " hi"), 1,
                 "a.gguf, b.gguf, c.gguf, d.gguf and 2 more\n");
}

TEST(GenerateCommand, OneWordThatIsNoModelIsAPromptWithALineThatSaysSo) {
  const Finished finished = generate("mistral -n 2 --metrics none");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(
      finished.err,
      "warning: \"mistral\" is no file, so it is the prompt and the demo model runs; a model is a .gguf "
      "file or synthetic:NAME:TYPE\n");
  EXPECT_TRUE(contains(generate("qwen3-0.6b 2 --metrics none").err,
                       "did you mean synthetic:qwen3-0.6b:q8_0 (its shape, random weights)?"));
  EXPECT_TRUE(contains(generate("'/no/such model' 2 --metrics none").err,
                       "warning: \"/no/such model\" is no file, so it is the prompt"));
  EXPECT_EQ(generate("'/ a tale' 2 --metrics none").err, "");
  expect_refusal(generate("mistral hello 10"), 2, "\"mistral\" is no file; a model is a .gguf file or");
  EXPECT_EQ(generate(demo_file() + " mistral 2 --metrics none").err, "");
}

TEST(GenerateCommand, MoreThreadsThanProcessorsAreWarnedOf) {
  const Finished many = generate("-n 2 --threads 1024 --metrics none");
  EXPECT_EQ(many.exit_code, 0);
  EXPECT_TRUE(many.err.starts_with("warning: --threads 1024: this process may use ")) << many.err;
  EXPECT_EQ(generate("-n 2 --threads 1 --metrics none").err, "");
  const std::string peak = generate("-n 2 --threads 1024").err;
  EXPECT_FALSE(contains(peak, "1024 threads can read from memory")) << peak;
}

TEST(GenerateCommand, JsonOfBytesThatAreNotUtf8IsStillJson) {
  const std::string model = write_model("random.gguf", TinyModel({}).bytes());
  const auto json = json_of(model + " hello 100 -t 1.9 --ignore-eos");
  EXPECT_EQ(json["generated_ids"].size(), 100u);
  EXPECT_TRUE(contains(json["text"], "\ufffd")) << json["text"];
}

TEST(GenerateCommand, AContextBeyondMemoryIsRefusedBeforeTheModelIsLoaded) {
  const auto available = available_memory();
  if (!available || *available > uint64_t{1} << 40)
    GTEST_SKIP() << "nothing is too much here, as far as known";
  // A position takes 64 layers x 2 x 2 heads x 64 x 4 bytes. The weights cannot be loaded: a norm is missing.
  TinyModel tiny({.n_layers = 64, .head_dim = 64, .context_length = uint32_t{1} << 30});
  tiny.tensors.erase("output_norm.weight");
  const std::string model = write_model("long.gguf", tiny.bytes());
  const auto refused = [](const Finished& finished, const std::string& kv) {
    expect_refusal(finished, 1, " of weights and " + kv + " of keys and values; ");
    EXPECT_TRUE(contains(finished.err, " are available; ask for fewer tokens, or for a smaller --kv-type\n"));
    EXPECT_EQ(lines(finished.err), 1u);
  };
  refused(generate("--kv-type f32 " + model + " hello 2147483647"), "70.4 TB");
  refused(generate(model + " hello 1073741824"), "35.2 TB");
  refused(run_program("model-generate", model + " hello 1073741824", ""), "35.2 TB");
  refused(run_program("inferno", "perplexity --kv-type f32 --ctx 16777216 " + model + " -", "hello"),
          "1.1 TB");
  refused(generate("--no-kv " + model + " hello 1073741824"), "35.2 TB");  // it takes a cache for one pass
  expect_refusal(generate(model + " hello 8"), 1, "output_norm.weight");
  expect_refusal(generate("--kv-type q8_0 " + model + " hello 1073741824"), 1,
                 " are available; ask for fewer tokens\n");
  // No file's fault, so it is said before loading, too.
  TinyModel narrow({});
  narrow.tensors.erase("output_norm.weight");
  expect_refusal(generate("--kv-type q8_0 " + write_model("narrow.gguf", narrow.bytes()) + " hello 8"), 2,
                 "the head_dim has to be a multiple of 32");
}

TEST(GenerateCommand, TheContextBoundsPromptAndTokens) {
  std::string ids = "--prompt-ids 5";
  for (int i = 1; i < 505; ++i) ids += ",5";
  const Finished object = generate(ids + " -n 2147483647 --ignore-eos --json");
  EXPECT_EQ(object.exit_code, 0);
  EXPECT_EQ(object.err,
            "warning: 2147483647 tokens may come, but the model's context of 512 leaves room for 8 after the "
            "prompt: the text ends there at the latest\n");
  const Json json = parse_json(object.out).value();
  EXPECT_EQ(json["generated_ids"].size(), 8u) << "of 512; the last needs no place";
  EXPECT_EQ(json["finish_reason"], "context");
  const Finished text = generate(ids + " -n 9 --ignore-eos --metrics none");
  EXPECT_EQ(
      text.err,
      "warning: 9 tokens may come, but the model's context of 512 leaves room for 8 after the prompt: the "
      "text ends there at the latest\n"
      "warning: the text ends here because prompt and text fill the model's context of 512 tokens\n");
  EXPECT_EQ(generate(ids + " -n 8 --ignore-eos --metrics none").err, "") << "as many as were asked for";
  std::string prompt;
  for (int i = 0; i < 600; ++i) prompt += "dog ";
  const Finished finished = generate("-", prompt);
  expect_refusal(finished, 1, "512: give a shorter prompt, or a model with a longer context");
  EXPECT_EQ(lines(finished.err), 1u);
}

TEST(GenerateCommand, WrongUsageIsTwoWithTheFlagAsItIsTyped) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--top-p nan", "--top-p: expected a number in (0, 1], found nan"},
      {"--top-p 1.5", "--top-p: expected"},
      {"--min-p 1", "--min-p: expected"},
      {"--temperature -1", "--temperature: expected a finite number >= 0, found -1"},
      {"-t warm", "--temperature: expected a number, found \"warm\""},
      {"-t 1e300", "--temperature: expected a number that float32 holds (1e-45 to 3.4e38), found \"1e300\""},
      {"--repetition-penalty 0", "--repetition-penalty: expected"},
      {"--top-k -1", "--top-k: expected a whole number from 0 to 2147483647, found \"-1\""},
      {"--seed -1", "--seed: expected a whole number from 0 to 18446744073709551615, found \"-1\""},
      {"--seed", "--seed needs a value"},
      {"--seed 1 --seed 2", "--seed is given 2 times, expected once"},
      {"-n many", "--max-new-tokens: expected a whole number"},
      {"Once upon", "N, the tokens to generate: expected a whole number"},
      {"Once 3 -n 4", "N is 3 and -n is 4, but both are the tokens to generate"},
      {"once 3 more", "\"more\" is one argument too many"},
      {"-hello 3", "\"-hello\" is not an option here; a text that begins with - comes after --"},
      {"-- once 3 more --json", "\"--json\" is one argument too many; options come before --"},
      {"-- -5 3 --metrics none", "\"none\" is one argument too many"},
      {"--jsn -- -hello", "\"--jsn\" is not an option here; did you mean --json?"},
      {"-ctk q8_0 once", "\"-ctk\" is not an option here; did you mean --kv-type?"},
      {"--predict 5 once", "\"--predict\" is not an option here; did you mean --max-new-tokens?"},
      {"-r END once", "\"-r\" is not an option here; did you mean --stop?"},
      {"--draft 4 once", "; --speculative ngram guesses from the text, without a second model"},
      {"once 3 more", "a prompt of several words stands in quotes"},
      {"Once upon a time", "\"time\" is one argument too many; a text of several words stands in quotes"},
      {"m.gguf Hi 2 --repack-cache rc",
       "\"rc\" is one argument too many; a text of several words stands in quotes; the folder of "
       "--repack-cache "
       "comes after \"=\""},
      {"Hello model.gguf 8", "\"model.gguf\" stands where N"},
      {"Hello model.gguf", "the model comes first: [MODEL] [PROMPT] [N]"},
      {"m.gguf Hi 2 --repack-cache /dir", "comes after \"=\": --repack-cache=/dir"},
      {"--temp 0.8", "\"--temp\" is not an option here; did you mean --temperature?"},
      {"-m model.gguf", "\"-m\" is not an option here; the model is the first argument, the prompt the"},
      {"--model=model.gguf", "; the model is the first argument, the prompt the second"},
      {"-c 4096", "\"-c\" is not an option here; the context is as long as the prompt and N need"},
      {"--file x.txt", "; \"-\" instead of the prompt reads it from standard input"},
      {"--cache-type-k f32", "did you mean --kv-type?"},
      {"-ngl 99", "\"-ngl\" is not an option here; --backend says where layers are, all of them"},
      {"-no-cnv",
       "\"-no-cnv\" is not an option here; the prompt is taken as it is, there is no chat in this"},
      {"-temp 1", "\"-temp\" is not an option here; did you mean --temperature?"},
      {"-nine", "\"-nine\" is not an option here"},
      {"once 64 -ngl 99", "\"-ngl\" is not an option here; --backend says where layers are, all of them"},
      {"-ngl=99", "\"-ngl=99\" is not an option here; --backend says where layers are, all of them"},
      {"-nkvo", "\"-nkvo\" is not an option here\n"},
      {"--n-predict 3", "did you mean --max-new-tokens?"},
      {"qwen3:0.6b hi", "(its shape, random weights)? If it is the prompt, what follows is N, the tokens"},
      {"-p Hello", "\"-p\" is not an option here; the prompt is the argument after the model"},
      {"--metrics ful", "--metrics: expected one of none, summary, full, found \"ful\"; did you mean full?"},
      {"--kv-type f61", "--kv-type: expected one of f16, f32, bf16, q8_0, found \"f61\"; did you mean f16?"},
      {"--speculative ngrm",
       "--speculative: expected one of none, ngram, found \"ngrm\"; did you mean ngram?"},
      {"--backend scaler", "parallel, simd, scalar, found \"scaler\"; did you mean scalar?"},
      {"--threads 0", "--threads: expected a whole number from 1 to 1024, found \"0\""},
      {"--threads 100000", "--threads: expected a whole number from 1 to 1024, found \"100000\""},
      {"--threads 2 --backend simd", "--threads 2: --backend simd has one"},
      {"--numa isolated",
       "--numa: expected one of distribute, isolate, found \"isolated\"; did you mean isolate?"},
      {"--kv=paged", "--kv=paged: the paged cache is not in this version"},
      {"--kv=best", "--kv: expected basic, found \"best\""},
      {"--kv --no-kv", "--no-kv"},
      {"--temprature 1", "\"--temprature\" is not an option here; did you mean --temperature?"},
      {"--prompt-ids 1,2 hello -n 2", "\"hello\" stands beside --prompt-ids, expected one prompt"},
      {"--prompt-ids 1,x",
       "--prompt-ids: expected whole numbers from 0 to 2147483647 between commas, found \"x\""},
      {"--prompt-ids 4096", "prompt id 4096 at 0: expected 0 to 4095"},
      {"''", "the prompt is empty"},
  };
  for (const auto& [arguments, part] : cases) {
    SCOPED_TRACE(arguments);
    expect_refusal(generate(arguments), 2, part);
  }
}

TEST(GenerateCommand, ABackendThatIsNotThereAnswersWithASentence) {
  for (const std::string name : {"cuda", "metal"}) {
    if (backend::create_backend(name)) continue;  // it is there
    const Finished finished = generate("--backend " + name);
    expect_refusal(finished, 2, "--backend " + name + ": ");
    EXPECT_EQ(lines(finished.err), 1u);
  }
}

TEST(GenerateCommand, NoFileCanHangOrCrashIt) {
  const auto dir = scratch_dir("hostile_files");
  const std::string fifo = (dir / "fifo.gguf").string();
  const std::string empty = (dir / "empty.gguf").string();
  ASSERT_EQ(std::system(("mkfifo " + fifo).c_str()), 0);
  std::ofstream{empty};
  const std::string truncated = write_model("cut.gguf", RawGguf().header(1000, 1000).bytes());
  for (const std::string& path : {dir.string(), fifo, empty, truncated, std::string("/dev/zero")}) {
    const Finished finished = generate(path);
    expect_refusal(finished, 1, path);
    EXPECT_EQ(lines(finished.err), 1u) << finished.err;
  }
}

TEST(GenerateCommand, AVocabularyAloneIsSaidToBeOne) {
  TinyVocabulary vocabulary{.model = "gpt2", .pre = "default"};
  vocabulary.add("a");
  expect_refusal(generate(write_model("vocabulary.gguf", vocabulary.image()) + " a 4"), 1,
                 "vocabulary.gguf: expected a model with weights, found a vocabulary only");
  expect_refusal(generate(write_bare_model(scratch_dir("bare")) + " a 4"), 1,
                 "bare.gguf: expected a model with weights, found no tensors");
}

TEST(GenerateCommand, EndlessStandardInputIsRefused) {
  expect_refusal(generate("- </dev/zero"), 1, "standard input: expected at most 268435456 bytes");
}

}  // namespace
}  // namespace inferno::test
