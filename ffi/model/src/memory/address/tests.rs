use super::*;

const BASE: u64 = 0x3_0200_0000;

/// A graph under construction. Offsets are relative to the base of its addresses.
struct Graph {
    order: Order,
    space: AddressSpace,
}

impl Graph {
    fn new() -> Self {
        Self {
            order: Order::new(),
            space: AddressSpace::new(BASE, Granularity::H200),
        }
    }

    fn kernel(&mut self, dependencies: &[usize]) -> usize {
        self.order
            .add_node(dependencies)
            .expect("the test names existing nodes")
    }

    fn alloc(&mut self, dependencies: &[usize], bytes: u64) -> (usize, u64) {
        let node = self.kernel(dependencies);
        let address = self
            .space
            .add_alloc(&self.order, node, bytes)
            .expect("the size is valid");
        (node, address - BASE)
    }

    fn free(&mut self, dependencies: &[usize], offset: u64) -> usize {
        let node = self.kernel(dependencies);
        self.space
            .add_free(&self.order, node, BASE + offset)
            .expect("the allocation is there");
        node
    }
}

#[test]
fn r3_an_allocation_ordered_after_a_free_gets_its_address() {
    let mut g = Graph::new();
    let (a, first) = g.alloc(&[], 64 * MIB);
    let kernel = g.kernel(&[a]);
    let free = g.free(&[kernel], first);
    let between = g.kernel(&[free]);
    let (_, second) = g.alloc(&[between], 64 * MIB);
    assert_eq!(second, first);
    assert_eq!(g.space.used_bytes(), 64 * MIB);
}

#[test]
fn r4_without_that_order_it_gets_another() {
    let mut g = Graph::new();
    let (a, first) = g.alloc(&[], 64 * MIB);
    g.free(&[a], first);
    let (_, beside) = g.alloc(&[a], 64 * MIB);
    let (_, alone) = g.alloc(&[], 64 * MIB);
    assert_eq!([first, beside, alone], [0, 64 * MIB, 128 * MIB]);
    assert_eq!(g.space.used_bytes(), 192 * MIB);
}

#[test]
fn r6_allocations_that_follow_each_other_may_overlap_in_part() {
    let mut g = Graph::new();
    let (a, first) = g.alloc(&[], 10 * MIB);
    let free = g.free(&[a], first);
    let (b, second) = g.alloc(&[free], 4 * MIB);
    let (_, third) = g.alloc(&[b], 6 * MIB);
    assert_eq!([first, second, third], [0, 0, 4 * MIB]);
}

#[test]
fn r30_a_free_node_needs_an_allocation_that_is_not_freed() {
    let mut g = Graph::new();
    let (a, first) = g.alloc(&[], 1);
    let free = g.free(&[a], first);
    let again = g.kernel(&[free]);
    let twice = g.space.add_free(&g.order, again, BASE);
    assert_eq!(twice, Err(AddressError::NotAllocated { address: BASE }));
    let unknown = g.space.add_free(&g.order, again, BASE + 512);
    assert_eq!(
        unknown,
        Err(AddressError::NotAllocated {
            address: BASE + 512
        })
    );
}

#[test]
fn m1_used_and_reserved_are_whole_blocks() {
    for (bytes, mib) in [
        (1, 32),
        (MIB, 32),
        (32 * MIB, 32),
        (33 * MIB, 64),
        (64 * MIB, 64),
        (100 * MIB, 128),
    ] {
        let mut g = Graph::new();
        g.alloc(&[], bytes);
        assert_eq!(g.space.used_bytes(), mib * MIB, "{bytes} bytes");
        assert_eq!(g.space.reserved_bytes(), mib * MIB, "{bytes} bytes");
    }
}

#[test]
fn m3_two_live_allocations_of_32_and_16_mib_use_64_and_are_32_apart() {
    let mut g = Graph::new();
    let (a, first) = g.alloc(&[], 32 * MIB);
    let (_, second) = g.alloc(&[a], 16 * MIB);
    assert_eq!(second - first, 32 * MIB);
    assert_eq!(g.space.used_bytes(), 64 * MIB);
}

#[test]
fn m10_zero_bytes_and_more_than_all_addresses_are_refused() {
    let mut g = Graph::new();
    let node = g.kernel(&[]);
    assert_eq!(
        g.space.add_alloc(&g.order, node, 0),
        Err(AddressError::ZeroBytes)
    );
    for bytes in [u64::MAX, u64::MAX - BASE, u64::MAX / 512 * 512] {
        let refused = g.space.add_alloc(&g.order, node, bytes);
        assert_eq!(refused, Err(AddressError::Exhausted { bytes }));
    }
    let unknown = g.space.add_alloc(&g.order, 9, 1);
    assert_eq!(
        unknown,
        Err(AddressError::UnknownNode(UnknownNode { node: 9 }))
    );
    // None of these calls changed the address space.
    assert_eq!(g.space.reserved_bytes(), 0);
    assert_eq!(g.space.add_alloc(&g.order, node, 1), Ok(BASE));
}

#[test]
fn m16_addresses_go_in_steps_of_512_and_small_allocations_share_a_block() {
    let mut g = Graph::new();
    let offsets = [1, 512, 513, 1].map(|bytes| g.alloc(&[], bytes).1);
    assert_eq!(offsets, [0, 512, 1024, 2048]);
    assert_eq!(g.space.mapped_blocks().count(), 1);
}

#[test]
fn m16_the_smallest_range_that_fits_is_taken() {
    let mut g = Graph::new();
    let (a, large) = g.alloc(&[], 8 * MIB);
    let (b, _) = g.alloc(&[a], 512);
    let (c, small) = g.alloc(&[b], 4 * MIB);
    let (d, _) = g.alloc(&[c], 512);
    let e = g.free(&[d], large);
    let f = g.free(&[e], small);
    let (h, taken) = g.alloc(&[f], 3 * MIB);
    assert_eq!(taken, small);
    assert_eq!(g.alloc(&[h], 2 * MIB).1, large);
}

#[test]
fn m16_adjacent_ranges_are_joined_when_the_second_free_is_ordered_after_the_first() {
    let mut g = Graph::new();
    let (a, low) = g.alloc(&[], MIB);
    let (b, high) = g.alloc(&[a], MIB);
    let first = g.free(&[b], low);
    let second = g.free(&[first], high);
    assert_eq!(g.alloc(&[second], 2 * MIB).1, low);
}

#[test]
fn m16_adjacent_ranges_freed_on_two_branches_are_not_joined_after_the_branches_join() {
    let mut g = Graph::new();
    let (a, low) = g.alloc(&[], MIB);
    let (b, high) = g.alloc(&[a], MIB);
    let left = g.free(&[b], low);
    let right = g.free(&[b], high);
    let meet = g.kernel(&[left, right]);
    assert_eq!(g.alloc(&[meet], 2 * MIB).1, 2 * MIB);
}

#[test]
fn m16_a_joined_range_cannot_be_used_by_nodes_ordered_only_after_the_older_free() {
    let mut g = Graph::new();
    let (a, low) = g.alloc(&[], MIB);
    let (b, high) = g.alloc(&[a], MIB);
    let older = g.free(&[b], low);
    let newer = g.free(&[older], high);
    assert_eq!(g.alloc(&[older], MIB).1, 2 * MIB);
    assert_eq!(g.alloc(&[newer], MIB).1, low);
}

#[test]
fn m16_of_two_equally_long_chains_the_best_fit_at_the_higher_address_is_used() {
    for small_first in [true, false] {
        let mut g = Graph::new();
        let sizes = if small_first { [1, 4] } else { [4, 1] };
        let (a, low) = g.alloc(&[], sizes[0] * MIB);
        let (b, _) = g.alloc(&[a], 512);
        let (c, high) = g.alloc(&[b], sizes[1] * MIB);
        let older = g.free(&[c], low);
        let newer = g.free(&[c], high);
        for listed in [[older, newer], [newer, older]] {
            assert_eq!(g.alloc(&listed, MIB / 4).1 / MIB, high / MIB);
        }
    }
}

#[test]
fn m16_of_a_long_and_a_short_chain_the_best_fit_of_the_long_one_is_used() {
    let mut g = Graph::new();
    let (a, low) = g.alloc(&[], 4 * MIB);
    let (b, _) = g.alloc(&[a], 512);
    let (c, middle) = g.alloc(&[b], 8 * MIB);
    let (d, _) = g.alloc(&[c], 512);
    let (e, high) = g.alloc(&[d], MIB);
    let first = g.free(&[e], middle);
    let second = g.free(&[first], low);
    let alone = g.free(&[e], high);
    assert_eq!(g.alloc(&[second, alone], MIB / 4).1, low);
}

#[test]
fn m16_only_one_chain_of_free_nodes_joins_its_ranges() {
    let mut g = Graph::new();
    let (a, low) = g.alloc(&[], MIB);
    let (b, middle) = g.alloc(&[a], MIB);
    let (c, high) = g.alloc(&[b], MIB);
    let first = g.free(&[c], low);
    // This node starts a second chain, because it is not ordered after the end of the
    // first one. The third free node comes after both ends and is added to the older
    // chain.
    let second = g.free(&[c], high);
    let third = g.free(&[second, first], middle);
    assert_eq!(g.alloc(&[third], 3 * MIB).1, 3 * MIB);
    assert_eq!(g.alloc(&[third], 2 * MIB).1, low);
    assert_eq!(g.alloc(&[third], MIB).1, high);
}

#[test]
fn m16_of_two_equally_long_chains_a_free_node_is_added_to_the_older_one() {
    // The free nodes of the recording random-shape-3-0009.
    let mut g = Graph::new();
    let (a, low) = g.alloc(&[], MIB);
    let first = g.free(&[a], low);
    let (b, next) = g.alloc(&[first], 2 * MIB);
    let (c, _) = g.alloc(&[first], MIB / 4);
    let one_chain = g.free(&[c, b], next);
    let (d, above) = g.alloc(&[a], MIB);
    let other_chain = g.free(&[first, d], above);
    let (e, cut) = g.alloc(&[one_chain], 512);
    let last = g.free(&[other_chain, e], cut);
    // Joined with the remainder of the older chain's range, which now belongs to the
    // last node. A node ordered after that chain's former end only gets new addresses.
    let (f, apart) = g.alloc(&[one_chain], MIB);
    assert_eq!(apart, above + MIB);
    assert_eq!(g.alloc(&[last, f], 2 * MIB + MIB / 2).1, cut);
}

#[test]
fn m16_of_two_chains_a_free_node_is_added_to_the_longer_one() {
    for longer_first in [true, false] {
        let mut g = Graph::new();
        let (a, low) = g.alloc(&[], MIB);
        let (b, middle) = g.alloc(&[a], MIB);
        let (c, high) = g.alloc(&[b], 2 * MIB);
        let (d, beyond) = g.alloc(&[c], MIB);
        let short = g.free(&[d], low);
        let long = g.free(&[d], high);
        let longer = g.free(&[long], beyond);
        let listed = match longer_first {
            true => [longer, short],
            false => [short, longer],
        };
        // This range is between the ranges of both chains, and is joined with that
        // of the longer chain.
        let last = g.free(&listed, middle);
        assert_eq!(g.alloc(&[last], 4 * MIB).1, middle);
        assert_eq!(g.alloc(&[short], MIB).1, low);
    }
}

#[test]
fn m16_new_addresses_start_where_the_last_ended_even_after_a_free_range() {
    let mut g = Graph::new();
    let (a, first) = g.alloc(&[], MIB);
    let free = g.free(&[a], first);
    assert_eq!(g.alloc(&[free], 2 * MIB).1, MIB);
}

#[test]
fn m16_reserved_grows_by_the_whole_size_although_unused_addresses_are_used_first() {
    let mut g = Graph::new();
    // 16 MiB of the first block are unused, so 32 MiB need only one more block.
    g.alloc(&[], 16 * MIB);
    g.alloc(&[], 32 * MIB);
    assert_eq!(
        (g.space.used_bytes(), g.space.reserved_bytes()),
        (64 * MIB, 64 * MIB)
    );
    // Again 16 MiB are unused. 33 MiB would need one more block, and two are reserved.
    g.alloc(&[], 33 * MIB);
    assert_eq!(
        (g.space.used_bytes(), g.space.reserved_bytes()),
        (96 * MIB, 128 * MIB)
    );
}

#[test]
fn r42_a_trim_keeps_the_blocks_of_unfreed_allocations() {
    let mut g = Graph::new();
    let (a, first) = g.alloc(&[], 64 * MIB);
    let (b, second) = g.alloc(&[a], 16 * MIB);
    g.free(&[b], first);
    let left: Vec<u64> = g.space.unfreed().map(|a| a.address - BASE).collect();
    assert_eq!(left, [second]);
    assert_eq!(g.space.unfreed_blocks().count(), 1);
    assert_eq!(g.space.mapped_blocks().count(), 3);
}

#[test]
fn a_chain_of_100_000_nodes_with_thousands_of_ranges_is_placed_quickly() {
    // Free ranges of 1 MiB are separated by live ones, and each allocation cuts a little
    // off one. A search through all ranges at each node would take minutes.
    let mut g = Graph::new();
    let mut last = g.kernel(&[]);
    let mut kept_apart = Vec::new();
    for _ in 0..10_000 {
        let (node, offset) = g.alloc(&[last], MIB);
        last = g.alloc(&[node], 512).0;
        kept_apart.push(offset);
    }
    for &offset in &kept_apart {
        last = g.free(&[last], offset);
    }
    let end = g.space.allocations().iter().map(|a| a.range().end).max();
    for _ in 0..70_000 {
        last = g.alloc(&[last], 1024).0;
    }
    assert_eq!(
        g.space.allocations().iter().map(|a| a.range().end).max(),
        end
    );
    assert_eq!(g.order.len(), 100_001);
    assert!(g.space.steps() < 4 * 100_001, "{}", g.space.steps());
}

#[test]
fn unordered_branches_share_no_range_and_each_reuses_its_own() {
    let mut g = Graph::new();
    let root = g.kernel(&[]);
    for branch in 0..20_000 {
        let (node, offset) = g.alloc(&[root], MIB);
        let free = g.free(&[node], offset);
        assert_eq!(offset, branch * MIB);
        assert_eq!(g.alloc(&[free], MIB / 2).1, offset);
    }
    assert!(g.space.steps() < 8 * 60_001, "{}", g.space.steps());
}

#[test]
fn branches_that_fork_and_join_for_50_000_nodes_use_only_the_first_range() {
    // The range of an unrelated branch is never found. Searching for it through all
    // earlier nodes, at each node, would take minutes.
    let mut g = Graph::new();
    let (root, offset) = g.alloc(&[], 1024 * MIB);
    let mut last = g.free(&[root], offset);
    let (unrelated, apart) = g.alloc(&[], 2048 * MIB);
    g.free(&[unrelated], apart);
    while g.order.len() < 50_000 {
        let allocated: Vec<(usize, u64)> = (0..4).map(|_| g.alloc(&[last], MIB)).collect();
        let branches: Vec<usize> = allocated
            .iter()
            .map(|&(node, offset)| g.free(&[node], offset))
            .collect();
        last = g.kernel(&branches);
    }
    assert_eq!(g.space.used_bytes(), 3072 * MIB);
    assert!(g.space.steps() < 16 * 50_000, "{}", g.space.steps());
}

#[test]
fn thousands_of_ranges_on_every_branch_are_not_searched_one_by_one() {
    // Each allocation cuts a little off, so that every branch leaves thousands of
    // ranges. Of the branch that ran last, the newest range is never reached.
    let mut g = Graph::new();
    let mut last = g.kernel(&[]);
    for round in 0..4_000 {
        let branches: Vec<usize> = (0..4)
            .map(|branch| {
                let (node, offset) = g.alloc(&[last], MIB - 512 * ((round + branch) % 7));
                g.free(&[node], offset)
            })
            .collect();
        last = g.kernel(&branches);
    }
    assert!(g.space.steps() < 64 * 36_000, "{}", g.space.steps());
}

#[test]
fn granularity_refuses_blocks_that_are_not_multiples_of_the_step() {
    assert_eq!(Granularity::new(512, 32 * MIB), Some(Granularity::H200));
    for (step, block) in [(0, 1), (1, 0), (512, 768)] {
        assert_eq!(Granularity::new(step, block), None);
    }
}
