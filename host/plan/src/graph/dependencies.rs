//! What each node of a graph depends on.

use super::NodeIndex;

/// Direct dependencies of all nodes, in one piece of memory.
#[derive(Debug, Clone, Default)]
pub struct Dependencies {
    /// Where each node's part of `list` starts; one more at the end.
    starts: Vec<u32>,
    list: Vec<NodeIndex>,
}

impl Dependencies {
    /// From edges (earlier, later) among `nodes` nodes. Edges that name no node are
    /// left out; an edge given twice counts once.
    #[must_use]
    pub fn new(nodes: usize, edges: &[(NodeIndex, NodeIndex)]) -> Self {
        let valid = |&&(from, to): &&(NodeIndex, NodeIndex)| {
            (from as usize) < nodes && (to as usize) < nodes
        };
        let mut starts = vec![0_u32; nodes + 1];
        for &(_, to) in edges.iter().filter(valid) {
            starts[to as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut list = vec![0; sum as usize];
        let mut next = starts.clone();
        for &(from, to) in edges.iter().filter(valid) {
            let place = &mut next[to as usize];
            list[*place as usize] = from;
            *place += 1;
        }
        Self { starts, list }.without_repeats()
    }

    fn without_repeats(self) -> Self {
        let mut starts = Vec::with_capacity(self.starts.len());
        let mut list: Vec<NodeIndex> = Vec::with_capacity(self.list.len());
        let mut own: Vec<NodeIndex> = Vec::new();
        starts.push(0);
        for node in 0..self.node_count() {
            own.clear();
            own.extend_from_slice(self.of(node));
            own.sort_unstable();
            own.dedup();
            list.extend_from_slice(&own);
            starts.push(list.len() as u32);
        }
        Self { starts, list }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> NodeIndex {
        (self.starts.len().max(1) - 1) as u32
    }

    /// How many edges there are.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.list.len()
    }

    /// What a node depends on directly, the oldest first.
    ///
    /// # Panics
    ///
    /// For a number that names no node, which is a bug of this program.
    #[must_use]
    #[track_caller]
    pub fn of(&self, node: NodeIndex) -> &[NodeIndex] {
        let node = node as usize;
        &self.list[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// All edges, (earlier, later).
    pub fn edges(&self) -> impl Iterator<Item = (NodeIndex, NodeIndex)> {
        (0..self.node_count()).flat_map(|to| self.of(to).iter().map(move |&from| (from, to)))
    }

    /// The other way round: what depends on each node.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let edges: Vec<_> = self.edges().map(|(from, to)| (to, from)).collect();
        Self::new(self.node_count() as usize, &edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_oldest_first_and_once() {
        let dependencies = Dependencies::new(4, &[(2, 3), (0, 3), (2, 3), (0, 1), (9, 1), (1, 9)]);
        assert_eq!(dependencies.of(3), [0, 2]);
        assert_eq!(dependencies.of(1), [0]);
        assert_eq!(dependencies.of(0), [] as [u32; 0]);
        assert_eq!(dependencies.edge_count(), 3);
        assert_eq!(dependencies.reversed().of(0), [1, 3]);
        assert_eq!(Dependencies::default().node_count(), 0);
    }
}
