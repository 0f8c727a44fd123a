//! Guard sets: guards deduped, ordered and merged into a tree by source.
//!
//! What lives here: building, and the two-way view of the result (a list in checking order, a tree by source).
//! Compilation is in [`crate::program`], printing in [`crate::tree`] and [`crate::text`].
//!
//! Invariants: no guard occurs twice; every source that a guard needs is reachable from its root; the order is a
//! function of the guards alone, not of the order in which they were added, except among guards of one source and
//! one rank, which keep the order of their first addition.

use rustc_hash::FxHashSet;

use crate::guard::{Guard, GuardKind};
use crate::plan;
use crate::source::{Source, SourceId, SourceTable};

/// Addresses of the builtin types that constants have, for the text of type checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstTypes {
    /// `id(bool)`.
    pub bool_: usize,
    /// `id(int)`.
    pub int: usize,
    /// `id(float)`.
    pub float: usize,
    /// `id(complex)`.
    pub complex: usize,
    /// `id(str)`.
    pub str_: usize,
    /// `id(bytes)`.
    pub bytes: usize,
    /// `id(tuple)`.
    pub tuple: usize,
    /// `id(torch.Size)`.
    pub size: usize,
    /// `id(torch.device)`.
    pub device: usize,
}

/// A source in the tree of a set, with its guards and what hangs on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Guards of this source, as indices into [`GuardSet::guards`], in checking order.
    pub guards: Vec<u32>,
    /// Sources that read from this one, in checking order.
    pub children: Vec<SourceId>,
}

/// A set of guards that hold or fail together.
#[derive(Clone, Debug)]
pub struct GuardSet {
    sources: SourceTable,
    guards: Vec<Guard>,
    ambient: Vec<u32>,
    relational: Vec<u32>,
    roots: Vec<SourceId>,
    nodes: Vec<Node>,
    const_types: ConstTypes,
}

impl GuardSet {
    /// Builds the set of these guards, whose sources are in `sources`.
    pub fn new(
        sources: SourceTable,
        guards: impl IntoIterator<Item = Guard>,
        const_types: ConstTypes,
    ) -> Self {
        let mut guards: Vec<Guard> = guards.into_iter().collect();
        let split = plan::is_split(guards.len());
        let mut nodes = vec![Node::default(); sources.len()];
        let (mut ambient, mut relational) = (Vec::new(), Vec::new());
        for (i, guard) in guards.iter().enumerate() {
            match guard.source {
                _ if guard.kind.is_relational() => relational.push(i as u32),
                Some(source) => nodes[source.index()].guards.push(i as u32),
                None => ambient.push(i as u32),
            }
        }
        let tidy = |list: &mut Vec<u32>| {
            drop_repeated(list, &guards);
            list.sort_by_key(|&g| guards[g as usize].kind.rank());
        };
        tidy(&mut ambient);
        tidy(&mut relational);
        plan::for_each(&mut nodes, split, |node| tidy(&mut node.guards));
        compact(&mut guards, &mut nodes, &mut ambient, &mut relational);
        let mut needed = vec![false; sources.len()];
        let mut mark = |mut id: SourceId| {
            while !std::mem::replace(&mut needed[id.index()], true) {
                match sources.get(id).base() {
                    Some(base) => id = base,
                    None => break,
                }
            }
        };
        for guard in &guards {
            guard
                .source
                .into_iter()
                .chain(guard.kind.other_sources().iter().copied())
                .for_each(&mut mark);
        }
        let mut roots = Vec::new();
        for (id, source) in sources.iter() {
            if needed[id.index()] {
                match source.base() {
                    Some(base) => nodes[base.index()].children.push(id),
                    None => roots.push(id),
                }
            }
        }
        let mut set = Self {
            sources,
            guards,
            ambient,
            relational,
            roots,
            nodes,
            const_types,
        };
        set.order(split);
        set
    }

    /// Puts subtrees that are cheap and likely to fail first: the frame's own variables before pinned objects
    /// and globals, and within a level the smallest subtree first (inputs before models).
    fn order(&mut self, split: bool) {
        let mut size = vec![0usize; self.nodes.len()];
        for id in (0..self.nodes.len()).rev() {
            let below: usize = self.nodes[id]
                .children
                .iter()
                .map(|c| size[c.index()])
                .sum();
            size[id] = self.nodes[id].guards.len() + below;
        }
        let sources = &self.sources;
        let key = |id: &SourceId| {
            let place = match sources.get(*id) {
                Source::Local { .. } => 0u8,
                Source::Closure { .. } | Source::Cells => 1,
                Source::Pinned { .. } | Source::WeakPinned { .. } => 2,
                Source::Globals => 3,
                Source::Global { .. } => 4,
                Source::GlobalsOf { .. } => 5,
                Source::Builtin { .. } => 6,
                _ => 0,
            };
            (place, size[id.index()], *id)
        };
        self.roots.sort_by_key(key);
        plan::for_each(&mut self.nodes, split, |node| {
            node.children.sort_by_key(key)
        });
    }

    /// The sources.
    pub fn sources(&self) -> &SourceTable {
        &self.sources
    }

    /// All guards, in the order of their first addition.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// A guard by index.
    pub fn guard(&self, index: u32) -> &Guard {
        &self.guards[index as usize]
    }

    /// Guards about torch's state, in checking order.
    pub fn ambient(&self) -> &[u32] {
        &self.ambient
    }

    /// Guards about several sources, which are checked when all are loaded.
    pub fn relational(&self) -> &[u32] {
        &self.relational
    }

    /// Roots of the tree, in checking order.
    pub fn roots(&self) -> &[SourceId] {
        &self.roots
    }

    /// The tree node of a source.
    pub fn node(&self, id: SourceId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Addresses of builtin types, for text.
    pub fn const_types(&self) -> &ConstTypes {
        &self.const_types
    }

    /// All guard indices in checking order: torch's state, then the tree, then the relations.
    pub fn checking_order(&self) -> Vec<u32> {
        let mut order = self.ambient.clone();
        let mut stack: Vec<SourceId> = self.roots.iter().rev().copied().collect();
        while let Some(id) = stack.pop() {
            let node = self.node(id);
            order.extend(&node.guards);
            stack.extend(node.children.iter().rev());
        }
        order.extend(&self.relational);
        order
    }
}

/// Leaves the first of equal guards in a list.
fn drop_repeated(list: &mut Vec<u32>, guards: &[Guard]) {
    /// Up to so many are compared with each other.
    const FEW: usize = 16;
    let said = |g: u32| {
        let guard = &guards[g as usize];
        (guard.source, &guard.kind)
    };
    if list.len() > FEW {
        let mut seen: FxHashSet<(Option<SourceId>, &GuardKind)> = FxHashSet::default();
        list.retain(|&g| seen.insert(said(g)));
        return;
    }
    let mut kept = 0;
    for at in 0..list.len() {
        let guard = list[at];
        if list[..kept].iter().all(|&known| said(known) != said(guard)) {
            list[kept] = guard;
            kept += 1;
        }
    }
    list.truncate(kept);
}

/// Drops the guards that are in no list, and numbers the others anew.
fn compact(
    guards: &mut Vec<Guard>,
    nodes: &mut [Node],
    ambient: &mut [u32],
    relational: &mut [u32],
) {
    let lists = nodes.iter().map(|node| node.guards.len());
    if lists.sum::<usize>() + ambient.len() + relational.len() == guards.len() {
        return;
    }
    /// Of a guard that is dropped.
    const GONE: u32 = u32::MAX;
    let mut numbers = vec![GONE; guards.len()];
    let lists = nodes.iter().map(|node| &node.guards[..]);
    for &guard in lists.chain([&*ambient, &*relational]).flatten() {
        numbers[guard as usize] = 0;
    }
    let kept = numbers.iter_mut().filter(|number| **number != GONE);
    for (next, number) in (0..).zip(kept) {
        *number = next;
    }
    let mut at = numbers.iter();
    guards.retain(|_| at.next() != Some(&GONE));
    let lists = nodes.iter_mut().map(|node| &mut node.guards[..]);
    for guard in lists.chain([ambient, relational]).flatten() {
        *guard = numbers[*guard as usize];
    }
}
