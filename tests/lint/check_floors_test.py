import unittest

from tool import ToolTest


class CheckFloors(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("src/CMakeLists.txt", "foreach(floor base tensor kernels model)\n")
        self.write("src/base/CMakeLists.txt", "add_floor(base LINKS fmt::fmt)\n")
        self.write("src/tensor/CMakeLists.txt", "add_floor(tensor)\n")
        self.write("src/kernels/CMakeLists.txt", "# no threads\nadd_floor(kernels NO_BASE USES tensor)\n")
        self.write("src/model/CMakeLists.txt", "add_floor(model\n  USES kernels\n  LINKS PCRE)\n")
        self.write("src/base/a.h", "#include <vector>\n#include \"base/b.h\"\n")
        self.write("src/tensor/dtype.h", '#include "base/a.h"\n')
        self.write("src/kernels/add.cpp", '#include "kernels/add.h"\n#include "tensor/dtype.h"\n')
        self.write("src/model/load.cpp", '#include "base/a.h"\n  #  include "kernels/add.h"\n')

    def expect_violation(self, *expected: str) -> None:
        code, output = self.run_tool("check_floors.py", self.root)
        self.assertEqual(code, 1, output)
        for part in expected:
            self.assertIn(part, output)
        self.assertIn(" 1 violations", output)

    def test_accepts_what_the_lists_allow(self):
        code, output = self.run_tool("check_floors.py", self.root)
        self.assertEqual(code, 0, output)
        self.assertIn("4 files on 4 floors", output)

    def test_upward_include(self):
        self.write("src/tensor/dtype.h", '\n#include "model/load.h"\n')
        self.expect_violation('dtype.h:2: "model/load.h": tensor does not list model')

    def test_floor_used_only_by_a_floor_that_is_used(self):
        self.write("src/model/load.cpp", '#include "tensor/dtype.h"\n')
        self.expect_violation("model does not list tensor")

    def test_cuda_sources_are_held_to_their_floor(self):
        self.write("src/kernels/cuda/add.cu", '#include <cuda_runtime.h>\n#include "base/a.h"\n')
        self.expect_violation('add.cu:2: "base/a.h": kernels may not include base')

    def test_cuda_is_known_in_its_rooms_alone(self):
        for room in ("src/kernels/cuda/add.cu", "src/kernels/cuda/device/half.h", "tests/emulated_cuda/grid.cpp"):
            self.write(room, "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n")
        code, output = self.run_tool("check_floors.py", self.root)
        self.assertEqual(code, 0, output)
        for path in ("src/model/load.cpp", "apps/main.cpp", "tests/ops/add_test.cpp", "bench/a.cpp"):
            with self.subTest(path):
                self.write(path, "\n#include <cuda_runtime.h>\n")
                self.expect_violation(f'{path}:2: "cuda_runtime.h": is a header of CUDA')
                self.write(path, "")

    def test_of_the_rooms_of_cuda_only_plain_headers_are_seen(self):
        self.write("apps/main.cpp", '#include "kernels/cuda/launch.h"\n#include "backend/cuda/cuda_backend.h"\n'
                                    '#include "kernels/cuda/device/half.h"\n')
        self.expect_violation('main.cpp:3: "kernels/cuda/device/half.h": is not among backend/cuda/cuda_backend.h')

    def test_kernels_may_not_include_base(self):
        self.write("src/kernels/add.cpp", '#include "base/a.h"\n')
        self.expect_violation("kernels may not include base")

    def test_kernels_may_include_only_plain_headers_of_tensor(self):
        self.write("src/kernels/add.cpp", '#include "tensor/tensor.h"\n')
        self.expect_violation("kernels may include only tensor/dtype.h")

    def test_nothing_outside_src(self):
        self.write("src/model/load.cpp", '#include "apps/commands.h"\n')
        self.expect_violation('"apps/commands.h": is no header of a floor')

    def test_include_relative_to_the_file(self):
        self.write("src/model/load.cpp", '#include "load.h"\n')
        self.expect_violation("write the path from src/")

    def test_own_header_in_angle_brackets(self):
        self.write("src/tensor/dtype.h", "#include <model/load.h>\n")
        self.expect_violation("include it with quotes")

    def test_use_of_a_higher_floor(self):
        self.write("src/tensor/CMakeLists.txt", "add_floor(tensor USES model)\n")
        self.expect_violation("tensor USES model, which is not a lower floor")

    def test_floor_that_is_not_listed(self):
        self.write("src/kv/CMakeLists.txt", "add_floor(kv)\n")
        self.expect_violation("the floor kv is missing")

    def test_listed_floor_that_does_not_exist(self):
        self.write("src/CMakeLists.txt", "foreach(floor base tensor kernels kv model)\n")
        self.expect_violation("kv is no folder")

    def test_floor_under_another_name(self):
        self.write("src/tensor/CMakeLists.txt", "add_floor(tensors)\n")
        code, output = self.run_tool("check_floors.py", self.root)
        self.assertEqual(code, 1, output)
        self.assertIn("the floor tensors stands in the folder tensor", output)

    def test_file_on_no_floor(self):
        self.write("src/stray.cpp", "")
        self.expect_violation("stands on no floor")


if __name__ == "__main__":
    unittest.main()
