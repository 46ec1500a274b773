//! Modules and functions of the driver: libraries and kernels with their own handles,
//! because the runtime refuses a driver's function (400).

use cudart_ffi::cudaError_t;

use super::{Outcome, Runtime};
use crate::kernels::module::Refused;
use crate::objects::id::{DriverFunctionId, Id, KernelId, LibraryId, ModuleId};

/// A loaded module.
#[derive(Debug)]
pub(super) struct Module {
    library: LibraryId,
    /// The functions whose handles the program has.
    functions: Vec<(KernelId, DriverFunctionId)>,
    /// Whether it is the module of a library, which unloads it.
    of_library: bool,
}

/// A function of a module.
#[derive(Debug)]
pub(super) struct Function {
    kernel: KernelId,
}

impl Runtime {
    /// `cuModuleLoadData` with a PTX text.
    ///
    /// # Errors
    ///
    /// The same as for `cudaLibraryLoadData`.
    pub fn module_load(&mut self, ptx: &str) -> Result<u64, Refused> {
        let full = || Refused {
            code: cudaError_t::MEMORY_ALLOCATION,
            log: "no handles are left".to_owned(),
        };
        let library = self.library_load(ptx)?;
        let library = Id::from_handle(library).ok_or_else(full)?;
        self.modules
            .insert(Module {
                library,
                functions: Vec::new(),
                of_library: false,
            })
            .map(Id::to_handle)
            .ok_or_else(full)
    }

    /// `cuLibraryGetModule`: the library's kernels as a module.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a library.
    pub fn library_module(&mut self, library: u64) -> Outcome<u64> {
        let library: LibraryId = Id::from_handle(library)
            .filter(|&id| self.libraries.get(id).is_some())
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?;
        let known = self
            .modules
            .iter()
            .find(|(_, module)| module.library == library);
        if let Some((id, _)) = known {
            return Ok(id.to_handle());
        }
        self.modules
            .insert(Module {
                library,
                functions: Vec::new(),
                of_library: true,
            })
            .map(Id::to_handle)
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    /// `cuModuleUnload`.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a module, and for a module that belongs to a
    /// library.
    pub fn module_unload(&mut self, module: u64) -> Outcome {
        let refused = cudaError_t::INVALID_RESOURCE_HANDLE;
        let id: ModuleId = Id::from_handle(module).ok_or(refused)?;
        if self.modules.get(id).ok_or(refused)?.of_library {
            return Err(refused);
        }
        let module = self.modules.remove(id).ok_or(refused)?;
        for (_, function) in module.functions {
            self.functions.remove(function);
        }
        self.library_unload(module.library.to_handle())
    }

    /// `cuModuleGetFunction`.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a module, 500 if it has no kernel with that name.
    pub fn module_function(&mut self, module: u64, name: &str) -> Outcome<u64> {
        let refused = cudaError_t::INVALID_RESOURCE_HANDLE;
        let id: ModuleId = Id::from_handle(module).ok_or(refused)?;
        let library = self.modules.get(id).ok_or(refused)?.library;
        let kernel = self.library_kernel(library.to_handle(), name)?;
        let kernel = Id::from_handle(kernel).ok_or(refused)?;
        self.function_in(id, kernel)
    }

    fn function_in(&mut self, module: ModuleId, kernel: KernelId) -> Outcome<u64> {
        let refused = cudaError_t::INVALID_RESOURCE_HANDLE;
        let found = self.modules.get_mut(module).ok_or(refused)?;
        if let Some((_, function)) = found.functions.iter().find(|(known, _)| *known == kernel) {
            return Ok(function.to_handle());
        }
        let function = self
            .functions
            .insert(Function { kernel })
            .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        found.functions.push((kernel, function));
        Ok(function.to_handle())
    }

    /// `cuKernelGetFunction`: the function of a kernel, and whether the program got the
    /// kernel from a library.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a kernel.
    pub fn kernel_function(&mut self, kernel: u64) -> Outcome<(u64, bool)> {
        let refused = cudaError_t::INVALID_RESOURCE_HANDLE;
        let kernel: KernelId = Id::from_handle(kernel).ok_or(refused)?;
        let library = self
            .libraries
            .iter()
            .find(|(_, library)| library.has(kernel))
            .map(|(id, _)| id.to_handle())
            .ok_or(refused)?;
        let module = self.library_module(library)?;
        let module: ModuleId = Id::from_handle(module).ok_or(refused)?;
        let of_library = self.modules.get(module).is_some_and(|m| m.of_library);
        Ok((self.function_in(module, kernel)?, of_library))
    }

    /// The driver's handle for a kernel, as dumps contain it.
    pub(super) fn known_function(&self, kernel: KernelId) -> u64 {
        self.functions
            .iter()
            .find(|(_, function)| function.kernel == kernel)
            .map_or(kernel.to_handle(), |(id, _)| id.to_handle())
    }

    /// The kernel for a handle in a driver call: the handle of a function, or from 12.0
    /// on also that of a kernel.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is neither.
    pub fn driver_kernel(&self, handle: u64) -> Outcome<u64> {
        let function =
            Id::from_handle(handle).and_then(|id: DriverFunctionId| self.functions.get(id));
        if let Some(function) = function {
            return Ok(function.kernel.to_handle());
        }
        self.kernel(handle)
            .map(|_| handle)
            .map_err(|_| cudaError_t::INVALID_RESOURCE_HANDLE)
    }
}
