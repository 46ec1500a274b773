//! The free nodes of one graph, sorted into lines.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::few::Few;
use super::order::{Order, Place, Reach};

/// Free nodes in lines. A free node goes on with a line whose last node it is
/// ordered after, and otherwise starts one. Only ranges that one line gave up are
/// joined.
///
/// Where a free node could go on with several lines, it goes on with the one that it
/// heard of first. A node hears of lines from its dependencies as they are listed:
/// of those that the first one knew, in the same order, then of those that the
/// second one knew besides, and so on. A line that starts at a free node comes after
/// all that the node had heard of.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// In the order in which they were started, which is that of their first nodes.
    lines: Vec<Line>,
    /// The last nodes of the lines.
    last: Few<usize, ()>,
    /// The line of each last node, by chain of the order and by the position there.
    last_on_chain: Few<usize, Few<usize, usize>>,
    /// Made when a free node first has a choice, which in a captured stream never
    /// happens.
    heard: Option<Box<Heard>>,
    /// What sorting has cost so far.
    steps: u64,
}

/// A line: its first and its last free node, and how many it has.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: usize,
    last: usize,
    length: usize,
}

impl Lines {
    /// Sorts the free node `node`, which lies at `place`, into a line, and returns which.
    pub(super) fn add(&mut self, order: &Order, node: usize, place: Place) -> usize {
        let number = match self.line_to_go_on_with(order, node) {
            Some(line) => line,
            None => {
                if self.lines.is_empty() {
                    self.lines.reserve_exact(1);
                }
                self.lines.push(Line {
                    first: node,
                    last: node,
                    length: 0,
                });
                self.lines.len() - 1
            }
        };
        if let Some(line) = self.lines.get_mut(number) {
            self.last.remove(&line.last);
            if let Some(at) = order.place(line.last)
                && let Some(on_chain) = self.last_on_chain.get_mut(&at.chain)
            {
                on_chain.remove(&at.position);
                if on_chain.is_empty() {
                    self.last_on_chain.remove(&at.chain);
                }
            }
            line.last = node;
            line.length += 1;
        }
        self.last.insert(node, ());
        if let Some(on_chain) = self.last_on_chain.or_default(place.chain) {
            on_chain.insert(place.position, number);
        }
        number
    }

    /// What sorting has cost so far, in places looked at.
    pub(super) fn steps(&self) -> u64 {
        self.steps + self.heard.as_ref().map_or(0, |heard| heard.steps)
    }

    /// How many free nodes a line has.
    pub(super) fn length(&self, line: usize) -> usize {
        self.lines.get(line).map_or(0, |line| line.length)
    }

    fn line_to_go_on_with(&mut self, order: &Order, node: usize) -> Option<usize> {
        let ended = self.ended_before(order, node);
        if ended.len() < 2 {
            return ended.first().copied();
        }
        let mut heard = self.heard.take().unwrap_or_else(|| {
            let first = self.lines.first().map_or(0, |line| line.first);
            Box::new(Heard {
                first,
                ..Heard::default()
            })
        });
        let starts = |node: usize| {
            self.lines
                .binary_search_by_key(&node, |line| line.first)
                .ok()
        };
        let first = heard.first_of(order, starts, node, &ended);
        self.heard = Some(heard);
        // Of a line that came by a dependency added later the node may not have heard.
        first.or_else(|| ended.last().copied())
    }

    /// The lines whose last node `node` is ordered after.
    fn ended_before(&mut self, order: &Order, node: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let Some(oldest) = self.last.first() else {
            return found;
        };
        let mut reach = Reach::new(order, oldest);
        for &dependency in order.dependencies_as_listed(node) {
            let walk = reach.extend(dependency, |chain, positions| {
                if let Some(on_chain) = self.last_on_chain.get(&chain) {
                    let last = on_chain.range(positions);
                    found.extend(last.map(|(_, &line)| line));
                }
                if found.len() == self.last.len() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if walk.is_break() {
                break;
            }
        }
        self.steps += reach.steps;
        found
    }
}

/// Which lines each node has heard of, in which order.
///
/// Most nodes know just what a dependency knew, so lists share their beginnings.
#[derive(Clone, Debug, Default)]
struct Heard {
    /// The first node that starts a line. None before it has heard of any.
    first: usize,
    /// The list of each node looked at so far, from that one on: its last entry, counted
    /// from 1.
    list_of: Vec<usize>,
    entries: Vec<Entry>,
    /// The entry that goes on from another with a line, so that equal lists are one.
    next: Few<(usize, usize), usize>,
    /// How many entries were looked at so far.
    steps: u64,
}

/// A line, and the list that it stands at the end of.
#[derive(Clone, Copy, Debug)]
struct Entry {
    before: usize,
    line: usize,
}

impl Heard {
    /// The first of `lines` that `node` has heard of, where `starts` says which line
    /// a node starts.
    fn first_of(
        &mut self,
        order: &Order,
        starts: impl Fn(usize) -> Option<usize>,
        node: usize,
        lines: &BTreeSet<usize>,
    ) -> Option<usize> {
        while self.first + self.list_of.len() < node {
            let known = self.first + self.list_of.len();
            self.steps += 1;
            let mut list = self.by_dependencies(order, known);
            if let Some(line) = starts(known) {
                list = self.extended(list, line);
            }
            self.list_of.push(list);
        }
        let list = self.by_dependencies(order, node);
        let mut steps = 0;
        let first = self
            .back_from(list)
            .inspect(|_| steps += 1)
            .filter(|line| lines.contains(line))
            .last();
        self.steps += steps;
        first
    }

    /// What the dependencies of `node` have heard of together.
    fn by_dependencies(&mut self, order: &Order, node: usize) -> usize {
        let mut all = 0;
        for dependency in order.dependencies_as_listed(node) {
            let at = dependency.checked_sub(self.first);
            let list = at.and_then(|at| self.list_of.get(at)).copied().unwrap_or(0);
            if all == 0 || all == list {
                all = list;
            } else if list != 0 {
                let known: BTreeSet<usize> = self.back_from(all).collect();
                let mut new: Vec<usize> = self.back_from(list).collect();
                self.steps += (known.len() + new.len()) as u64;
                new.retain(|line| !known.contains(line));
                for line in new.into_iter().rev() {
                    all = self.extended(all, line);
                }
            }
        }
        all
    }

    fn extended(&mut self, before: usize, line: usize) -> usize {
        if let Some(&list) = self.next.get(&(before, line)) {
            return list;
        }
        self.entries.push(Entry { before, line });
        self.next.insert((before, line), self.entries.len());
        self.entries.len()
    }

    fn back_from(&self, list: usize) -> impl Iterator<Item = usize> {
        let entry = |list: usize| self.entries.get(list.checked_sub(1)?);
        std::iter::successors(entry(list), move |at| entry(at.before)).map(|entry| entry.line)
    }
}
