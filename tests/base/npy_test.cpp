#include "base/npy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "support/shared_data.h"

namespace inferno {
namespace {

using namespace std::string_literals;

// A file as NumPy would write it, but with any header.
std::string npy_bytes(const std::string& header, const std::string& data, char version = 1) {
  std::string length = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  if (version != 1) length += "\0\0"s;
  return "\x93NUMPY"s + version + '\0' + length + header + data;
}

std::string write_bytes(const std::string& bytes) {
  const std::string path = (test::scratch_dir("npy") / "a.npy").string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// The message after "<path>: ".
std::string read_error(const std::string& bytes) {
  const std::string path = write_bytes(bytes);
  const Result<npy::Array> array = npy::read(path);
  if (array) return "(read)";
  EXPECT_EQ(array.error().code, ErrorCode::kInvalidFile);
  EXPECT_TRUE(array.error().message.starts_with(path + ": ")) << array.error().message;
  return array.error().message.substr(path.size() + 2);
}

const std::string kTwoOnes = "\0\0\x80\x3f\0\0\x80\x3f"s;  // 1.0f, 1.0f

TEST(Npy, WritesWhatNumPyReads) {
  const std::string path = (test::scratch_dir("npy") / "a.npy").string();
  const std::vector<int64_t> shape = {2, 3};
  const std::vector<float> data = {0, 1, 2, 3, 4, 5};
  ASSERT_TRUE(npy::write(path, shape, data));
  const std::string file = test::read_file(path);
  ASSERT_EQ(file.size(), 128u + 6 * sizeof(float));  // the data starts at a multiple of 64
  EXPECT_EQ(file.substr(0, 10), "\x93NUMPY\x01\x00\x76\x00"s);
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(file.substr(10, 118), header + std::string(117 - header.size(), ' ') + '\n');
  EXPECT_EQ(file.substr(128 + 4, 4), "\0\0\x80\x3f"s);
}

RC_GTEST_PROP(Npy, ReadsWhatItWrites, ()) {
  const auto shape =
      *rc::gen::resize(4, rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 6)));
  const int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  RC_PRE(n < 100'000);
  std::vector<float> data(static_cast<size_t>(n));
  std::iota(data.begin(), data.end(), -3.25f);
  const std::string path = (test::scratch_dir("npy") / "a.npy").string();
  RC_ASSERT(npy::write(path, shape, data).ok());
  const Result<npy::Array> array = npy::read(path);
  RC_ASSERT(array.ok());
  RC_ASSERT(array->shape == shape);
  RC_ASSERT(array->data == data);
}

TEST(Npy, KeepsEveryBitOfAFloat) {
  const std::string path = (test::scratch_dir("npy") / "a.npy").string();
  const std::vector<float> data = {-0.0f, std::numeric_limits<float>::infinity(), 1e-45f,
                                   std::numeric_limits<float>::quiet_NaN()};
  ASSERT_TRUE(npy::write(path, std::vector<int64_t>{4}, data));
  const Result<npy::Array> array = npy::read(path);
  ASSERT_TRUE(array);
  EXPECT_EQ(std::memcmp(array->data.data(), data.data(), sizeof(float) * data.size()), 0);
}

TEST(Npy, ReadsVersionTwoAndKeysInAnyOrder) {
  const auto array = npy::read(
      write_bytes(npy_bytes("{\"shape\":(2,),'fortran_order':False,'descr':'<f4'}\n", kTwoOnes, 2)));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->shape, std::vector<int64_t>{2});
  EXPECT_EQ(array->data, (std::vector<float>{1, 1}));
}

TEST(Npy, RefusesWhatIsNotAnNpyFile) {
  EXPECT_EQ(read_error(""), "offset 0: expected a .npy file (\"\\x93NUMPY\"), found \"\"");
  EXPECT_EQ(read_error("GGUF\3\0\0\0"s),
            "offset 0: expected a .npy file (\"\\x93NUMPY\"), found \"GGUF\\u{3}\\0\"");
  EXPECT_EQ(read_error("\x93NUMPY\x01"), "offset 6: the file ends before its version");
  EXPECT_EQ(read_error("\x93NUMPY\x03\0\0\0\0\0"s), "offset 6: expected .npy version 1.0 or 2.0, found 3.0");
  EXPECT_EQ(read_error("\x93NUMPY\x01\x02\0\0"s), "offset 6: expected .npy version 1.0 or 2.0, found 1.2");
  EXPECT_EQ(read_error("\x93NUMPY\x02\0\0\0"s), "offset 8: the file ends before its header's length");
  EXPECT_EQ(read_error("\x93NUMPY\x01\0\xff\xff{}"s),
            "offset 8: the header says 65535 bytes, but only 2 follow");
  EXPECT_EQ(read_error("\x93NUMPY\x02\0\xff\xff\xff\xff{}"s),
            "offset 8: the header says 4294967295 bytes, but only 2 follow");
}

TEST(Npy, RefusesOtherTypesAndOrders) {
  EXPECT_EQ(read_error(npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", kTwoOnes)),
            "header: expected descr '<f4' (little-endian float32), found '<f8'");
  EXPECT_EQ(read_error(npy_bytes("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", kTwoOnes)),
            "header: expected descr '<f4' (little-endian float32), found '>f4'");
  EXPECT_EQ(read_error(npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", kTwoOnes)),
            "header: expected C order, found Fortran order");
}

TEST(Npy, RefusesAHeaderThatIsNoSuchDictionary) {
  for (const char* header : {"", "{", "{}", "not a dictionary", "{'descr': '<f4', 'fortran_order': False}",
                             "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
                             "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
                             "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x"}) {
    EXPECT_TRUE(read_error(npy_bytes(header, kTwoOnes)).starts_with("header: expected a dictionary of"))
        << header;
  }
}

TEST(Npy, RefusesAShapeThatDoesNotFitTheSize) {
  const auto error = [](const std::string& shape) {
    return read_error(
        npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", kTwoOnes));
  };
  EXPECT_EQ(error("(2,)"), "(read)");
  EXPECT_EQ(error("(3,)"), "offset 65: shape (3,) needs 12 bytes of data, found 8");
  EXPECT_EQ(error("()"), "offset 63: shape () needs 4 bytes of data, found 8");
  EXPECT_EQ(error("(4294967296, 4294967296)"),
            "offset 85: shape (4294967296, 4294967296) needs more than 2^64 bytes of data, found 8");
  EXPECT_EQ(error("(4611686018427387904,)"),
            "offset 83: shape (4611686018427387904,) needs more than 2^64 bytes of data, found 8");
}

TEST(Npy, ChecksThatShapeAndDataAgreeWhenWriting) {
  const std::vector<float> data(3);
  EXPECT_THROW(static_cast<void>(npy::write("unused.npy", std::vector<int64_t>{2}, data)), InternalError);
}

}  // namespace
}  // namespace inferno
