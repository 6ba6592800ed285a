// Where the tests find data that is not part of the repository, and how they say that it is not there.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace inferno::test {

// ../shared/data/<relative> beside the project's folder (or $INFERNO_SHARED_DATA/<relative>).
std::filesystem::path shared_data(const std::string& relative);

// A folder of this test's own, empty, removed at the end of the program.
std::filesystem::path scratch_dir(const std::string& name);

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace inferno::test

// Skips (never passes) the test when the data is not there.
#define REQUIRE_SHARED_DATA(relative)                                     \
  do {                                                                    \
    if (!std::filesystem::exists(::inferno::test::shared_data(relative))) \
      GTEST_SKIP() << "needs " << ::inferno::test::shared_data(relative); \
  } while (false)
