//! Changes of single nodes, in a graph and in an exec.

use cudart_ffi::cudaError_t;

use super::{KernelRequest, Outcome, Runtime};
use crate::kernels::program::Arguments;
use crate::objects::effects::{CopyRequest, Effect, Fill, HostCall, Side};
use crate::objects::exec::Exec;
use crate::objects::graph::{Graph, Work};
use crate::objects::id::{ExecId, Id};

/// `cudaErrorGraphExecUpdateFailure`
const UPDATE_FAILURE: cudaError_t = cudaError_t(910);
const INVALID: cudaError_t = cudaError_t::INVALID_VALUE;

impl Runtime {
    /// The exec, and the number of a node in the graph from which it was instantiated.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not an exec and for a node of another graph; 801 if the
    /// graph has renumbered its nodes since.
    fn exec_node(&self, exec: u64, node: u64) -> Outcome<(ExecId, u32, &Work)> {
        let id: ExecId = Id::from_handle(exec).ok_or(INVALID)?;
        let exec = self.execs.get(id).ok_or(INVALID)?;
        let place = self.node_place(node)?;
        if place.graph != exec.source {
            return Err(INVALID);
        }
        let graph = self.graph(place.graph)?;
        if exec.numbering != Some(graph.numbering) {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let node = graph.nodes.get(place.index as usize).ok_or(INVALID)?;
        Ok((id, place.index, &node.work))
    }

    fn set_exec_node(&mut self, exec: ExecId, node: u32, effects: Vec<Effect>) {
        let Some(exec) = self.execs.get_mut(exec) else {
            return;
        };
        match exec.disabled.get_mut(&node) {
            Some(kept) => *kept = effects,
            None => {
                exec.replace(node, &effects);
            }
        }
    }

    /// `cudaGraphExecKernelNodeSetParams`. The duration of the exec does not change.
    ///
    /// # Errors
    ///
    /// 1 as for every call on a node of an exec, and for launch dimensions that no
    /// device supports; 98 for a null kernel handle, 400 for an invalid one.
    pub fn set_exec_kernel(
        &mut self,
        exec: u64,
        node: u64,
        request: &KernelRequest,
        arguments: Arguments,
    ) -> Outcome {
        let (exec, index, work) = self.exec_node(exec, node)?;
        if !matches!(work, Work::Kernel(_)) {
            return Err(INVALID);
        }
        self.kernel(request.kernel)?;
        request.shape().ok_or(INVALID)?;
        self.check_shared(request)?;
        let effect = self.kernel_effect(request, arguments);
        self.set_exec_node(exec, index, effect.into_iter().collect());
        Ok(())
    }

    /// `cudaGraphExecMemsetNodeSetParams`.
    ///
    /// # Errors
    ///
    /// 1 as for every call on a node of an exec, for an element that does not have 1, 2
    /// or 4 bytes, and for several rows if the node has one.
    pub fn set_exec_fill(&mut self, exec: u64, node: u64, fill: Fill) -> Outcome {
        let (exec, index, work) = self.exec_node(exec, node)?;
        let Work::Set { fill: old, .. } = work else {
            return Err(INVALID);
        };
        check_fill(&fill)?;
        if (old.height > 1) != (fill.height > 1) {
            return Err(INVALID);
        }
        self.set_exec_node(exec, index, vec![Effect::Set(fill)]);
        Ok(())
    }

    /// `cudaGraphExecMemcpyNodeSetParams1D`.
    ///
    /// # Errors
    ///
    /// 1 as for every call on a node of an exec, for 0 bytes, for a null pointer, and
    /// for other kinds of memory than before.
    pub fn set_exec_copy(&mut self, exec: u64, node: u64, copy: CopyRequest) -> Outcome {
        let (exec, index, work) = self.exec_node(exec, node)?;
        let Work::Copy { copy: old, .. } = work else {
            return Err(INVALID);
        };
        check_copy(&copy)?;
        let same = |one: Side, other: Side| {
            matches!(
                (one, other),
                (Side::Host(_), Side::Host(_)) | (Side::Device(_), Side::Device(_))
            )
        };
        if !same(old.to, copy.to) || !same(old.from, copy.from) {
            return Err(INVALID);
        }
        self.set_exec_node(exec, index, vec![Effect::Copy(copy)]);
        Ok(())
    }

    /// `cudaGraphExecHostNodeSetParams`.
    ///
    /// # Errors
    ///
    /// 1 as for every call on a node of an exec, and for a null function.
    pub fn set_exec_host(&mut self, exec: u64, node: u64, call: HostCall) -> Outcome {
        let (exec, index, work) = self.exec_node(exec, node)?;
        if !matches!(work, Work::Host(_)) || call.function == 0 {
            return Err(INVALID);
        }
        self.set_exec_node(exec, index, vec![Effect::Host(call)]);
        Ok(())
    }

    /// `cudaGraphExecChildGraphNodeSetParams`.
    ///
    /// # Errors
    ///
    /// 1 as for every call on a node of an exec, 910 for a graph with other nodes or
    /// edges.
    pub fn set_exec_child(&mut self, exec: u64, node: u64, child: u64) -> Outcome {
        let (exec, index, work) = self.exec_node(exec, node)?;
        let Work::Child { graph: old, .. } = *work else {
            return Err(INVALID);
        };
        let new = self.graph(self.graph_id(child)?)?;
        if self.structure(self.graph(old)?) != self.structure(new) {
            return Err(UPDATE_FAILURE);
        }
        let effects = new.all_effects().cloned().collect();
        self.set_exec_node(exec, index, effects);
        Ok(())
    }

    /// `cudaGraphNodeSetEnabled`: whether launches run a kernel, memset or copy node.
    ///
    /// # Errors
    ///
    /// 1 as for every call on a node of an exec, and for a node of another type.
    pub fn set_exec_enabled(&mut self, exec: u64, node: u64, enabled: bool) -> Outcome {
        let (id, index, work) = self.exec_node(exec, node)?;
        can_be_disabled(work)?;
        let Some(exec) = self.execs.get_mut(id) else {
            return Err(INVALID);
        };
        match (enabled, exec.disabled.remove(&index)) {
            (true, Some(effects)) => {
                exec.replace(index, &effects);
            }
            (true, None) => {}
            (false, kept) => {
                let effects = kept.unwrap_or_else(|| exec.replace(index, &[]));
                exec.disabled.insert(index, effects);
            }
        }
        Ok(())
    }

    /// `cudaGraphNodeGetEnabled`.
    ///
    /// # Errors
    ///
    /// The same as for [`set_exec_enabled`](Self::set_exec_enabled).
    pub fn exec_enabled(&self, exec: u64, node: u64) -> Outcome<bool> {
        let (id, index, work) = self.exec_node(exec, node)?;
        can_be_disabled(work)?;
        let disabled = |exec: &Exec| exec.disabled.contains_key(&index);
        Ok(!self.execs.get(id).is_some_and(disabled))
    }

    /// Changes the work of a node of a graph, for execs that are instantiated from now
    /// on.
    fn set_node(
        &mut self,
        node: u64,
        effect: Effect,
        change: impl FnOnce(&mut Work) -> Outcome,
    ) -> Outcome {
        let place = self.node_place(node)?;
        let graph: &mut Graph = self.graphs.get_mut(place.graph).ok_or(INVALID)?;
        let node = graph.nodes.get_mut(place.index as usize).ok_or(INVALID)?;
        change(&mut node.work)?;
        graph.effects.insert(place.index, vec![effect]);
        Ok(())
    }

    /// `cudaGraphMemsetNodeSetParams`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a memset node, and as for adding one.
    pub fn set_fill_node(&mut self, node: u64, new: Fill) -> Outcome {
        check_fill(&new)?;
        self.set_node(node, Effect::Set(new), |work| match work {
            Work::Set { fill, .. } => {
                **fill = new;
                Ok(())
            }
            _ => Err(INVALID),
        })
    }

    /// `cudaGraphMemcpyNodeSetParams1D`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a copy node, and as for adding one.
    pub fn set_copy_node(&mut self, node: u64, new: CopyRequest) -> Outcome {
        check_copy(&new)?;
        self.set_node(node, Effect::Copy(new), |work| match work {
            Work::Copy { copy, .. } => {
                **copy = new;
                Ok(())
            }
            _ => Err(INVALID),
        })
    }

    /// `cudaGraphHostNodeSetParams`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a host node, and as for adding one.
    pub fn set_host_node(&mut self, node: u64, new: HostCall) -> Outcome {
        if new.function == 0 {
            return Err(INVALID);
        }
        self.set_node(node, Effect::Host(new), |work| match work {
            Work::Host(call) => {
                *call = new;
                Ok(())
            }
            _ => Err(INVALID),
        })
    }
}

/// Only nodes of these types can be disabled.
fn can_be_disabled(work: &Work) -> Outcome {
    match work {
        Work::Kernel(_) | Work::Set { .. } | Work::Copy { .. } => Ok(()),
        _ => Err(INVALID),
    }
}

pub(super) fn check_fill(fill: &Fill) -> Outcome {
    let valid = matches!(fill.element_bytes, 1 | 2 | 4) && fill.width != 0 && fill.height != 0;
    valid.then_some(()).ok_or(INVALID)
}

pub(super) fn check_copy(copy: &CopyRequest) -> Outcome {
    let valid = copy.bytes != 0 && [copy.to, copy.from].iter().all(|side| side.address() != 0);
    valid.then_some(()).ok_or(INVALID)
}
