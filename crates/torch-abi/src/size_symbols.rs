//! Fake tensors whose sizes are torch's symbols: what operations without a rule make of sizes that are no constants.
//!
//! Lives here: torch's side of it, a `ShapeEnv` for one operation or for all whose fakes are kept, and its expressions as
//! data. Does not live here: what the symbols stand for.
//!
//! Invariant: an expression that is not understood is `None`, never another one.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyInt};
use tensor_meta::Compare;

use crate::names;

/// A class of sources, which torch wants for each symbol, and its expressions and both sides of its relations as tuples.
const CODE: &std::ffi::CStr = c"
def make(Source, FloorDiv, Remainders, Max, Min, ToFloat, has_unknown):
    class Named(Source):
        def __init__(self, text):
            object.__setattr__(self, 'text', text)
        @property
        def name(self):
            return self.text

    def tree(expr):
        if expr.is_Integer:
            return ('number', int(expr))
        if expr.is_Symbol:
            return ('symbol', expr)
        if expr.is_Add:
            return ('add', *map(tree, expr.args))
        if expr.is_Mul:
            return ('multiply', *map(tree, expr.args))
        if expr.is_Pow and expr.exp.is_Integer and 1 <= expr.exp <= 8:
            return ('multiply', *[tree(expr.base)] * int(expr.exp))
        if isinstance(expr, FloorDiv):
            return ('divide', tree(expr.args[0]), tree(expr.args[1]))
        if isinstance(expr, Remainders):
            whole, by = tree(expr.args[0]), tree(expr.args[1])
            return ('add', whole, ('multiply', ('number', -1), by, ('divide', whole, by)))
        if isinstance(expr, Max) and len(expr.args) == 2 and expr.args[0] == 1:
            return ('largest', *map(tree, expr.args))
        # A choice between sizes of which nothing is known is one of its own.
        if isinstance(expr, (Max, Min)) and not has_unknown(expr):
            return ('largest' if isinstance(expr, Max) else 'least', *map(tree, expr.args))
        return None

    def sides(relation):
        left, right = relation.args
        if not any(isinstance(side, ToFloat) for side in (left, right)):
            return tree(left), tree(right)

        # An int as a float lies on the same side of a small whole number; between two of them it may be rounded.
        def plain(side, other):
            if isinstance(side, ToFloat) and other.is_Float:
                return tree(side.args[0])
            if side.is_Float and abs(side) < 2**53 and float(side).is_integer():
                return ('number', int(side))
            return None
        return plain(left, right), plain(right, left)
    return Named, tree, sides
";

/// An expression over symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeTree {
    /// A number.
    Number(i64),
    /// A symbol, by the order in which they were made.
    Symbol(usize),
    /// A sum.
    Add(Vec<SizeTree>),
    /// A product.
    Multiply(Vec<SizeTree>),
    /// A quotient, rounded down, of a divisor that is positive.
    Divide(Box<SizeTree>, Box<SizeTree>),
    /// The largest of several.
    Largest(Vec<SizeTree>),
    /// The least of several.
    Least(Vec<SizeTree>),
}

/// What torch found while an operation was run.
pub type SizeFact = (Compare, SizeTree, SizeTree);

/// What an operation may make of what tensors hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayDepend {
    /// the items of its results alone
    Items,
    /// their sizes as well
    Sizes,
    /// numbers that it computes with, which it reads from tensors
    Numbers,
}

/// Symbols of one environment.
pub struct SizeSymbols {
    env: Py<PyAny>,
    mode: Py<PyAny>,
    named: Py<PyAny>,
    tree: Py<PyAny>,
    sides: Py<PyAny>,
    /// torch's symbols, in the order in which they were made
    symbols: Vec<Py<PyAny>>,
    /// how many of them there were before an operation made one
    given: Option<usize>,
}

/// What torch found while operations were run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeFacts {
    /// what it decided by
    pub decided: Vec<SizeFact>,
    /// what it did not know of numbers that it was given, and relies on
    pub assumed: Vec<SizeFact>,
}

/// A size that torch gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenSize {
    /// an expression over symbols
    Known(SizeTree),
    /// what depends on data and is no such expression: now the last symbol; the most that it is, where torch knows that
    New(Option<i64>),
    /// of rows that differ in length: no number at all
    Ragged,
}

/// The parts of an expression that says that all of them hold.
fn both<'py>(expr: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let and = expr.py().import("sympy")?.getattr("And")?;
    match expr.is_instance(&and)? {
        true => expr.getattr("args")?.extract(),
        false => Ok(vec![expr.clone()]),
    }
}

impl SizeSymbols {
    /// None so far.
    ///
    /// # Errors
    /// Where torch lacks what is asked for.
    pub fn new(py: Python<'_>, may: MayDepend) -> PyResult<Self> {
        let options = PyDict::new(py);
        options.set_item("allow_non_fake_inputs", true)?;
        let mode = py
            .import(names::FAKE_TENSOR)?
            .getattr("FakeTensorMode")?
            .call((), Some(&options))?;
        Self::of_mode(&mode, may)
    }

    /// None so far, of the fake tensors of a mode, which has no symbols yet.
    ///
    /// # Errors
    /// Where torch lacks what is asked for.
    pub fn of_mode(mode: &Bound<'_, PyAny>, may: MayDepend) -> PyResult<Self> {
        let py = mode.py();
        static MADE: PyOnceLock<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();
        let (named, tree, sides) = MADE.get_or_try_init(py, || -> PyResult<_> {
            let module = PyModule::from_code(
                py,
                CODE,
                c"<ferrodyn size symbols>",
                c"ferrodyn_size_symbols",
            )?;
            let source = py.import(names::GUARDS)?.getattr("Source")?;
            let functions = py.import(names::SYMPY_FUNCTIONS)?;
            let divide = functions.getattr("FloorDiv")?;
            let remainders = (functions.getattr("Mod")?, functions.getattr("PythonMod")?);
            let (most, least) = (functions.getattr("Max")?, functions.getattr("Min")?);
            let to_float = functions.getattr("ToFloat")?;
            let has_unknown = py
                .import(names::SYMBOLIC_SHAPES)?
                .getattr("free_unbacked_symbols")?;
            module
                .getattr("make")?
                .call1((
                    source,
                    divide,
                    remainders,
                    most,
                    least,
                    to_float,
                    has_unknown,
                ))?
                .extract()
        })?;
        let options = PyDict::new(py);
        options.set_item("allow_scalar_outputs", may == MayDepend::Numbers)?;
        options.set_item("allow_dynamic_output_shape_ops", may == MayDepend::Sizes)?;
        let env = py
            .import(names::SYMBOLIC_SHAPES)?
            .getattr("ShapeEnv")?
            .call((), Some(&options))?;
        mode.setattr("shape_env", &env)?;
        Ok(SizeSymbols {
            env: env.unbind(),
            mode: mode.clone().unbind(),
            named: named.clone_ref(py),
            tree: tree.clone_ref(py),
            sides: sides.clone_ref(py),
            symbols: Vec::new(),
            given: None,
        })
    }

    /// The mode in which fake tensors have these sizes.
    pub fn mode(&self) -> &Py<PyAny> {
        &self.mode
    }

    /// A number of torch's that is a new symbol; `is_size`: it is 2 at least.
    ///
    /// # Errors
    /// What torch raises.
    pub fn symbol<'py>(
        &mut self,
        py: Python<'py>,
        value: i64,
        is_size: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let env = self.env.bind(py);
        let source = format!("n{}", self.symbols.len());
        let source = self.named.bind(py).call1((source,))?;
        let dynamic = py
            .import(names::SYMBOLIC_SHAPES)?
            .getattr("DimDynamic")?
            .getattr("DYNAMIC")?;
        let options = PyDict::new(py);
        options.set_item("dynamic_dim", dynamic)?;
        options.set_item("do_not_specialize_zero_one", !is_size)?;
        options.set_item("positive", is_size.then_some(true))?;
        let symbol = env.call_method("create_symbol", (value, &source), Some(&options))?;
        let options = PyDict::new(py);
        options.set_item("hint", value)?;
        options.set_item("source", source)?;
        let number = env.call_method("create_symintnode", (&symbol,), Some(&options))?;
        self.symbols.push(symbol.unbind());
        Ok(number)
    }

    fn position(&self, symbol: &Bound<'_, PyAny>) -> Option<usize> {
        let mut known = self.symbols.iter();
        known.position(|s| symbol.eq(s).unwrap_or(false))
    }

    /// A number of torch's that is a new symbol of which no value is known; `is_size`: it is not negative.
    ///
    /// # Errors
    /// What torch raises.
    pub fn unknown<'py>(&mut self, py: Python<'py>, is_size: bool) -> PyResult<Bound<'py, PyAny>> {
        let number = self.env.bind(py).call_method0("create_unbacked_symint")?;
        let symbol = number.getattr("node")?.getattr("expr")?;
        if is_size {
            let shapes = py.import(names::SYMBOLIC_SHAPES)?;
            shapes.call_method1("_constrain_range_for_size", (&number,))?;
        }
        self.symbols.push(symbol.unbind());
        Ok(number)
    }

    /// A float of torch's of which no value is known.
    ///
    /// # Errors
    /// What torch raises.
    pub fn unknown_float<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.env.bind(py).call_method0("create_unbacked_symfloat")
    }

    /// A size as an expression; `None` for one that is not understood.
    ///
    /// # Errors
    /// What torch raises.
    pub fn size(&mut self, n: &Bound<'_, PyAny>) -> PyResult<Option<GivenSize>> {
        let py = n.py();
        if n.is_exact_instance_of::<PyInt>() {
            return Ok(Some(GivenSize::Known(SizeTree::Number(n.extract()?))));
        }
        let node = n.getattr(intern!(py, "node"))?;
        if node
            .call_method0(intern!(py, "is_nested_int"))?
            .is_truthy()?
        {
            return Ok(Some(GivenSize::Ragged));
        }
        let expr = node.getattr("expr")?;
        if let Some(tree) = self.read(&self.tree.bind(py).call1((&expr,))?)? {
            return Ok(Some(GivenSize::Known(tree)));
        }
        let mut depends_on_data = false;
        for symbol in expr.getattr("free_symbols")?.try_iter()? {
            let unbacked = self.env.bind(py);
            let unbacked = unbacked.call_method1("is_unbacked_symint", (symbol?,))?;
            depends_on_data |= unbacked.is_truthy()?;
        }
        if !depends_on_data {
            return Ok(None);
        }
        let bounds = self.env.bind(py).call_method1("bound_sympy", (&expr,))?;
        let most = bounds.getattr("upper")?;
        let most = py.get_type::<PyInt>().call1((most,));
        let most = most.and_then(|most| most.extract()).ok();
        self.given.get_or_insert(self.symbols.len());
        self.symbols.push(expr.unbind());
        Ok(Some(GivenSize::New(most)))
    }

    fn read(&self, tree: &Bound<'_, PyAny>) -> PyResult<Option<SizeTree>> {
        if tree.is_none() {
            return Ok(None);
        }
        let kind: String = tree.get_item(0)?.extract()?;
        let mut parts = Vec::new();
        if matches!(&*kind, "add" | "multiply" | "largest" | "least") {
            for part in tree.try_iter()?.skip(1) {
                match self.read(&part?)? {
                    Some(part) => parts.push(part),
                    None => return Ok(None),
                }
            }
        }
        let first = tree.get_item(1)?;
        Ok(match &*kind {
            "number" => first.extract().ok().map(SizeTree::Number),
            "symbol" => self.position(&first).map(SizeTree::Symbol),
            "add" => Some(SizeTree::Add(parts)),
            "multiply" => Some(SizeTree::Multiply(parts)),
            "largest" => Some(SizeTree::Largest(parts)),
            "least" => Some(SizeTree::Least(parts)),
            _ => match (self.read(&first)?, self.read(&tree.get_item(2)?)?) {
                (Some(_), Some(SizeTree::Number(..=0))) => None,
                (Some(of), Some(by)) => Some(SizeTree::Divide(Box::new(of), Box::new(by))),
                _ => None,
            },
        })
    }

    /// What torch decided by sizes; `None` where that is not understood.
    ///
    /// # Errors
    /// What torch raises.
    pub fn facts(&self, py: Python<'_>) -> PyResult<Option<SizeFacts>> {
        let env = self.env.bind(py);
        let mut facts = SizeFacts::default();
        for guard in env.getattr("guards")?.try_iter()? {
            for expr in both(&guard?.getattr("expr")?)? {
                match self.fact(&expr)? {
                    Some(fact) => facts.decided.push(fact),
                    None if self.is_about_ragged(&expr)? => {}
                    None => {
                        let Some(fixed) = self.fixed(&expr)? else {
                            return Ok(None);
                        };
                        facts.decided.extend(fixed);
                    }
                }
            }
        }
        let asserts = env.getattr("deferred_runtime_asserts")?;
        for of_symbol in asserts.call_method0("values")?.try_iter()? {
            for assert in of_symbol?.try_iter()? {
                let expr = assert?.getattr("expr")?;
                if self.is_about_new(&expr)? {
                    continue;
                }
                match self.fact(&expr)? {
                    Some(fact) => facts.assumed.push(fact),
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(facts))
    }

    /// Whether something is said of a number that an operation made, which has it by what the operation is.
    fn is_about_new(&self, expr: &Bound<'_, PyAny>) -> PyResult<bool> {
        let given = self.given.unwrap_or(self.symbols.len());
        for symbol in expr.getattr("free_symbols")?.try_iter()? {
            if self.position(&symbol?).is_none_or(|at| at >= given) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether something is said of one size of rows that differ in length, beside constants: torch decides it
    /// alike for all of them.
    fn is_about_ragged(&self, expr: &Bound<'_, PyAny>) -> PyResult<bool> {
        let values = self.env.bind(expr.py()).getattr("backed_var_to_val")?;
        let Some(symbols) = expr.getattr_opt("free_symbols")? else {
            return Ok(false);
        };
        let mut symbols = symbols.try_iter()?;
        let (Some(symbol), None) = (symbols.next().transpose()?, symbols.next()) else {
            return Ok(false);
        };
        let value = values.call_method1("get", (symbol,))?;
        Ok(!value.is_none() && !value.getattr("is_Integer")?.is_truthy()?)
    }

    fn fact(&self, expr: &Bound<'_, PyAny>) -> PyResult<Option<SizeFact>> {
        if expr.cast::<PyBool>().is_ok() || !expr.getattr("is_Relational")?.is_truthy()? {
            return Ok(None);
        }
        let sides = self.sides.bind(expr.py()).call1((expr,))?;
        let side = |n: usize| self.read(&sides.get_item(n)?);
        let (Some(left), Some(right)) = (side(0)?, side(1)?) else {
            return Ok(None);
        };
        let operator: String = expr.getattr("rel_op")?.extract()?;
        Ok(Some(match &*operator {
            "==" => (Compare::Equal, left, right),
            "!=" => (Compare::Differ, left, right),
            "<" => (Compare::Less, left, right),
            ">=" => (Compare::NotLess, left, right),
            ">" => (Compare::Less, right, left),
            "<=" => (Compare::NotLess, right, left),
            _ => return Ok(None),
        }))
    }

    /// What a decision that is not understood follows from: that its symbols have the values of this call.
    fn fixed(&self, expr: &Bound<'_, PyAny>) -> PyResult<Option<Vec<SizeFact>>> {
        let values = self.env.bind(expr.py()).getattr("backed_var_to_val")?;
        let Some(symbols) = expr.getattr_opt("free_symbols")? else {
            return Ok(None);
        };
        let mut facts = Vec::new();
        for symbol in symbols.try_iter()? {
            let symbol = symbol?;
            let value = values.call_method1("get", (&symbol,))?;
            let (Some(at), false) = (self.position(&symbol), value.is_none()) else {
                return Ok(None);
            };
            let value: i64 = value.call_method0("__int__")?.extract()?;
            facts.push((
                Compare::Equal,
                SizeTree::Symbol(at),
                SizeTree::Number(value),
            ));
        }
        Ok(Some(facts))
    }
}
