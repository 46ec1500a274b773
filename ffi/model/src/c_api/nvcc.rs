//! Functions for code that nvcc generates: it registers the program's fat binaries and
//! kernels before `main`, and translates `kernel<<<grid, block>>>(...)` into calls.
//!
//! The prototypes are those of `crt/host_runtime.h`, the same in 11.8 and 13.5.

#![allow(non_snake_case, reason = "the C names")]

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudart_ffi::types::{cudaError_t, cudaStream_t, dim3};

use super::calls;
use crate::kernels::fatbin;
use crate::kernels::module::{KernelCode, unchecked};
use crate::kernels::variables::ModuleMemory;
use crate::runtime::Runtime;

/// The names of these functions, for the list of all exports.
pub const NVCC: &[&str] = &[
    "__cudaGetKernel",
    "__cudaInitModule",
    "__cudaLaunchKernel",
    "__cudaLaunchKernel_ptsz",
    "__cudaPopCallConfiguration",
    "__cudaPushCallConfiguration",
    "__cudaRegisterFatBinary",
    "__cudaRegisterFatBinaryEnd",
    "__cudaRegisterFunction",
    "__cudaRegisterVar",
    "__cudaUnregisterFatBinary",
];

/// The wrapper of a fat binary: `__fatBinC_Wrapper_t` of `fatbinary_section.h`.
#[repr(C)]
struct Wrapper {
    magic: c_int,
    version: c_int,
    data: *const u8,
    /// For a linked binary: the data of the binaries from which it was linked, ending
    /// with null.
    linked: *const *const u8,
}

const WRAPPER_MAGIC: c_int = 0x4662_43B1;
/// The version of a wrapper around a linked binary (`nvcc -rdc=true`). The binary itself
/// contains machine code, and the PTX is in the binaries from which it was linked.
const LINKED: c_int = 2;

/// The PTX of a fat binary; `None` if there is no valid one.
///
/// # Safety
///
/// `data` must point at a fat binary that nvcc wrote.
unsafe fn binary_at(data: *const u8) -> Option<Binary> {
    // SAFETY: a container begins with a header of 16 bytes.
    let head = unsafe { data.cast::<[u8; 16]>().read_unaligned() };
    let length = fatbin::length(&head)?;
    // SAFETY: nvcc wrote the container and the length in its header.
    let container = unsafe { core::slice::from_raw_parts(data, length) };
    let texts = fatbin::ptx(container)?;
    let mut binary = Binary::default();
    for text in texts {
        let (kernels, variables) = unchecked(&text);
        binary.kernels.extend(kernels);
        binary.variables.extend(variables);
    }
    Some(binary)
}

/// The content of the PTX of a fat binary.
#[derive(Debug, Default)]
struct Binary {
    kernels: Vec<KernelCode>,
    /// The variables of each PTX text.
    variables: Vec<Arc<ModuleMemory>>,
}

/// Everything that the program has registered.
#[derive(Debug, Default)]
struct Registered {
    /// Each fat binary; `None` if it is not valid, and after it is unregistered.
    binaries: Vec<Option<Binary>>,
    /// Kernels by the address of their host function.
    functions: HashMap<u64, Function>,
    /// Variables by the address of the host variable: the binary and the name.
    variables: HashMap<u64, (usize, String)>,
}

#[derive(Debug)]
struct Function {
    binary: usize,
    name: String,
    /// The kernel's handle in the runtime in which it was first used.
    handle: Option<u64>,
}

static REGISTERED: Mutex<Option<Registered>> = Mutex::new(None);

fn registered() -> MutexGuard<'static, Option<Registered>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel of a function pointer: that of a registered host function. A handle is
/// returned unchanged.
pub(super) fn kernel_of(runtime: &mut Runtime, function: u64) -> u64 {
    if runtime.kernel(function).is_ok() {
        return function;
    }
    let mut all = registered();
    let Some(registered) = all.as_mut() else {
        return function;
    };
    let Some(found) = registered.functions.get_mut(&function) else {
        return function;
    };
    if let Some(handle) = found
        .handle
        .filter(|&handle| runtime.kernel(handle).is_ok())
    {
        return handle;
    }
    let Some(Some(binary)) = registered.binaries.get(found.binary) else {
        // The launch then returns 400, as for a function that was never registered.
        return function;
    };
    let code = binary.kernels.iter().find(|code| code.name == found.name);
    let code = code
        .cloned()
        .unwrap_or_else(|| KernelCode::unknown(&found.name));
    if code.program.is_none() && !code.reads_clock {
        // Printed once for each kernel, because its handle is stored. If standard
        // error is closed, the message is dropped.
        let _ = writeln!(
            std::io::stderr(),
            "cudart_model: the kernel {} is not simulated: it takes its time and writes nothing",
            found.name
        );
    }
    match runtime.add_kernel(code) {
        Some(handle) => {
            found.handle = Some(handle);
            handle
        }
        None => function,
    }
}

/// `__cudaRegisterFatBinary` of the simulated runtime. The handle points to the binary's
/// number.
///
/// # Safety
///
/// The wrapper must be one that nvcc generated, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> *mut *mut c_void {
    let mut binary = None;
    let wrapper = wrapper.cast::<Wrapper>();
    if !wrapper.is_null() {
        // SAFETY: the caller guarantees a wrapper that nvcc generated.
        let wrapper = unsafe { wrapper.read_unaligned() };
        if wrapper.magic == WRAPPER_MAGIC && !wrapper.data.is_null() {
            // SAFETY: the caller guarantees a fat binary of nvcc.
            binary = unsafe { binary_at(wrapper.data) };
            let mut next = wrapper.linked;
            while wrapper.version == LINKED && !next.is_null() {
                // SAFETY: nvcc ends the list with null, and this entry is
                // not after that.
                let data = unsafe { next.read_unaligned() };
                if data.is_null() {
                    break;
                }
                // SAFETY: the entries of the list are fat binaries.
                let found = unsafe { binary_at(data) }.unwrap_or_default();
                let all = binary.get_or_insert_default();
                all.kernels.extend(found.kernels);
                all.variables.extend(found.variables);
                // SAFETY: this was not the last entry of the list.
                next = unsafe { next.add(1) };
            }
        }
    }
    let mut all = registered();
    let binaries = &mut all.get_or_insert_default().binaries;
    binaries.push(binary);
    // Never freed, like that of the real runtime.
    let number = core::ptr::without_provenance_mut::<c_void>(binaries.len());
    Box::into_raw(Box::new(number))
}

/// `__cudaRegisterFatBinaryEnd`: called when all kernels of a fat binary are registered.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// `__cudaInitModule`: has no effect, because CUDA is started at the first call that needs
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_handle: *mut *mut c_void) -> c_char {
    0
}

/// `__cudaUnregisterFatBinary`: removes its kernels.
///
/// # Safety
///
/// The handle must be one that [`__cudaRegisterFatBinary`] returned, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    // SAFETY: the caller guarantees it.
    let Some(binary) = (unsafe { number(handle) }) else {
        return;
    };
    if let Some(registered) = registered().as_mut() {
        registered
            .functions
            .retain(|_, function| function.binary != binary);
        registered.variables.retain(|_, (of, _)| *of != binary);
        if let Some(binary) = registered.binaries.get_mut(binary) {
            *binary = None;
        }
    }
}

/// The index of a fat binary.
///
/// # Safety
///
/// The same as for [`__cudaUnregisterFatBinary`].
unsafe fn number(handle: *mut *mut c_void) -> Option<usize> {
    if handle.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees it.
    unsafe { handle.read() }.addr().checked_sub(1)
}

/// `__cudaRegisterFunction`: registers a kernel by its host function and its name.
///
/// # Safety
///
/// The handle must be one that [`__cudaRegisterFatBinary`] returned, and the name a C
/// string; either may be null.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host_function: *const c_char,
    _device_function: *mut c_char,
    device_name: *const c_char,
    _thread_limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp_size: *mut c_int,
) {
    // SAFETY: the caller guarantees it.
    let Some(binary) = (unsafe { number(handle) }) else {
        return;
    };
    if device_name.is_null() {
        return;
    }
    // SAFETY: the caller guarantees it.
    let name = unsafe { CStr::from_ptr(device_name) }
        .to_string_lossy()
        .into_owned();
    let function = Function {
        binary,
        name,
        handle: None,
    };
    let mut all = registered();
    let functions = &mut all.get_or_insert_default().functions;
    functions.insert(host_function.addr() as u64, function);
}

/// `__cudaRegisterVar`: registers a host variable that identifies a variable of the
/// kernels.
///
/// # Safety
///
/// The same as for [`__cudaRegisterFunction`].
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host_variable: *mut c_char,
    _device_address: *mut c_char,
    device_name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the caller guarantees it.
    let Some(binary) = (unsafe { number(handle) }) else {
        return;
    };
    if device_name.is_null() {
        return;
    }
    // SAFETY: the caller guarantees it.
    let name = unsafe { CStr::from_ptr(device_name) };
    let name = name.to_string_lossy().into_owned();
    let mut all = registered();
    let variables = &mut all.get_or_insert_default().variables;
    variables.insert(host_variable.addr() as u64, (binary, name));
}

/// The address and size in bytes of the variable that a host variable identifies.
pub(super) fn variable_of(runtime: &mut Runtime, variable: u64) -> Option<(u64, u64)> {
    let all = registered();
    let registered = all.as_ref()?;
    let (binary, name) = registered.variables.get(&variable)?;
    let binary = registered.binaries.get(*binary)?.as_ref()?;
    let found =
        |memory: &Arc<ModuleMemory>| memory.variable(name).map(|at| (Arc::clone(memory), at));
    let (memory, at) = binary.variables.iter().find_map(found)?;
    runtime.add_module(&memory);
    Some(at)
}

/// The launch dimensions and the stream of a launch.
#[derive(Debug, Clone, Copy)]
struct Configuration {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: *mut c_void,
}

thread_local! {
    static PUSHED: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// `__cudaPushCallConfiguration`: stores the values in `<<<...>>>`.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: *mut c_void,
) -> c_uint {
    let configuration = Configuration {
        grid,
        block,
        shared,
        stream,
    };
    // A thread that is ending makes no launches.
    let _ = PUSHED.try_with(|pushed| pushed.borrow_mut().push(configuration));
    0
}

/// `__cudaPopCallConfiguration`: returns the values that were stored last.
///
/// # Safety
///
/// The pointers must be null or valid for writing a value of their type; the last one for
/// writing a stream handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut dim3,
    block: *mut dim3,
    shared: *mut usize,
    stream: *mut c_void,
) -> cudaError_t {
    let popped = PUSHED.try_with(|pushed| pushed.borrow_mut().pop());
    let Some(configuration) = popped.ok().flatten() else {
        // cudaErrorMissingConfiguration
        return cudaError_t(52);
    };
    // SAFETY: the caller guarantees it for each pointer that is not null.
    unsafe {
        if !grid.is_null() {
            grid.write_unaligned(configuration.grid);
        }
        if !block.is_null() {
            block.write_unaligned(configuration.block);
        }
        if !shared.is_null() {
            shared.write_unaligned(configuration.shared);
        }
        if !stream.is_null() {
            stream
                .cast::<*mut c_void>()
                .write_unaligned(configuration.stream);
        }
    }
    cudaError_t::SUCCESS
}

/// `__cudaGetKernel`: returns the address of the host function, which identifies the
/// kernel.
///
/// # Safety
///
/// The pointer must be null or valid for writing a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaGetKernel(
    kernel: *mut *const c_void,
    host_function: *const c_void,
) -> cudaError_t {
    if kernel.is_null() {
        return cudaError_t::INVALID_VALUE;
    }
    // SAFETY: the caller guarantees it.
    unsafe { kernel.write_unaligned(host_function) };
    cudaError_t::SUCCESS
}

/// `__cudaLaunchKernel`, which code of nvcc 13 calls.
///
/// # Safety
///
/// The same as for `cudaLaunchKernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel(
    kernel: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    // SAFETY: the caller of this function guarantees the same.
    unsafe { calls::cudaLaunchKernel(kernel, grid, block, arguments, shared, stream) }
}

/// The same for the per-thread default stream.
///
/// # Safety
///
/// The same as for `cudaLaunchKernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel_ptsz(
    kernel: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    crate::instance::with_per_thread_default(|| {
        // SAFETY: the caller of this function guarantees the same.
        unsafe { calls::cudaLaunchKernel(kernel, grid, block, arguments, shared, stream) }
    })
}
