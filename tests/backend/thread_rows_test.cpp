#include "backend/cpu/thread_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "backend/backend.h"

namespace inferno::backend {
namespace {

TEST(ThreadRows, EachThreadMakesThemOnceALoop) {
  const std::shared_ptr<Backend> backend = *create_backend("scalar");
  auto& memory = dynamic_cast<HostBackend&>(*backend);
  ThreadRows rows;
  XForms forms;
  forms.add(kernels::XForm::kInt8);
  // Threads, rows and columns grow from one pass to the next, or become fewer.
  for (const int64_t n : {1, 3, 2}) {
    for (const unsigned n_threads : {2u, 3u}) {
      ASSERT_TRUE(rows.reserve(n_threads, n, 64 * n, forms, memory));
      for (float loop = 1; loop < 4; ++loop) {
        int made = 0;
        const auto own_rows = rows.made_by(n, [&](const ThreadRows::Own& own) {
          ++made;
          std::fill_n(own.x(), n * 64 * n, loop);
          own.formed().quantized_from(0).q[n * 64 * n - 1] = static_cast<int8_t>(loop);
          return own.x();
        });
        for (const unsigned thread : {0u, n_threads - 1, 0u, n_threads - 1}) {
          const Activations of_thread = own_rows(thread);
          EXPECT_EQ(of_thread.n, n);
          EXPECT_EQ(of_thread.x[n * 64 * n - 1], loop);
          EXPECT_EQ(of_thread.formed.quantized_from(0).q[n * 64 * n - 1], static_cast<int8_t>(loop));
        }
        EXPECT_EQ(made, 2);
        EXPECT_NE(own_rows(0).x, own_rows(n_threads - 1).x);
      }
    }
  }
}

}  // namespace
}  // namespace inferno::backend
