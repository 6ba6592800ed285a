// From a path to something that generates.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "base/progress.h"
#include "base/result.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace inferno::model {

struct LoadedModel {
  std::unique_ptr<Model> model;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
};

Result<LoadedModel> load_from_gguf_path(const std::string& path, std::shared_ptr<backend::Backend> backend,
                                        const ProgressFn& progress = {});
// Of a file that is already open, embedded ones included.
Result<LoadedModel> load_from_gguf(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                   const ProgressFn& progress = {});

}  // namespace inferno::model
