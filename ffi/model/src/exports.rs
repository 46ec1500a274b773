//! The functions that the library exports: those of `cudart-ffi`'s table, which this
//! project's own program calls, and those that other programs call.

/// Hands every exported function to the macro `$callback`, one a line, as
/// [`cudart_ffi::cudart_functions`] does. Where prototypes differ between versions of
/// CUDA, it is that of runtime 13.
macro_rules! exported_functions {
    ($callback:ident) => {
        cudart_ffi::cudart_functions! { with_those_of_other_programs, $callback }
    };
}

macro_rules! with_those_of_other_programs {
    ($callback:ident $($lines:tt)*) => {
        $callback! {
            $($lines)*

            optional [11.4] fn cudaPeekAtLastError() -> cudaError_t;

            optional [11.4] fn cudaStreamIsCapturing(stream: cudaStream_t, status: *mut c_uint) -> cudaError_t;
            optional [13.0] fn cudaStreamGetCaptureInfo(stream: cudaStream_t, status: *mut c_uint, id: *mut c_ulonglong, graph: *mut cudaGraph_t, dependencies: *mut *const cudaGraphNode_t, edge_data: *mut *const c_void, dependency_count: *mut usize) -> cudaError_t;
            optional [13.0] fn cudaStreamUpdateCaptureDependencies(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, flags: c_uint) -> cudaError_t;
            optional [12.3] fn cudaStreamBeginCaptureToGraph(stream: cudaStream_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, mode: cudaStreamCaptureMode) -> cudaError_t;
            optional [11.4] fn cudaThreadExchangeStreamCaptureMode(mode: *mut cudaStreamCaptureMode) -> cudaError_t;

            optional [11.4] fn cudaEventQuery(event: cudaEvent_t) -> cudaError_t;
            optional [11.4] fn cudaEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, flags: c_uint) -> cudaError_t;
        }
    };
}

pub(crate) use {exported_functions, with_those_of_other_programs};
