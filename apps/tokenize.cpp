// inferno tokenize: text to token ids, with any GGUF that has a tokenizer, vocabulary-only files too.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/text_input.h"
#include "apps/validators.h"
#include "base/json.h"
#include "base/text.h"
#include "tokenizer/tokenizer.h"

namespace inferno::apps {
namespace {

struct TokenizeArguments {
  std::string model;
  std::string text;
  std::string text_file;
  bool no_bos = false;
  bool no_parse_special = false;
  bool no_special = false;
  bool json = false;
};

// One object: ids; pieces (the bytes that each adds to the text; where those are not whole characters, as
// quote() escapes them without the quotes); text, what the ids decode to.
std::string as_json(const tokenizer::Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                    const std::string& decoded) {
  Json object;
  object["ids"] = ids;
  object["pieces"] = Json::array();
  for (const int32_t id : ids) {
    const std::string piece = tokenizer.piece(id);
    object["pieces"].push_back(is_valid_utf8(piece) ? piece : escaped(piece, piece.size()));
  }
  object["n_tokens"] = ids.size();
  object["text"] = decoded;
  return json_text(object) + "\n";
}

Status tokenize(const TokenizeArguments& arguments) {
  std::string text = arguments.text;
  if (text == "-") {
    TRY_ASSIGN(text, read_piped_text());
  }
  if (!arguments.text_file.empty()) {
    TRY_ASSIGN(text, read_text(arguments.text_file));
  }
  TRY_ASSIGN(const gguf::File file, open_model(arguments.model));
  TRY_ASSIGN(const auto tokenizer, tokenizer::Tokenizer::from_gguf(file));
  const tokenizer::EncodeOptions options{
      .add_bos = !arguments.no_bos && !arguments.no_special,
      .parse_special = !arguments.no_parse_special && !arguments.no_special,
  };
  TRY_ASSIGN(const std::vector<int32_t> ids, tokenizer->encode(text, options));
  if (arguments.json) {
    TRY_ASSIGN(const std::string decoded, tokenizer->decode(ids));
    write_stdout(as_json(*tokenizer, ids, decoded));
  } else {
    write_stdout(fmt::format("{}\n", join(ids, " ")));
  }
  return {};
}

}  // namespace

Run setup_tokenize(Command command) {
  const auto arguments = std::make_shared<TokenizeArguments>();
  command
      .add_option("MODEL", arguments->model,
                  "A GGUF file, its vocabulary is enough; or synthetic:PRESET[:TYPE]")
      .required()
      .check(not_empty())
      .value_name("");
  const Option text =
      command
          .add_option("TEXT", arguments->text,
                      "The text; - reads it from standard input, without the newline at its end")
          .value_name("");
  const Option file =
      command.add_option("--file", arguments->text_file, "Read the text from this file; - is standard input")
          .value_name("FILE")
          .excludes(text);
  command.add_flag("--no-bos", arguments->no_bos,
                   "Add no BOS (nor EOS) id, even where the model asks for it");
  command.add_flag("--no-parse-special", arguments->no_parse_special,
                   "Treat special tokens spelled in the text as plain text");
  command.add_flag("--no-special", arguments->no_special, "Both --no-bos and --no-parse-special");
  command.add_flag("--json", arguments->json, "Print one JSON object: ids, pieces, n_tokens, text");
  command.set_footer(
      "Examples:\n"
      "  inferno tokenize model.gguf \"Once upon a time\"\n"
      "  inferno tokenize model.gguf --file prompt.txt --no-special\n"
      "  echo -n Hello | inferno tokenize model.gguf --file - --json");
  return [arguments, text, file] {
    if (!text.is_given() && !file.is_given()) {
      if (!names_a_model(arguments->model)) {
        return fail(make_error(ErrorCode::kInvalidArgument,
                               "expected MODEL and TEXT, found {} alone, which is no file{}",
                               quote(arguments->model), what_models_are(arguments->model)));
      }
      return fail({ErrorCode::kInvalidArgument, "no text: give it as TEXT or with --file"});
    }
    if (Status status = tokenize(*arguments); !status) return fail(status.error());
    return finish_stdout();
  };
}

}  // namespace inferno::apps
