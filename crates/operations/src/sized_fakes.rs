//! Sizes of fake tensors as symbols of torch, and back.
//!
//! What torch decides by such symbols is known afterwards ([`SizedFakes::facts`]).

use std::cell::RefCell;

use guards::{IntExpr, SourceId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tensor_meta::{Compare, Fact, SymInt};
use torch_abi::size_symbols::{GivenSize, SizeFact, SizeSymbols, SizeTree};
use variables::Obj;

use crate::args::MetaArg;
use crate::sizes::Sizes;

/// Symbols of torch for the sizes of one operation's arguments, or of all those whose fakes are kept.
pub struct SizedFakes {
    symbols: RefCell<SizeSymbols>,
    /// what each symbol stands for, and the number that it is for torch
    leaves: RefCell<Vec<(IntExpr, Obj)>>,
    sizes: RefCell<Sizes>,
    /// what quotients and choices among them rely on
    signs: RefCell<Vec<Fact>>,
    /// sources for numbers that the graph gives: which of the leaves there are such numbers already
    unknown: Unknown,
    /// the most that each of the new ones in use is, where that is known
    made: RefCell<Vec<Option<i64>>>,
    /// stands for the sizes of rows that differ in length; nothing is decided by it
    ragged: SourceId,
    /// floats that are no constants are numbers of which torch knows nothing
    takes_floats: bool,
}

/// Numbers that the graph gives and whose values are not known.
#[derive(Default)]
pub struct Unknown {
    /// those that it gives already
    pub given: Vec<(IntExpr, bool)>,
    /// for sizes that an operation gives
    pub new: Vec<SourceId>,
}

/// What sizes that are not known count as while tracing: nothing is decided by it, and no two are taken for equal.
pub const HINTS: i64 = 7919;

fn not_understood() -> PyErr {
    PyValueError::new_err("a size that is no expression of others")
}

impl SizedFakes {
    /// Symbols of a mode; `ragged` stands for the sizes of rows that differ in length.
    pub fn new(symbols: SizeSymbols, ragged: SourceId) -> Self {
        SizedFakes {
            symbols: RefCell::new(symbols),
            leaves: RefCell::default(),
            sizes: RefCell::default(),
            signs: RefCell::default(),
            unknown: Unknown::default(),
            made: RefCell::default(),
            ragged,
            takes_floats: false,
        }
    }

    /// The same for floats that are no constants as well: an operation that decides by one fails.
    pub fn with_floats(mut self, takes_floats: bool) -> Self {
        self.takes_floats = takes_floats;
        self
    }

    /// A float that is no constant.
    ///
    /// # Errors
    /// Where these are for none, and what torch raises.
    pub fn float<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.takes_floats {
            true => self.symbols.borrow().unknown_float(py),
            false => Err(not_understood()),
        }
    }

    /// The mode of the fakes.
    pub fn mode(&self, py: Python<'_>) -> Obj {
        self.symbols.borrow().mode().clone_ref(py)
    }

    /// A size as torch has it.
    ///
    /// # Errors
    /// For what is no expression of others, and what torch raises.
    pub fn number<'py>(&self, py: Python<'py>, n: SymInt) -> PyResult<Bound<'py, PyAny>> {
        let expr = self.sizes.borrow().expr(n).ok_or_else(not_understood)?;
        self.value(py, &expr)
    }

    /// The same with numbers that the graph gives, which are `unknown`.
    pub fn with_unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// Takes the symbols of a translation.
    pub fn take(&mut self, sizes: Sizes) {
        *self.sizes.get_mut() = sizes;
    }

    /// Gives them back.
    pub fn give_back(&mut self) -> Sizes {
        self.sizes.take()
    }

    /// The numbers among the new ones that are in use, and the most that each is, where that is known.
    pub fn new_numbers(&self) -> Vec<(SourceId, Option<i64>)> {
        let made = self.made.borrow();
        let new = self.unknown.new.iter().copied();
        new.zip(made.iter().copied()).collect()
    }

    /// The numbers that stand for the leaves for torch.
    pub fn leaves(&self) -> Vec<Obj> {
        let leaves = self.leaves.borrow();
        leaves.iter().map(|(_, number)| number.clone()).collect()
    }

    /// An expression as torch has it.
    ///
    /// # Errors
    /// As [`SizedFakes::number`].
    pub fn value<'py>(&self, py: Python<'py>, expr: &IntExpr) -> PyResult<Bound<'py, PyAny>> {
        let operator = |name: &str| py.import("_operator")?.getattr(name);
        // A symbol of the table is one for torch, too: the larger of two has no tree that could be read.
        let is_whole = matches!(expr, IntExpr::Binary(op, _) if op.builtin().is_some())
            && self.sizes.borrow().value(expr).is_some();
        match expr {
            IntExpr::Const(n) => Ok(n.into_pyobject(py)?.into_any()),
            IntExpr::Unary(op, x) => operator(op.function())?.call1((self.value(py, x)?,)),
            IntExpr::Binary(op, ab) if !is_whole => {
                let (a, b) = (self.value(py, &ab.0)?, self.value(py, &ab.1)?);
                operator(op.function())?.call1((a, b))
            }
            leaf => {
                let mut leaves = self.leaves.borrow_mut();
                if let Some((_, known)) = leaves.iter().find(|known| known.0 == *leaf) {
                    return Ok(known.bind(py).clone());
                }
                let value = self.sizes.borrow().value(leaf).ok_or_else(not_understood)?;
                let is_size = self.sizes.borrow().is_like_size(leaf);
                let unknown = self.unknown.given.iter().find(|known| known.0 == *leaf);
                let number = match unknown {
                    Some((_, is_size)) => self.symbols.borrow_mut().unknown(py, *is_size)?,
                    None if self.sizes.borrow().is_unknown_leaf(leaf) => match leaf {
                        IntExpr::Dim(..) => self.symbols.borrow_mut().unknown(py, true)?,
                        // Which number of the graph it is may change before a fake that is kept is used again.
                        _ => return Err(not_understood()),
                    },
                    None => self.symbols.borrow_mut().symbol(py, value, is_size)?,
                };
                leaves.push((leaf.clone(), number.clone().unbind()));
                Ok(number)
            }
        }
    }

    /// A size that torch gives.
    pub fn size(&self, n: &Bound<'_, PyAny>) -> PyResult<SymInt> {
        let given = self.symbols.borrow_mut().size(n)?;
        match given.ok_or_else(not_understood)? {
            GivenSize::Known(tree) => self.of_tree(&tree).ok_or_else(not_understood),
            GivenSize::Ragged => {
                let leaf = IntExpr::Source(self.ragged);
                Ok(self.sizes.borrow_mut().unknown(&leaf, HINTS, Some(0)))
            }
            GivenSize::New(most) => {
                let mut made = self.made.borrow_mut();
                let source = *self
                    .unknown
                    .new
                    .get(made.len())
                    .ok_or_else(not_understood)?;
                made.push(most);
                let leaf = IntExpr::Source(source);
                let number = n.clone().unbind();
                self.leaves.borrow_mut().push((leaf.clone(), number));
                let hint = HINTS + i64::from(source.0);
                Ok(self.sizes.borrow_mut().unknown(&leaf, hint, Some(0)))
            }
        }
    }

    fn of_tree(&self, tree: &SizeTree) -> Option<SymInt> {
        let all = |parts: &[SizeTree], first, op: fn(&mut Sizes, SymInt, SymInt) -> SymInt| {
            parts.iter().try_fold(SymInt::Const(first), |whole, part| {
                let part = self.of_tree(part)?;
                Some(op(&mut self.sizes.borrow_mut(), whole, part))
            })
        };
        match tree {
            SizeTree::Number(n) => Some(SymInt::Const(*n)),
            SizeTree::Symbol(at) => {
                let leaf = self.leaves.borrow().get(*at)?.0.clone();
                self.sizes.borrow_mut().split(&leaf)
            }
            SizeTree::Add(parts) => all(parts, 0, Sizes::add),
            SizeTree::Multiply(parts) => all(parts, 1, Sizes::multiply),
            SizeTree::Largest(parts) => self.extreme(parts, |a, b| (a, b)),
            SizeTree::Least(parts) => self.extreme(parts, |a, b| (b, a)),
            SizeTree::Divide(of, by) => {
                let (of, by) = (self.of_tree(of)?, self.of_tree(by)?);
                let (quotient, facts) = self.sizes.borrow_mut().quotient(of, by);
                self.signs.borrow_mut().extend(facts);
                Some(quotient)
            }
        }
    }

    /// One of several sizes, which the others are on one side of: `order` gives two as they are where the first one is
    /// taken, the larger one first. That they are so is relied on.
    fn extreme(
        &self,
        parts: &[SizeTree],
        order: fn(SymInt, SymInt) -> (SymInt, SymInt),
    ) -> Option<SymInt> {
        let parts: Option<Vec<SymInt>> = parts.iter().map(|part| self.of_tree(part)).collect();
        // Of a number and a size that is equal to it the size is taken.
        let (numbers, others): (Vec<_>, Vec<_>) =
            (parts?.into_iter()).partition(|part| part.as_const().is_some());
        let sizes = self.sizes.borrow();
        let mut taken: Option<SymInt> = None;
        for part in others.into_iter().chain(numbers) {
            let Some(so_far) = taken else {
                taken = Some(part);
                continue;
            };
            let (left, right) = order(so_far, part);
            if sizes.is_unknown(left) || sizes.is_unknown(right) {
                match right.as_const() == Some(1) && sizes.counts_as_positive(left) {
                    true => continue,
                    false => return None,
                }
            }
            let op = match sizes.hint(left) >= sizes.hint(right) {
                true => Compare::NotLess,
                false => {
                    taken = Some(part);
                    Compare::Less
                }
            };
            self.signs.borrow_mut().push(Fact { op, left, right });
        }
        taken
    }

    /// What was decided, and what is relied on.
    pub fn facts(&self, py: Python<'_>) -> PyResult<Option<[Vec<Fact>; 2]>> {
        let Some(facts) = self.symbols.borrow().facts(py)? else {
            return Ok(None);
        };
        let fact = |(op, left, right): &SizeFact| {
            let (left, right) = (self.of_tree(left)?, self.of_tree(right)?);
            let op = *op;
            Some(Fact { op, left, right })
        };
        let all = |facts: &[SizeFact]| facts.iter().map(fact).collect::<Option<Vec<_>>>();
        let both = all(&facts.decided).zip(all(&facts.assumed));
        let signs = self.signs.take();
        Ok(both.map(|(decided, assumed)| [[signs, decided].concat(), assumed]))
    }
}

/// Whether an argument has a float that is no constant.
pub fn has_float(arg: &MetaArg) -> bool {
    match arg {
        MetaArg::SymFloat => true,
        MetaArg::List(items) | MetaArg::Tuple(items) | MetaArg::Dict(items) => {
            items.iter().any(has_float)
        }
        _ => false,
    }
}

/// Whether an argument has a size that is no constant.
pub fn has_size(arg: &MetaArg) -> bool {
    match arg {
        MetaArg::Tensor(meta) => !meta.is_static(),
        MetaArg::SymInt(n) => n.as_const().is_none(),
        MetaArg::List(items) | MetaArg::Tuple(items) | MetaArg::Dict(items) => {
            items.iter().any(has_size)
        }
        MetaArg::Slice(parts) => parts.iter().any(has_size),
        _ => false,
    }
}
