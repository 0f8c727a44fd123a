//! The order in which ways back are taken, where residual code cannot be written at the present place.
//!
//! Lives here: which way back answers what residual code asks for, and that each is taken once. Does not live here:
//! how the translation goes back (`translator::retreat`), the loop (the pipeline).

use translator::retreat::{Retreat, WayBack};

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
}
