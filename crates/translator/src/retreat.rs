//! Where the graph breaks instead, where residual code for a break at the present place cannot be written.
//!
//! Lives here: what residual code asks for ([`Retreat`]), the ways back that answer it, and their order
//! ([`Ladder`]). Does not live here: when a way back is remembered (`tx::WaysBack`), the loop that takes one
//! after the other (`frame-hook`).

use crate::state::Snapshot;
use crate::tx::{Tx, WaysBack};

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

/// The ways back in the order in which they are taken. Where the last exception that was caught is not the one
/// that is needed, the first is early enough.
const RUNGS: [(Retreat, WayBack); 5] = [
    (Retreat::Raise, WayBack::LastCatch),
    (Retreat::Raise, WayBack::FirstCatch),
    (Retreat::Text, WayBack::FirstText),
    (Retreat::Private, WayBack::FirstPrivate),
    (Retreat::Outermost, WayBack::Outermost),
];

/// The ways back that one translation has left. Each is taken once and none in front of one that was taken, so a
/// loop that asks for the next one ends.
pub struct Ladder {
    left: std::slice::Iter<'static, (Retreat, WayBack)>,
}

impl Default for Ladder {
    fn default() -> Ladder {
        Ladder { left: RUNGS.iter() }
    }
}

impl Ladder {
    /// How many ways back one translation takes at most.
    pub const LONGEST: usize = RUNGS.len();

    /// The next way back that answers `retreat`. `None` where none is left.
    pub fn next(&mut self, retreat: Retreat) -> Option<WayBack> {
        let (_, way) = self.left.find(|(answered, _)| *answered == retreat)?;
        Some(*way)
    }
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

    /// The ways back that answer these requests, up to the first that none answers.
    fn ways(retreats: &[Retreat]) -> Vec<WayBack> {
        let mut ladder = Ladder::default();
        retreats.iter().map_while(|r| ladder.next(*r)).collect()
    }

    #[test]
    fn each_retreat_has_a_way_back() {
        assert_eq!(ways(&[Retreat::Text]), [WayBack::FirstText]);
        assert_eq!(ways(&[Retreat::Private]), [WayBack::FirstPrivate]);
        assert_eq!(ways(&[Retreat::Outermost]), [WayBack::Outermost]);
        assert_eq!(
            ways(&[Retreat::Raise; 3]),
            [WayBack::LastCatch, WayBack::FirstCatch]
        );
    }

    #[test]
    fn ways_back_are_taken_in_their_order() {
        let order = [
            Retreat::Raise,
            Retreat::Raise,
            Retreat::Text,
            Retreat::Private,
            Retreat::Outermost,
        ];
        assert_eq!(ways(&order), RUNGS.map(|(_, way)| way));
        assert_eq!(ways(&[Retreat::Text, Retreat::Raise]), [WayBack::FirstText]);
        assert_eq!(
            ways(&[Retreat::Outermost, Retreat::Outermost]),
            [WayBack::Outermost]
        );
    }

    #[test]
    fn the_ladder_ends_whatever_is_asked_for() {
        // All sequences that are one longer than the ladder.
        let length = Ladder::LONGEST + 1;
        for number in 0..ALL.len().pow(length as u32) {
            let digit = |i: usize| number / ALL.len().pow(i as u32) % ALL.len();
            let asked: Vec<_> = (0..length).map(|i| ALL[digit(i)]).collect();
            let taken = ways(&asked);
            assert!(taken.len() <= Ladder::LONGEST, "{asked:?}");
            let mut ladder = Ladder::default();
            for retreat in &asked {
                if ladder.next(*retreat).is_none() {
                    break;
                }
            }
            // What was refused once stays refused.
            let refused = asked.get(taken.len()).copied();
            assert_eq!(refused.and_then(|r| ladder.next(r)), None, "{asked:?}");
        }
    }

    #[test]
    fn reasons_that_users_see() {
        let own: Vec<_> = ALL.into_iter().filter(|r| r.has_own_reason()).collect();
        assert_eq!(own, [Retreat::Text, Retreat::Private]);
    }

    #[test]
    fn without_checkpoints_there_is_no_way_back() {
        let mut none = WaysBack::default();
        for (_, way) in RUNGS {
            assert!(none.take(way).is_none());
        }
    }
}
