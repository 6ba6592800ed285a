// tokenizer-demo: a text as its tokens, one on a line, and the way back.
#include <fmt/core.h>

#include <memory>

#include "apps/commands.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/validators.h"
#include "base/text.h"
#include "tokenizer/tokenizer.h"

namespace inferno::apps {
namespace {

std::string_view type_name(tokenizer::TokenType type) {
  switch (type) {
    case tokenizer::TokenType::kNormal:
      return "";
    case tokenizer::TokenType::kUnknown:
      return "unknown";
    case tokenizer::TokenType::kControl:
      return "control";
    case tokenizer::TokenType::kUserDefined:
      return "user-defined";
    case tokenizer::TokenType::kUnused:
      return "unused";
    case tokenizer::TokenType::kByte:
      return "byte";
  }
  return "";
}

std::string token_table(const tokenizer::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string table = dim(fmt::format("{:>6}  {:>7}  {}\n", "#", "id", "piece"), false);
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view type = type_name(tokenizer.type(ids[i]));
    table += fmt::format("{:>6}  {:>7}  {}{}\n", i, ids[i], quote(tokenizer.piece(ids[i])),
                         type.empty() ? "" : "  " + dim(type, false));
  }
  return table;
}

Status show(const std::string& path, const std::string& text) {
  TRY_ASSIGN(const gguf::File file, open_model(path));
  TRY_ASSIGN(const auto tokenizer, tokenizer::Tokenizer::from_gguf(file));
  TRY_ASSIGN(const std::vector<int32_t> ids, tokenizer->encode(text));
  // The way back is that of the text alone, without the BOS that the model wants before it.
  TRY_ASSIGN(const std::vector<int32_t> text_ids, tokenizer->encode(text, {.add_bos = false}));
  TRY_ASSIGN(const std::string decoded, tokenizer->decode(text_ids));
  std::string report = fmt::format("tokenizer   {}, pretokenizer {}, {} tokens\n", tokenizer->model(),
                                   escaped(tokenizer->pretokenizer()), tokenizer->vocab_size());
  report += fmt::format("text        {}, {} bytes\n\n", quote(text), text.size());
  report += token_table(*tokenizer, ids);
  report += fmt::format("\ntokens      {}\n", ids.size());
  report += fmt::format("round trip  {}, {}\n", quote(decoded),
                        decoded == text ? "equal to the text" : red("differs from the text", false));
  write_stdout(report);
  return {};
}

}  // namespace

Run setup_tokenizer_demo(Command command) {
  struct Arguments {
    std::string model;
    std::string text = "Hello, world!";
  };
  const auto arguments = std::make_shared<Arguments>();
  command.add_option("FILE", arguments->model, "A GGUF file; its vocabulary is enough")
      .required()
      .check(not_empty())
      .value_name("");
  command.add_option("TEXT", arguments->text, "The text").show_default().value_name("");
  command.set_footer("Example:\n  tokenizer-demo model.gguf \"Once upon a time\"");
  return [arguments] {
    if (Status status = show(arguments->model, arguments->text); !status) return fail(status.error());
    return finish_stdout();
  };
}

}  // namespace inferno::apps
