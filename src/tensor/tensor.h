// Tensor: a view of elements somewhere; Buffer: an owner of bytes on a device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tensor/dtype.h"

namespace inferno {

// Row-major view, outermost dimension first: shape {rows, cols} has element (r, c) at r * cols + c. Blocked
// types run along the innermost dimension. Owns nothing.
struct Tensor {
  DType dtype = DType::kF32;
  int n_dims = 0;                  // 0 = absent
  std::array<int64_t, 4> shape{};  // outermost first; unused entries are 0
  void* data = nullptr;

  bool empty() const { return n_dims == 0; }
  int64_t n_elements() const;
  int64_t cols() const { return n_dims == 0 ? 0 : shape[static_cast<size_t>(n_dims) - 1]; }
  int64_t rows() const { return cols() == 0 ? 0 : n_elements() / cols(); }
  size_t bytes() const;
  // "[256, 768]"
  std::string shape_string() const;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// Bytes that a backend allocated; frees itself. Moves, does not copy.
class Buffer {
 public:
  Buffer() = default;
  Buffer(void* data, size_t bytes, std::function<void(void*)> release)
      : data_(data, std::move(release)), bytes_(bytes) {}

  void* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, std::function<void(void*)>> data_;
  size_t bytes_ = 0;
};

}  // namespace inferno
