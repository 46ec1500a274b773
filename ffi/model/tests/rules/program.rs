//! Helpers with which the tests write programs: the table bound to the simulated runtime,
//! and functions that return the code together with the value.

use std::ffi::{c_int, c_void};

use cudart_ffi::{Cudart, Functions, types::*};
use cudart_model::{Config, Isolated, Profile};

pub const MIB: u64 = 1 << 20;
pub const OK: i32 = 0;
pub const INVALID_VALUE: i32 = 1;
pub const MEMORY_ALLOCATION: i32 = 2;
pub const INVALID_DEVICE: i32 = 101;
pub const INVALID_HANDLE: i32 = 400;
pub const NOT_READY: i32 = 600;
pub const NOT_SUPPORTED: i32 = 801;

/// A kernel that spins for as many clock cycles as its parameter says.
pub const SPIN_PTX: &[u8] = b".version 6.5
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 clocks)
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, %clock64;
    ret;
}
\0";

/// One isolated simulated runtime and its table.
pub struct Program {
    pub model: Isolated,
    cudart: Cudart,
    pub spin: cudaKernel_t,
}

impl Program {
    /// An H200 with the virtual clock.
    pub fn new() -> Self {
        Self::on(Profile::default())
    }

    pub fn on(profile: Profile) -> Self {
        let model = Isolated::new(Config {
            profile,
            clock: cudart_model::ClockKind::Virtual,
            faults: Vec::new(),
        });
        // SAFETY: the simulated runtime has the table's prototypes, and exists as
        // long as the process.
        let cudart = unsafe { Cudart::from_symbols(cudart_model::symbol) }.unwrap();
        let mut program = Self {
            model,
            cudart,
            spin: cudaKernel_t::NULL,
        };
        program.spin = program.load_spin();
        program
    }

    pub fn f(&self) -> &Functions {
        &self.cudart
    }

    fn load_spin(&self) -> cudaKernel_t {
        let mut library = cudaLibrary_t::NULL;
        let mut kernel = cudaKernel_t::NULL;
        let null = std::ptr::null_mut::<*mut c_void>;
        // SAFETY: NUL-terminated texts and variables of this function.
        unsafe {
            self.f().cudaLibraryLoadData(
                &mut library,
                SPIN_PTX.as_ptr().cast(),
                std::ptr::null_mut(),
                null(),
                0,
                std::ptr::null_mut(),
                null(),
                0,
            );
            self.f()
                .cudaLibraryGetKernel(&mut kernel, library, c"spin".as_ptr());
        }
        kernel
    }

    pub fn stream(&self) -> cudaStream_t {
        let mut stream = cudaStream_t::NULL;
        // SAFETY: a variable of this function.
        let code = unsafe {
            self.f()
                .cudaStreamCreateWithFlags(&mut stream, stream_flags::NON_BLOCKING)
        };
        assert_eq!(code.0, OK);
        stream
    }

    pub fn graph(&self) -> cudaGraph_t {
        let mut graph = cudaGraph_t::NULL;
        // SAFETY: a variable of this function.
        let code = unsafe { self.f().cudaGraphCreate(&mut graph, 0) };
        assert_eq!(code.0, OK);
        graph
    }

    pub fn alloc_params(bytes: u64) -> cudaMemAllocNodeParams {
        let mut params = cudaMemAllocNodeParams::zeroed();
        params.pool_props.alloc_type = cudaMemAllocationType::PINNED;
        params.pool_props.location.type_ = cudaMemLocationType::DEVICE;
        params.bytesize = bytes as usize;
        params
    }

    pub fn try_alloc(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        params: &mut cudaMemAllocNodeParams,
    ) -> Result<cudaGraphNode_t, i32> {
        let mut node = cudaGraphNode_t::NULL;
        // SAFETY: a slice, and variables that live through the call.
        let code = unsafe {
            self.f()
                .cudaGraphAddMemAllocNode(&mut node, graph, after.as_ptr(), after.len(), params)
        };
        if code.0 == OK { Ok(node) } else { Err(code.0) }
    }

    /// An alloc node and its address.
    pub fn alloc(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        bytes: u64,
    ) -> (cudaGraphNode_t, *mut c_void) {
        let mut params = Self::alloc_params(bytes);
        let node = self.try_alloc(graph, after, &mut params).unwrap();
        (node, params.dptr)
    }

    pub fn try_free_node(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        address: *mut c_void,
    ) -> Result<cudaGraphNode_t, i32> {
        let mut node = cudaGraphNode_t::NULL;
        // SAFETY: a slice and a variable.
        let code = unsafe {
            self.f()
                .cudaGraphAddMemFreeNode(&mut node, graph, after.as_ptr(), after.len(), address)
        };
        if code.0 == OK { Ok(node) } else { Err(code.0) }
    }

    pub fn free_node(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        address: *mut c_void,
    ) -> cudaGraphNode_t {
        self.try_free_node(graph, after, address).unwrap()
    }

    pub fn try_kernel(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        grid: dim3,
        block: dim3,
        clocks: i64,
    ) -> Result<cudaGraphNode_t, i32> {
        let mut node = cudaGraphNode_t::NULL;
        let mut clocks = clocks;
        let mut arguments = [(&raw mut clocks).cast::<c_void>()];
        let params = cudaKernelNodeParams {
            func: self.spin.0,
            grid_dim: grid,
            block_dim: block,
            kernel_params: arguments.as_mut_ptr(),
            ..cudaKernelNodeParams::zeroed()
        };
        // SAFETY: a slice, and variables that live through the call.
        let code = unsafe {
            self.f()
                .cudaGraphAddKernelNode(&mut node, graph, after.as_ptr(), after.len(), &params)
        };
        if code.0 == OK { Ok(node) } else { Err(code.0) }
    }

    /// A kernel of one block with a spin time in microseconds.
    pub fn kernel(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        microseconds: i64,
    ) -> cudaGraphNode_t {
        self.try_kernel(
            graph,
            after,
            dim3::linear(1),
            dim3::linear(32),
            microseconds * 1980,
        )
        .unwrap()
    }

    /// A graph that allocates, runs a kernel with a spin time, and frees.
    pub fn usual_graph(&self, bytes: u64, microseconds: i64) -> (cudaGraph_t, *mut c_void) {
        let graph = self.graph();
        let (alloc, address) = self.alloc(graph, &[], bytes);
        let kernel = self.kernel(graph, &[alloc], microseconds);
        self.free_node(graph, &[kernel], address);
        (graph, address)
    }

    /// A graph that allocates and runs a kernel with a spin time, but does not free.
    pub fn unfreed_graph(&self, bytes: u64, microseconds: i64) -> (cudaGraph_t, *mut c_void) {
        let graph = self.graph();
        let (alloc, address) = self.alloc(graph, &[], bytes);
        self.kernel(graph, &[alloc], microseconds);
        (graph, address)
    }

    pub fn try_instantiate(&self, graph: cudaGraph_t, flags: u64) -> Result<cudaGraphExec_t, i32> {
        let mut exec = cudaGraphExec_t::NULL;
        // SAFETY: a variable of this function.
        let code = unsafe {
            self.f()
                .cudaGraphInstantiateWithFlags(&mut exec, graph, flags)
        };
        if code.0 == OK { Ok(exec) } else { Err(code.0) }
    }

    pub fn instantiate(&self, graph: cudaGraph_t) -> cudaGraphExec_t {
        self.try_instantiate(graph, 0).unwrap()
    }

    pub fn launch(&self, exec: cudaGraphExec_t, stream: cudaStream_t) -> i32 {
        // SAFETY: handles are looked up.
        unsafe { self.f().cudaGraphLaunch(exec, stream) }.0
    }

    pub fn upload(&self, exec: cudaGraphExec_t, stream: cudaStream_t) -> i32 {
        // SAFETY: handles are looked up.
        unsafe { self.f().cudaGraphUpload(exec, stream) }.0
    }

    pub fn exec_destroy(&self, exec: cudaGraphExec_t) -> i32 {
        // SAFETY: handles are looked up.
        unsafe { self.f().cudaGraphExecDestroy(exec) }.0
    }

    pub fn graph_destroy(&self, graph: cudaGraph_t) -> i32 {
        // SAFETY: handles are looked up.
        unsafe { self.f().cudaGraphDestroy(graph) }.0
    }

    pub fn sync(&self) {
        // SAFETY: takes nothing.
        assert_eq!(unsafe { self.f().cudaDeviceSynchronize() }.0, OK);
    }

    pub fn query(&self, stream: cudaStream_t) -> i32 {
        // SAFETY: handles are looked up.
        unsafe { self.f().cudaStreamQuery(stream) }.0
    }

    pub fn free(&self, address: *mut c_void) -> i32 {
        // SAFETY: addresses are looked up.
        unsafe { self.f().cudaFree(address) }.0
    }

    pub fn free_async(&self, address: *mut c_void, stream: cudaStream_t) -> i32 {
        // SAFETY: addresses and handles are looked up.
        unsafe { self.f().cudaFreeAsync(address, stream) }.0
    }

    pub fn trim(&self) {
        // SAFETY: takes an ordinal.
        assert_eq!(unsafe { self.f().cudaDeviceGraphMemTrim(0) }.0, OK);
    }

    pub fn try_attribute(&self, device: c_int, attribute: u32) -> Result<u64, i32> {
        let mut value = u64::MAX;
        // SAFETY: a u64 of this function.
        let code = unsafe {
            self.f().cudaDeviceGetGraphMemAttribute(
                device,
                cudaGraphMemAttributeType(attribute),
                (&raw mut value).cast(),
            )
        };
        if code.0 == OK { Ok(value) } else { Err(code.0) }
    }

    /// Attribute 0, in bytes.
    pub fn used(&self) -> u64 {
        self.try_attribute(0, 0).unwrap()
    }

    /// Attribute 2, in bytes.
    pub fn reserved(&self) -> u64 {
        self.try_attribute(0, 2).unwrap()
    }

    /// Used, its high-water mark, reserved, its high-water mark, in bytes.
    pub fn attributes(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|attribute| self.try_attribute(0, attribute).unwrap())
    }

    /// Free and total bytes.
    pub fn mem_info(&self) -> (u64, u64) {
        let (mut free, mut total) = (0, 0);
        // SAFETY: variables of this function.
        let code = unsafe { self.f().cudaMemGetInfo(&mut free, &mut total) };
        assert_eq!(code.0, OK);
        (free as u64, total as u64)
    }
}
