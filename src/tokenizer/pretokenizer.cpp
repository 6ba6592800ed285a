#include "tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace inferno::tokenizer {

// The splits are applied one after the other, each to every piece that the ones before have left: what an
// expression matches becomes a piece, and so does what lies between two matches. Both are those of the
// tokenizer.json that the model's authors published: pre_tokenizer, normalizer, model.ignore_merges,
// post_processor.
struct PretokenizerRow {
  std::string_view name;
  std::array<const char*, 7> splits;
  bool normalizes_to_nfc = false;
  bool ignores_merges = false;
  bool adds_bos = false;
};

namespace {

constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The cased letters that DeepSeek lists: fewer than \p{Lu}\p{Ll}\p{Lt} (no lower-case Armenian, for one).
constexpr const char* kDeepseekLetters =
    R"(\s?[)"
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C})"
    R"(\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5})"
    R"(\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B})"
    R"(\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45})"
    R"(\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
    R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115})"
    R"(\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139})"
    R"(\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr const char* kDeepseekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr const char* kDeepseekCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
// \s+$ as published, but begun only where the run begins: else a run that does not end the piece is walked
// once from each of its characters.
constexpr const char* kTrailingSpace = R"((?<!\s)\s++\z)";

constexpr PretokenizerRow kRows[] = {
    // openai-community/gpt2
    {.name = "gpt-2", .splits = {kGpt2Words}},
    // microsoft/phi-2: GPT-2's, with tokens added
    {.name = "phi-2", .splits = {kGpt2Words}},
    // meta-llama/Meta-Llama-3-8B; the same under three names that converters have used
    {.name = "llama-bpe", .splits = {kLlama3Words}, .ignores_merges = true, .adds_bos = true},
    {.name = "llama3", .splits = {kLlama3Words}, .ignores_merges = true, .adds_bos = true},
    {.name = "llama-v3", .splits = {kLlama3Words}, .ignores_merges = true, .adds_bos = true},
    // Qwen/Qwen2-0.5B and Qwen/Qwen3-0.6B
    {.name = "qwen2", .splits = {kQwen2Words}, .normalizes_to_nfc = true},
    // bigcode/starcoder2-3b: each digit alone, then GPT-2's words
    {.name = "starcoder", .splits = {R"(\p{N})", kGpt2Words}},
    // HuggingFaceTB/SmolLM-135M: the same
    {.name = "smollm", .splits = {R"(\p{N})", kGpt2Words}},
    // deepseek-ai/deepseek-llm-7b-base
    {.name = "deepseek-llm",
     .splits = {R"([\r\n])", kDeepseekLetters, kDeepseekPunctuation, kTrailingSpace, kDeepseekCjk,
                R"(\p{N})"}},
};

std::string known_names() {
  std::string names;
  for (const PretokenizerRow& row : kRows) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

// PCRE2's own \s has U+180E, which has not been white space since Unicode 6.3; the tokenizers go by
// White_Space.
std::string with_unicode_white_space(std::string_view expression) {
  std::string result;
  for (size_t i = 0; i < expression.size(); ++i) {
    const std::string_view pair = expression.substr(i, 2);
    if (pair == R"(\s)" || pair == R"(\S)") {
      result += pair[1] == 's' ? R"(\p{White_Space})" : R"(\P{White_Space})";
      ++i;
    } else {
      result += expression[i];
    }
  }
  return result;
}

struct MatchDataFree {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

// A compiled expression; threads may share it.
class Pretokenizer::Pattern {
 public:
  explicit Pattern(std::string_view expression) {
    const std::string source = with_unicode_white_space(expression);
    int error = 0;
    size_t offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), PCRE2_UTF | PCRE2_UCP,
                          &error, &offset, nullptr);
    CHECK(code_ != nullptr, "PCRE2 error {} at {} of {}", error, offset, source);
    // Where the system forbids code made at run time, matching is interpreted: slower, with the same result.
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    context_ = pcre2_match_context_create(nullptr);
    CHECK(context_ != nullptr, "out of memory for a PCRE2 match context");
    // The limits guard against exponential expressions. Ours only repeat single characters: each repeat can
    // be undone one character at a time, in constant room, so a match takes fewer steps than a few times the
    // text.
    pcre2_set_match_limit(context_, std::numeric_limits<uint32_t>::max());
    pcre2_set_depth_limit(context_, std::numeric_limits<uint32_t>::max());
  }
  ~Pattern() {
    pcre2_match_context_free(context_);
    pcre2_code_free(code_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  void split(std::string_view text, std::vector<std::string_view>& pieces) const {
    const std::string_view rest = split_matches(text, 0, pieces);
    if (!rest.empty()) pieces.push_back(rest);
  }
  // For a piece that may go on after `text`: appends the pieces of it that are settled and returns the known
  // beginning of the one that follows. PCRE2's hard partial matching gives a match only if it did not look at
  // the text's end; none of our expressions looks behind further than to where such a piece ends.
  std::string_view split_settled(std::string_view text, std::vector<std::string_view>& pieces) const {
    return split_matches(text, PCRE2_PARTIAL_HARD, pieces);
  }

 private:
  // Appends the matches and what lies between them; returns what comes after the last, as far as no match
  // begins.
  std::string_view split_matches(std::string_view text, uint32_t options,
                                 std::vector<std::string_view>& pieces) const {
    const std::unique_ptr<pcre2_match_data, MatchDataFree> data(pcre2_match_data_create(1, nullptr));
    if (data == nullptr) throw std::bad_alloc();
    const size_t* range = pcre2_get_ovector_pointer(data.get());
    size_t done = 0;
    while (done < text.size()) {
      const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), done,
                                    PCRE2_NO_UTF_CHECK | options, data.get(), context_);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
      if (found == PCRE2_ERROR_PARTIAL) return text.substr(done, range[0] - done);
      CHECK(found > 0, "PCRE2 error {} at byte {} of a text of {} bytes", found, done, text.size());
      CHECK(range[0] >= done && range[1] > range[0], "an empty match at byte {}", range[0]);
      if (range[0] > done) pieces.push_back(text.substr(done, range[0] - done));
      pieces.push_back(text.substr(range[0], range[1] - range[0]));
      done = range[1];
    }
    return text.substr(done);
  }

  pcre2_code* code_ = nullptr;
  pcre2_match_context* context_ = nullptr;
};

Result<Pretokenizer> Pretokenizer::find(std::string_view name) {
  for (const PretokenizerRow& row : kRows) {
    if (row.name != name) continue;
    Pretokenizer pretokenizer(row);
    for (const char* expression : row.splits) {
      if (expression == nullptr) break;
      pretokenizer.patterns_.push_back(std::make_shared<const Pattern>(expression));
    }
    return pretokenizer;
  }
  return make_error(ErrorCode::kInvalidFile, "unknown pretokenizer \"{}\"; known are {}", escaped(name),
                    known_names());
}

std::vector<std::string_view> Pretokenizer::split(std::string_view text) const {
  std::vector<std::string_view> pieces = {text};
  std::vector<std::string_view> finer;
  for (const auto& pattern : patterns_) {
    finer.clear();
    for (const std::string_view piece : pieces) pattern->split(piece, finer);
    pieces.swap(finer);
  }
  return pieces;
}

std::vector<std::string_view> Pretokenizer::split_settled(std::string_view text) const {
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> finer;
  std::string_view open = text;  // the known beginning of the piece after them
  for (const auto& pattern : patterns_) {
    finer.clear();
    for (const std::string_view piece : pieces) pattern->split(piece, finer);
    open = pattern->split_settled(open, finer);
    pieces.swap(finer);
  }
  return pieces;
}

bool Pretokenizer::normalizes_to_nfc() const {
  return row_->normalizes_to_nfc;
}
bool Pretokenizer::ignores_merges() const {
  return row_->ignores_merges;
}
bool Pretokenizer::adds_bos() const {
  return row_->adds_bos;
}

}  // namespace inferno::tokenizer
