"""Tests a captured graph with memory nodes: its result, and how much memory it holds."""

import ctypes
import unittest

from cuda.bindings import driver

SQUARE = b"""
.version 7.0
.target sm_60
.address_size 64
.visible .entry square(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r2, [%rd4];
    mul.lo.s32 %r2, %r2, %r2;
    st.global.u32 [%rd5], %r2;
    ret;
}
"""


def check(result):
    code, *values = result
    if code != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(code.name)
    return values[0] if values else None


class Graph(unittest.TestCase):
    def setUp(self):
        check(driver.cuInit(0))
        self.device = check(driver.cuDeviceGet(0))
        check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(self.device))))
        self.addCleanup(driver.cuDevicePrimaryCtxRelease, self.device)

    def graph_memory(self):
        attribute = driver.CUgraphMem_attribute.CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT
        return int(check(driver.cuDeviceGetGraphMemAttribute(self.device, attribute)))

    def test_numbers_are_squared_twice(self):
        module = check(driver.cuModuleLoadData(SQUARE))
        square = check(driver.cuModuleGetFunction(module, b"square"))
        numbers = (ctypes.c_uint32 * 100)(*range(100))
        size = ctypes.sizeof(numbers)
        memory = check(driver.cuMemAlloc(size))
        stream = check(driver.cuStreamCreate(0))

        def launch(source, target):
            arguments = ((source, target), (ctypes.c_void_p, ctypes.c_void_p))
            check(driver.cuLaunchKernel(square, 1, 1, 1, 100, 1, 1, 0, stream, arguments, 0))

        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        check(driver.cuStreamBeginCapture(stream, mode))
        scratch = check(driver.cuMemAllocAsync(size, stream))
        launch(int(memory), int(scratch))
        launch(int(scratch), int(memory))
        check(driver.cuMemFreeAsync(scratch, stream))
        graph = check(driver.cuStreamEndCapture(stream))
        execution = check(driver.cuGraphInstantiate(graph, 0))

        check(driver.cuMemcpyHtoD(memory, ctypes.addressof(numbers), size))
        check(driver.cuGraphLaunch(execution, stream))
        check(driver.cuStreamSynchronize(stream))
        check(driver.cuMemcpyDtoH(ctypes.addressof(numbers), memory, size))
        self.assertEqual(list(numbers), [n**4 for n in range(100)])
        self.assertEqual(self.graph_memory(), 32 << 20)

        check(driver.cuGraphExecDestroy(execution))
        check(driver.cuDeviceGraphMemTrim(self.device))
        self.assertEqual(self.graph_memory(), 0)


if __name__ == "__main__":
    unittest.main()
