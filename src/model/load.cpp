#include "model/load.h"

namespace inferno::model {

Result<LoadedModel> load_from_gguf(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                   const ProgressFn& progress) {
  LoadedModel loaded;
  // The model first: of a file of another kind, "unknown architecture" says more than "unknown tokenizer".
  TRY_ASSIGN(loaded.model, Model::load(std::move(file), std::move(backend), progress));
  TRY_ASSIGN(loaded.tokenizer, tokenizer::Tokenizer::from_gguf(loaded.model->file()));
  return loaded;
}

Result<LoadedModel> load_from_gguf_path(const std::string& path, std::shared_ptr<backend::Backend> backend,
                                        const ProgressFn& progress) {
  TRY_ASSIGN(gguf::File file, gguf::File::open(path));
  return load_from_gguf(std::move(file), std::move(backend), progress);
}

}  // namespace inferno::model
