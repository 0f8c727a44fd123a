//! Where the graph breaks instead, where residual code for a break at the present place cannot be written.
//!
//! Lives here: what residual code asks for ([`Retreat`]), and the ways back that answer it. Does not live here: when a
//! way back is remembered (`tx::WaysBack`), in which order they are taken (`Ladder` in `residual`).

use std::cmp::Ordering;

use guards::SourceId;

use crate::state::Snapshot;
use crate::tx::{Place, Tx, WaysBack};

/// Where a break is possible instead. Residual code asks for it with [`crate::Stop::Retreat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retreat {
    /// Where an exception was raised: a handler is at work on it, and it exists in the translation only.
    Raise,
    /// Where the first text of a tensor was made: tensors were written to since.
    Text,
    /// Where the first private object was made (see [`crate::private`]): it would be handed out.
    Private,
    /// The outermost call: an inlined function cannot be left in the middle (a generator, an unusual call).
    Outermost,
}

impl Retreat {
    /// For developers: the context of the break's reason.
    pub fn context(self) -> &'static str {
        match self {
            Retreat::Raise => "handler: break where the exception was raised",
            Retreat::Text => "text: break where it was made",
            Retreat::Private => "private: break where it was made",
            Retreat::Outermost => "nested: break at the outermost call",
        }
    }

    /// Whether users see the reason. Otherwise they see why translation stopped, which they were told already.
    pub fn has_own_reason(self) -> bool {
        matches!(self, Retreat::Text | Retreat::Private)
    }
}

/// Where a graph ends in front of the instruction that asks for it. A break inside of inlined functions leaves a piece of
/// each of them, which is a graph of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sooner {
    /// Where the number was read from a tensor that is needed now: it is known from there on. In the same function, where
    /// the graph would do nothing but read: plain Python does as well.
    Read(SourceId),
    /// Where the root frame got what it calls, or an argument of it, behind what leads to a handler. That runs no
    /// operation, so all of the call is in the next graph.
    Load,
}

/// A checkpoint that a translation can go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayBack {
    /// in front of what raised the last exception that was caught while none was handled
    LastCatch,
    /// in front of what raised the first exception that was caught
    FirstCatch,
    /// in front of what made the first text of a tensor
    FirstText,
    /// in front of what made the first private object
    FirstPrivate,
    /// in front of the root frame's call
    Outermost,
}

impl WaysBack {
    /// The checkpoint of a way back. Those that lie behind it are gone then.
    fn take(&mut self, way: WayBack) -> Option<Snapshot> {
        let place = match way {
            WayBack::Outermost => return self.outer.take(),
            WayBack::LastCatch => self.last_catch.take(),
            WayBack::FirstCatch => {
                self.last_catch = None;
                self.first_catch.take()
            }
            WayBack::FirstText => self.first_text.take(),
            WayBack::FirstPrivate => self.first_private.take(),
        }?;
        // The root frame may have made other calls since.
        self.outer = place.outer;
        Some(place.at)
    }

    /// The place of an earlier end of the graph: in front of [`WaysBack::here`] and further out. What lies behind it
    /// is gone then.
    pub(crate) fn take_sooner(&mut self, sooner: Sooner, only_reads: bool) -> Option<Snapshot> {
        let depth = self.here.as_ref()?.frame().depth;
        let place = match sooner {
            Sooner::Read(source) => self.reads.get(&source)?.clone(),
            Sooner::Load => {
                let at = self.load.clone()?;
                let outer = Some(at.clone());
                Place { at, outer }
            }
        };
        let leaves_nothing = |at: &Snapshot| {
            let is_read = matches!(sooner, Sooner::Read(_));
            is_read && only_reads && at.graph.has_only_placeholders()
        };
        let place = match place.at.frame().depth.cmp(&depth) {
            Ordering::Less => place,
            Ordering::Equal if leaves_nothing(&place.at) => place,
            // The function that has read it, plain Python calls.
            Ordering::Greater if depth == 0 => {
                let at = place.outer.filter(leaves_nothing)?;
                let outer = Some(at.clone());
                Place { at, outer }
            }
            _ => return None,
        };
        let reached = place.at.instructions;
        let ways = [
            &mut self.first_catch,
            &mut self.last_catch,
            &mut self.first_text,
            &mut self.first_private,
        ];
        for way in ways {
            way.take_if(|way| way.at.instructions > reached);
        }
        self.outer = place.outer;
        Some(place.at)
    }
}

impl Tx<'_> {
    /// Goes back to a checkpoint: the instruction there then runs in eager mode. `false` where there is none.
    pub fn retreat(&mut self, way: WayBack) -> bool {
        let Some(checkpoint) = self.ways.take(way) else {
            return false;
        };
        // The outermost call is that of the root frame, which is not in one itself.
        if way == WayBack::Outermost && self.st.frame.depth == 0 {
            return false;
        }
        self.go_back(&checkpoint);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Retreat; 4] = [
        Retreat::Raise,
        Retreat::Text,
        Retreat::Private,
        Retreat::Outermost,
    ];

    #[test]
    fn reasons_that_users_see() {
        let own: Vec<_> = ALL.into_iter().filter(|r| r.has_own_reason()).collect();
        assert_eq!(own, [Retreat::Text, Retreat::Private]);
    }

    #[test]
    fn without_checkpoints_there_is_no_way_back() {
        let mut none = WaysBack::default();
        for way in [
            WayBack::LastCatch,
            WayBack::FirstCatch,
            WayBack::FirstText,
            WayBack::FirstPrivate,
            WayBack::Outermost,
        ] {
            assert!(none.take(way).is_none());
        }
    }
}
