//! Polynomials over sizes: the normal form of expressions.
//!
//! Invariant: terms are in descending order of their monomials, none twice, no coefficient is zero;
//! so equal polynomials are the same.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// What a polynomial is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A symbol of the caller's, by its number.
    Symbol(u32),
    /// A quotient, rounded down, by its number in the table.
    Quotient(u32),
}

/// Atoms and their powers, atoms in ascending order.
pub(super) type Mono = SmallVec<[(Atom, u32); 3]>;

/// A product of atoms with a factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// the factor
    pub factor: i64,
    /// atoms and their powers; none for a number
    pub atoms: Mono,
}

/// Polynomials of more terms are not computed with.
const MAX_TERMS: usize = 32;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Poly {
    pub terms: Vec<Term>,
}

fn degree(m: &Mono) -> u32 {
    m.iter().map(|(_, power)| power).sum()
}

/// By degree, then by the powers of the atoms in order: products keep this order.
fn order(a: &Mono, b: &Mono) -> Ordering {
    let by_degree = degree(a).cmp(&degree(b));
    let by_powers = || {
        for (x, y) in a.iter().zip(b) {
            match x.0.cmp(&y.0) {
                Ordering::Equal if x.1 == y.1 => {}
                Ordering::Equal => return x.1.cmp(&y.1),
                // The smaller atom counts first, and the other has none of it.
                earlier => return earlier.reverse(),
            }
        }
        a.len().cmp(&b.len())
    };
    by_degree.then_with(by_powers)
}

fn product(a: &Mono, b: &Mono) -> Mono {
    let mut out = a.clone();
    for &(atom, power) in b {
        match out.binary_search_by_key(&atom, |p| p.0) {
            Ok(at) => out[at].1 += power,
            Err(at) => out.insert(at, (atom, power)),
        }
    }
    out
}

fn quotient(a: &Mono, b: &Mono) -> Option<Mono> {
    let mut out = a.clone();
    for &(atom, power) in b {
        let at = out.binary_search_by_key(&atom, |p| p.0).ok()?;
        match out[at].1.checked_sub(power)? {
            0 => drop(out.remove(at)),
            rest => out[at].1 = rest,
        }
    }
    Some(out)
}

impl Poly {
    pub fn number(n: i64) -> Poly {
        let term = Term {
            factor: n,
            atoms: Mono::new(),
        };
        Poly {
            terms: if n == 0 { Vec::new() } else { vec![term] },
        }
    }

    pub fn atom(atom: Atom) -> Poly {
        let atoms = [(atom, 1)].into_iter().collect();
        Poly {
            terms: vec![Term { factor: 1, atoms }],
        }
    }

    pub fn as_number(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [term] if term.atoms.is_empty() => Some(term.factor),
            _ => None,
        }
    }

    /// The atom, its factor and the number beside it, where it is made of one atom.
    pub fn of_one(&self) -> Option<(Atom, i64, i64)> {
        let (term, rest) = match &self.terms[..] {
            [term] => (term, 0),
            [term, number] if number.atoms.is_empty() => (term, number.factor),
            _ => return None,
        };
        match term.atoms[..] {
            [(atom, 1)] => Some((atom, term.factor, rest)),
            _ => None,
        }
    }

    /// The atom, where it is nothing but one.
    pub fn as_atom(&self) -> Option<Atom> {
        match &self.terms[..] {
            [Term { factor: 1, atoms }] => match atoms[..] {
                [(atom, 1)] => Some(atom),
                _ => None,
            },
            _ => None,
        }
    }

    fn insert(&mut self, term: Term) -> Option<()> {
        let at = self
            .terms
            .binary_search_by(|t| order(&term.atoms, &t.atoms));
        match at {
            Ok(at) => {
                let factor = self.terms[at].factor.checked_add(term.factor)?;
                match factor {
                    0 => drop(self.terms.remove(at)),
                    factor => self.terms[at].factor = factor,
                }
            }
            Err(at) => self.terms.insert(at, term),
        }
        (self.terms.len() <= MAX_TERMS).then_some(())
    }

    /// `self + other * times`; `None` where numbers or the whole get too large.
    pub fn add(&self, other: &Poly, times: i64) -> Option<Poly> {
        let mut out = self.clone();
        for term in &other.terms {
            out.insert(Term {
                factor: term.factor.checked_mul(times)?,
                atoms: term.atoms.clone(),
            })?;
        }
        Some(out)
    }

    /// The product; `None` where numbers or the whole get too large.
    pub fn multiply(&self, other: &Poly) -> Option<Poly> {
        let mut out = Poly::default();
        for a in &self.terms {
            for b in &other.terms {
                out.insert(Term {
                    factor: a.factor.checked_mul(b.factor)?,
                    atoms: product(&a.atoms, &b.atoms),
                })?;
            }
        }
        Some(out)
    }

    /// What times `other` is this, where there is such a polynomial of whole numbers.
    pub fn divide(&self, other: &Poly) -> Option<Poly> {
        let lead = other.terms.first()?;
        let mut rest = self.clone();
        let mut out = Poly::default();
        while let Some(top) = rest.terms.first() {
            let atoms = quotient(&top.atoms, &lead.atoms)?;
            if top.factor.checked_rem(lead.factor)? != 0 {
                return None;
            }
            let factor = top.factor.checked_div(lead.factor)?;
            let step = Poly {
                terms: vec![Term { factor, atoms }],
            };
            rest = rest.add(&step.multiply(other)?, -1)?;
            out = out.add(&step, 1)?;
        }
        Some(out)
    }

    /// What the greatest atom is where this is 0; `None` where that is no sum of the others.
    pub fn solved_for_last(&self) -> Option<(Atom, Poly)> {
        let atoms = self.terms.iter().flat_map(|term| &term.atoms);
        let last = atoms.map(|(atom, _)| *atom).max()?;
        let mut with = self.terms.iter().filter(|term| {
            let mut atoms = term.atoms.iter();
            atoms.any(|(atom, _)| *atom == last)
        });
        let (one, None) = (with.next()?, with.next()) else {
            return None;
        };
        let alone = one.atoms.len() == 1 && one.atoms[0].1 == 1 && one.factor.abs() == 1;
        let of_last = Poly {
            terms: vec![one.clone()],
        };
        let rest = self.add(&of_last, -1).filter(|_| alone)?;
        Some((last, Poly::default().add(&rest, -one.factor)?))
    }

    /// With a polynomial in place of an atom; `None` where the whole gets too large.
    pub fn replace(&self, atom: Atom, by: &Poly) -> Option<Poly> {
        let mut out = Poly::default();
        for term in &self.terms {
            let mut rest = term.clone();
            let mut part = Poly::number(1);
            if let Ok(at) = rest.atoms.binary_search_by_key(&atom, |p| p.0) {
                let (_, power) = rest.atoms.remove(at);
                for _ in 0..power {
                    part = part.multiply(by)?;
                }
            }
            part = part.multiply(&Poly { terms: vec![rest] })?;
            out = out.add(&part, 1)?;
        }
        Some(out)
    }

    /// The atoms that all terms share, and the polynomial without them.
    pub fn factored(&self) -> (Mono, Poly) {
        let mut shared = match self.terms.first() {
            Some(term) => term.atoms.clone(),
            None => return (Mono::new(), Poly::default()),
        };
        for term in &self.terms[1..] {
            shared.retain(
                |(atom, power)| match term.atoms.binary_search_by_key(atom, |p| p.0) {
                    Ok(at) => {
                        *power = (*power).min(term.atoms[at].1);
                        true
                    }
                    Err(_) => false,
                },
            );
        }
        let divided = self.terms.iter().map(|term| Term {
            factor: term.factor,
            atoms: quotient(&term.atoms, &shared).unwrap_or_default(),
        });
        let rest = Poly {
            terms: divided.collect(),
        };
        (shared, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(n: u32) -> Poly {
        Poly::atom(Atom::Symbol(n))
    }

    fn plus(a: &Poly, b: i64) -> Poly {
        a.add(&Poly::number(b), 1).unwrap()
    }

    #[test]
    fn equal_expressions_have_one_form() {
        let (a, b) = (s(0), s(1));
        let left = plus(&a, 1).multiply(&plus(&b, 2)).unwrap();
        let right = plus(&b, 2).multiply(&plus(&a, 1)).unwrap();
        assert_eq!(left, right);
        assert_eq!(left.terms.len(), 4);
        assert_eq!(left.add(&right, -1).unwrap(), Poly::default());
    }

    #[test]
    fn division_is_exact_or_none() {
        let (a, b) = (s(0), s(1));
        let one_more = plus(&a, 1);
        let all = one_more
            .multiply(&b)
            .unwrap()
            .multiply(&Poly::number(64))
            .unwrap();
        assert_eq!(
            all.divide(&b.multiply(&one_more).unwrap()),
            Some(Poly::number(64))
        );
        assert_eq!(
            all.divide(&Poly::number(16)),
            b.multiply(&one_more).unwrap().multiply(&Poly::number(4))
        );
        assert_eq!(all.divide(&Poly::number(48)), None);
        assert_eq!(all.divide(&plus(&a, 2)), None);
        assert_eq!(Poly::default().divide(&a), Some(Poly::default()));
        assert_eq!(a.divide(&Poly::default()), None);
    }

    #[test]
    fn shared_atoms_are_taken_out() {
        let (a, b) = (s(0), s(1));
        let difference = a.multiply(&b).unwrap().add(&b, -1).unwrap();
        let (shared, rest) = difference.factored();
        assert_eq!(shared[..], [(Atom::Symbol(1), 1)]);
        assert_eq!(rest, plus(&a, -1));
    }

    #[test]
    fn replacing_an_atom() {
        let square = s(0).multiply(&s(0)).unwrap().add(&s(1), 1).unwrap();
        let by = plus(&s(1), 1);
        let expected = by.multiply(&by).unwrap().add(&s(1), 1).unwrap();
        assert_eq!(square.replace(Atom::Symbol(0), &by), Some(expected));
    }
}
