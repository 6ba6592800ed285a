#include <gtest/gtest.h>

#include <algorithm>

#include "backend/backend.h"

namespace inferno::backend {
namespace {

TEST(Registry, NamesAreThoseOfTheCommandLine) {
  EXPECT_EQ(backend_names(),
            (std::vector<std::string_view>{"auto", "cuda", "metal", "parallel", "simd", "scalar"}));
}

TEST(Registry, ScalarIsAlwaysThereAndEachCallMakesItsOwn) {
  const auto first = create_backend("scalar");
  const auto second = create_backend("scalar");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->info().backend, "scalar");
  EXPECT_NE(*first, *second);
}

TEST(Registry, AutoIsTheFirstInTheListThatIsThereButForCuda) {
  const auto chosen = create_backend("auto");
  ASSERT_TRUE(chosen.ok());
  for (const std::string_view name : backend_names()) {
    if (name == "auto" || name == "cuda") continue;
    const auto backend = create_backend(name);
    if (!backend) continue;
    EXPECT_EQ((*chosen)->info().backend, (*backend)->info().backend);
    return;
  }
  FAIL() << "auto found what is not in the list";
}

TEST(Registry, AnUnknownNameIsUsageAndGetsTheList) {
  for (const std::string_view name : {"", "gpu", "Scalar", "scalar ", "\x1b[2J\n"}) {
    const auto backend = create_backend(name);
    ASSERT_FALSE(backend.ok()) << name;
    EXPECT_EQ(backend.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(backend.error().message.find("auto, cuda, metal, parallel, simd, scalar"), std::string::npos);
    EXPECT_EQ(backend.error().message.find_first_of("\n\x1b"), std::string::npos) << backend.error().message;
  }
}

TEST(Registry, MetalSaysHowToGetOne) {
  const auto backend = create_backend("metal");
  ASSERT_FALSE(backend.ok());
  EXPECT_NE(
      backend.error().message.find("add src/backend/metal with the primitives of src/backend/backend.h"),
      std::string::npos)
      << backend.error().message;
}

TEST(Registry, AKnownNameThatIsNotHereSaysWhyAndWhatRuns) {
  for (const std::string_view name : backend_names()) {
    const auto backend = create_backend(name);
    if (backend.ok()) continue;
    const std::string& message = backend.error().message;
    EXPECT_EQ(backend.error().code, ErrorCode::kUnavailable) << name;
    EXPECT_TRUE(message.starts_with(fmt::format("--backend {}: ", name))) << message;
    EXPECT_NE(message.find("--backend parallel runs here"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace inferno::backend
