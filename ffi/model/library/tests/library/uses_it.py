"""The built library through ctypes: unfreed allocations add up."""
import ctypes
import sys

cudart = ctypes.CDLL(sys.argv[1])
p, u64, size = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t


class AllocParams(ctypes.Structure):
    _fields_ = [
        ("alloc_type", ctypes.c_int), ("handle_types", ctypes.c_int),
        ("location_type", ctypes.c_int), ("location_id", ctypes.c_int),
        ("win32", p), ("reserved", ctypes.c_ubyte * 64),
        ("access_descs", p), ("access_desc_count", size),
        ("bytesize", size), ("dptr", p),
    ]


def call(name, *arguments):
    code = getattr(cudart, name)(*arguments)
    if code != 0:
        cudart.cudaGetErrorName.restype = ctypes.c_char_p
        sys.exit(f"{name}: {cudart.cudaGetErrorName(code).decode()}")


def used():
    value = u64()
    call("cudaDeviceGetGraphMemAttribute", 0, 0, ctypes.byref(value))
    return value.value >> 20


pointers = []
for _ in range(3):
    graph, node, execution = p(), p(), p()
    params = AllocParams(alloc_type=1, location_type=1, bytesize=64 << 20)
    call("cudaGraphCreate", ctypes.byref(graph), 0)
    call("cudaGraphAddMemAllocNode", ctypes.byref(node), graph, None, size(0), ctypes.byref(params))
    call("cudaGraphInstantiateWithFlags", ctypes.byref(execution), graph, u64(0))
    call("cudaGraphLaunch", execution, None)
    pointers.append(params.dptr)
    print("launched", used())
call("cudaDeviceSynchronize")
call("cudaDeviceGraphMemTrim", 0)
print("trimmed", used())
for pointer in pointers:
    call("cudaFree", p(pointer))
call("cudaDeviceGraphMemTrim", 0)
print("freed and trimmed", used())
