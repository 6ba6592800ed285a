// inferno logits MODEL --prompt-ids 1,2,3 -o out.npy: logits of every position, for comparison with other
// engines.
#include <memory>

#include "apps/commands.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "apps/validators.h"
#include "base/memory.h"
#include "base/npy.h"
#include "base/text.h"
#include "engine/generate.h"

namespace inferno::apps {
namespace {

struct LogitsOptions {
  std::string model_path;
  std::vector<int32_t> prompt_ids;
  std::string output;
  ModelOptions model;
};

// All logits are held until they are written, while the vector that holds them doubles.
Status check_memory(const std::vector<int64_t>& shape) {
  const uint64_t bytes =
      static_cast<uint64_t>(shape[0]) * static_cast<uint64_t>(shape[1]) * sizeof(float) * 2;
  const auto available = available_memory();
  if (!available || bytes <= *available) return {};
  return make_error(ErrorCode::kResource,
                    "logits of {} positions need {}, {} are available; give fewer prompt ids", shape[0],
                    human_bytes(bytes), human_bytes(*available));
}

Result<int> run(const LogitsOptions& options) {
  TRY(check_output_file(options.output));
  TRY_ASSIGN(const DType kv, kv_type(options.model));
  TRY_ASSIGN(const model::LoadedModel loaded, load_model(options.model_path, options.model));
  const std::vector<int64_t> shape = {static_cast<int64_t>(options.prompt_ids.size()),
                                      loaded.model->config().vocab_size};
  TRY(check_memory(shape));
  std::vector<float> all;
  TRY(engine::prompt_logits(*loaded.model, options.prompt_ids, kv,
                            [&](std::span<const float> logits, int64_t) -> Status {
                              all.insert(all.end(), logits.begin(), logits.end());
                              return {};
                            }));
  TRY(npy::write(options.output, shape, all));
  say_written(options.output);
  return 0;
}

}  // namespace

Run setup_logits(Command command) {
  auto options = std::make_shared<LogitsOptions>();
  command.add_option("MODEL", options->model_path, "A .gguf file, or synthetic:PRESET[:TYPE]")
      .required()
      .check(not_empty());
  add_prompt_ids(command, options->prompt_ids, "Token ids of the prompt: 1,2,3").required();
  command.add_option("-o,--output", options->output, "The file to write: float32 [position, vocabulary]")
      .required()
      .check(not_empty())
      .value_name("FILE");
  options->model.kv_type = "f32";      // nothing but the weights shall round
  options->model.head_screen = false;  // all logits count
  add_model_options(command, options->model, false);
  command.set_footer("Example:\n  inferno logits model.gguf --prompt-ids 1,2,3 --kv-type f32 -o logits.npy");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
