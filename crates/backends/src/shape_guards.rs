//! What a backend relies on about symbolic sizes, read from the Python expressions that `ShapeEnv` produces.
//!
//! Lives here: the expressions as data, and how they are read with Python's own parser. Does not live here: how they
//! are checked.
//!
//! Invariant: what is not understood is never dropped: its symbols are held to the values that they have.

use std::cell::RefCell;

use fx_graph::{ShapeCompare, ShapeExpr, ShapeGuard, ShapeLeaf, ShapeOperator};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList};

/// Reads Python expressions over `L['name']`; `names` are those of the inputs. `None` where one of them is about
/// something that is no input.
///
/// # Errors
/// What Python's parser raises.
pub(crate) fn read(
    py: Python<'_>,
    texts: &[String],
    names: &[Option<String>],
) -> PyResult<Option<Vec<ShapeGuard>>> {
    let parse = py.import(intern!(py, "ast"))?.getattr("parse")?;
    let reader = Reader {
        names,
        taken: RefCell::default(),
        open: RefCell::default(),
    };
    let mut out = Vec::new();
    for text in texts {
        let tree = parse
            .call1((named_values(text.trim()), "<shape guard>", "eval"))?
            .getattr(intern!(py, "body"))?;
        let mut found = Vec::new();
        if reader.condition(&tree, true, &mut found)?.is_some() {
            out.append(&mut found);
            continue;
        }
        let mut leaves = Vec::new();
        if !reader.leaves(&tree, &mut leaves)? {
            return Ok(None);
        }
        out.extend(leaves.into_iter().map(ShapeGuard::Unchanged));
    }
    Ok(Some(out))
}

/// An expression with a name in the place of what torch made on the way from an input and writes in angle brackets
/// (`<ephemeral: a view's argument>`). It is no input, so what is compared with it is held to the values it has.
fn named_values(text: &str) -> String {
    const BEGINS: &str = "<ephemeral";
    let mut parts = text.split(BEGINS);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let rest = part.split_once('>').map_or("", |(_, rest)| rest);
        before + "ephemeral" + rest
    })
}

/// How many conditions of expressions a comparison may have.
const MOST_CONDITIONS: usize = 3;

struct Reader<'a, 'py> {
    names: &'a [Option<String>],
    /// conditions of expressions, as text, and which way is looked at
    taken: RefCell<Vec<(String, bool)>>,
    /// a condition of which none was chosen
    open: RefCell<Option<Bound<'py, PyAny>>>,
}

/// The class of a node of the tree.
fn kind(node: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(node.get_type().name()?.to_string())
}

/// A part of a tree as text, by which it is known again.
fn dump(node: &Bound<'_, PyAny>) -> PyResult<String> {
    let ast = node.py().import(intern!(node.py(), "ast"))?;
    ast.call_method1("dump", (node,))?.extract()
}

/// What is made a float: `x` of `float(x)` and `torch.sym_float(x)`.
fn as_float<'py>(node: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if kind(node)? != "Call" {
        return Ok(None);
    }
    let function = node.getattr("func")?;
    let is_float = match &*kind(&function)? {
        "Name" => function.getattr("id")?.eq("float")?,
        "Attribute" => function.getattr("attr")?.eq("sym_float")?,
        _ => false,
    };
    let args = node.getattr("args")?;
    match is_float && args.len()? == 1 {
        true => args.get_item(0).map(Some),
        false => Ok(None),
    }
}

/// A float that is written as a number, where it is whole and so small that all ints around it are floats.
fn whole(node: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if kind(node)? != "Constant" {
        return Ok(None);
    }
    let value = node.getattr("value")?;
    let Ok(float) = value.cast_exact::<PyFloat>() else {
        return Ok(None);
    };
    let value = float.value();
    let is_small = value.fract() == 0.0 && value.abs() < (1_i64 << 53) as f64;
    Ok(is_small.then_some(value as i64))
}

/// A positive float that is written as a number, as a fraction, where it is exactly one of small numbers: floats
/// multiply sizes by it exactly.
fn small_fraction(node: &Bound<'_, PyAny>) -> PyResult<Option<(i64, i64)>> {
    const MOST: i64 = 1 << 20;
    if kind(node)? != "Constant" {
        return Ok(None);
    }
    let value = node.getattr("value")?;
    let Ok(float) = value.cast_exact::<PyFloat>() else {
        return Ok(None);
    };
    let (mut over, mut under) = (float.value(), 1);
    while over.fract() != 0.0 && under < MOST {
        (over, under) = (over * 2.0, under * 2);
    }
    let fits = over.fract() == 0.0 && over > 0.0 && over < MOST as f64;
    Ok(fits.then_some((over as i64, under)))
}

impl<'py> Reader<'_, 'py> {
    /// A comparison of expressions that have conditions, each of which holds or does not: `a if c else b` is compared
    /// as `c` and `a`, or not `c` and `b`.
    fn with_conditions(
        &self,
        node: &Bound<'py, PyAny>,
        holds: bool,
        out: &mut Vec<ShapeGuard>,
    ) -> PyResult<Option<()>> {
        let mut found = Vec::new();
        if self.comparison(node, holds, &mut found)?.is_some() {
            out.append(&mut found);
            return Ok(Some(()));
        }
        let Some(test) = self.open.take() else {
            return Ok(None);
        };
        if self.taken.borrow().len() == MOST_CONDITIONS {
            return Ok(None);
        }
        let text = dump(&test)?;
        let mut ways = Vec::new();
        for way in [true, false] {
            let mut found = Vec::new();
            // The condition itself is read first: it has others of its own, or none.
            let read = self.condition(&test, way, &mut found)?;
            self.taken.borrow_mut().push((text.clone(), way));
            let rest = self.with_conditions(node, holds, &mut found);
            self.taken.borrow_mut().pop();
            if read.is_none() || rest?.is_none() {
                return Ok(None);
            }
            ways.push(found);
        }
        out.push(ShapeGuard::Either(ways));
        Ok(Some(()))
    }

    /// A condition, or (`holds` is false) that it does not hold, as comparisons that must all hold.
    fn condition(
        &self,
        node: &Bound<'py, PyAny>,
        holds: bool,
        out: &mut Vec<ShapeGuard>,
    ) -> PyResult<Option<()>> {
        match &*kind(node)? {
            "BoolOp" => {
                // `not (a or b)` is `not a and not b`.
                let operator = kind(&node.getattr("op")?)?;
                if operator != if holds { "And" } else { "Or" } {
                    let mut either = Vec::new();
                    for part in node.getattr("values")?.try_iter()? {
                        let mut found = Vec::new();
                        if self.condition(&part?, holds, &mut found)?.is_none() {
                            return Ok(None);
                        }
                        either.push(found);
                    }
                    out.push(ShapeGuard::Either(either));
                    return Ok(Some(()));
                }
                for part in node.getattr("values")?.try_iter()? {
                    if self.condition(&part?, holds, out)?.is_none() {
                        return Ok(None);
                    }
                }
                Ok(Some(()))
            }
            "UnaryOp" if kind(&node.getattr("op")?)? == "Not" => {
                self.condition(&node.getattr("operand")?, !holds, out)
            }
            "Compare" => self.with_conditions(node, holds, out),
            "Constant" => {
                let says = node.getattr("value")?.is_truthy()?;
                Ok((says == holds).then_some(()))
            }
            _ => Ok(None),
        }
    }

    /// One comparison, or several of neighbours.
    fn comparison(
        &self,
        node: &Bound<'py, PyAny>,
        holds: bool,
        out: &mut Vec<ShapeGuard>,
    ) -> PyResult<Option<()>> {
        let operators = node.getattr("ops")?.cast_into::<PyList>()?;
        let others = node.getattr("comparators")?.cast_into::<PyList>()?;
        // Only one comparison has an opposite that is one.
        if !holds && operators.len() != 1 {
            return Ok(None);
        }
        let first = node.getattr("left")?;
        let mut left = match self.side(&first, &others.get_item(0)?)? {
            Some(left) => left,
            None => return Ok(None),
        };
        // What stands between two others has to be read alike for both.
        let only = operators.len() == 1;
        for (operator, other) in operators.iter().zip(others.iter()) {
            let right = match only {
                true => self.side(&other, &first)?,
                false => self.expr(&other)?,
            };
            let Some(right) = right else {
                return Ok(None);
            };
            let Some(compare) = ShapeCompare::of(&kind(&operator)?) else {
                return Ok(None);
            };
            let compare = match holds {
                true => compare,
                false => compare.negated(),
            };
            out.push(ShapeGuard::Compare(compare, left, right.clone()));
            left = right;
        }
        Ok(Some(()))
    }

    /// One side of a comparison. An int as a float lies on the same side of a small whole number as the int itself.
    fn side(
        &self,
        node: &Bound<'py, PyAny>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Option<ShapeExpr>> {
        if let (Some(int), Some(_)) = (as_float(node)?, whole(other)?) {
            return self.expr(&int);
        }
        match (whole(node)?, as_float(other)?) {
            (Some(number), Some(_)) => Ok(Some(ShapeExpr::Const(number))),
            _ => self.expr(node),
        }
    }

    fn expr(&self, node: &Bound<'py, PyAny>) -> PyResult<Option<ShapeExpr>> {
        Ok(match &*kind(node)? {
            "Constant" => node.getattr("value")?.extract().ok().map(ShapeExpr::Const),
            "UnaryOp" if kind(&node.getattr("op")?)? == "USub" => self
                .expr(&node.getattr("operand")?)?
                .map(|x| ShapeExpr::Negative(Box::new(x))),
            "BinOp" => {
                let operator = ShapeOperator::of(&kind(&node.getattr("op")?)?);
                let left = self.expr(&node.getattr("left")?)?;
                let right = self.expr(&node.getattr("right")?)?;
                match (operator, left, right) {
                    (Some(operator), Some(left), Some(right)) => {
                        Some(ShapeExpr::Binary(operator, Box::new((left, right))))
                    }
                    _ => None,
                }
            }
            "Call" => match self.extreme(node)? {
                Some(extreme) => Some(extreme),
                None => match self.rounded_down(node)? {
                    Some(rounded) => Some(rounded),
                    None => self.leaf(node)?.map(ShapeExpr::Leaf),
                },
            },
            "IfExp" => {
                let test = node.getattr("test")?;
                let text = dump(&test)?;
                let taken = self.taken.borrow().iter().find(|of| of.0 == text).cloned();
                match taken {
                    Some((_, true)) => self.expr(&node.getattr("body")?)?,
                    Some((_, false)) => self.expr(&node.getattr("orelse")?)?,
                    None => {
                        self.open.replace(Some(test));
                        None
                    }
                }
            }
            _ => self.leaf(node)?.map(ShapeExpr::Leaf),
        })
    }

    /// `max(a, b, ...)`, `min(a, b, ...)` and `abs(a)`, by Python's names or torch's.
    fn extreme(&self, call: &Bound<'py, PyAny>) -> PyResult<Option<ShapeExpr>> {
        let function = call.getattr("func")?;
        let name: String = match &*kind(&function)? {
            "Name" => function.getattr("id")?.extract()?,
            "Attribute" => function.getattr("attr")?.extract()?,
            _ => return Ok(None),
        };
        let operator = match &*name {
            "max" | "Max" | "sym_max" => ShapeOperator::Max,
            "min" | "Min" | "sym_min" => ShapeOperator::Min,
            "abs" | "Abs" => {
                let x = self.expr(&call.getattr("args")?.get_item(0)?)?;
                let both = |x: ShapeExpr| Box::new((x.clone(), ShapeExpr::Negative(Box::new(x))));
                return Ok(x.map(|x| ShapeExpr::Binary(ShapeOperator::Max, both(x))));
            }
            _ => return Ok(None),
        };
        let mut so_far = None;
        for operand in call.getattr("args")?.cast_into::<PyList>()? {
            let Some(operand) = self.expr(&operand)? else {
                return Ok(None);
            };
            so_far = Some(match so_far {
                Some(other) => ShapeExpr::Binary(operator, Box::new((other, operand))),
                None => operand,
            });
        }
        Ok(so_far)
    }

    /// `math.floor(0.5 * float(x))` of a number that is a small fraction, and `math.trunc` of such a part of a size.
    fn rounded_down(&self, call: &Bound<'py, PyAny>) -> PyResult<Option<ShapeExpr>> {
        let (function, args) = (call.getattr("func")?, call.getattr("args")?);
        if kind(&function)? != "Attribute" || args.len()? != 1 {
            return Ok(None);
        }
        let name: String = function.getattr("attr")?.extract()?;
        let product = args.get_item(0)?;
        if !matches!(&*name, "floor" | "trunc")
            || kind(&product)? != "BinOp"
            || kind(&product.getattr("op")?)? != "Mult"
        {
            return Ok(None);
        }
        let (left, right) = (product.getattr("left")?, product.getattr("right")?);
        for (number, int) in [(&left, &right), (&right, &left)] {
            let (Some((over, under)), Some(int)) = (small_fraction(number)?, as_float(int)?) else {
                continue;
            };
            let Some(int) = self.expr(&int)? else {
                return Ok(None);
            };
            let is_size = matches!(int, ShapeExpr::Leaf(ShapeLeaf::Size(..)));
            if name == "trunc" && !is_size {
                return Ok(None);
            }
            let of =
                |operator, a, b| ShapeExpr::Binary(operator, Box::new((a, ShapeExpr::Const(b))));
            let whole = of(ShapeOperator::Multiply, int, over);
            return Ok(Some(of(ShapeOperator::FloorDivide, whole, under)));
        }
        Ok(None)
    }

    /// `L['x']`, `L['x'].size()[0]`, `L['x']._base.stride()[1]`, `L['x'].a.storage_offset()`.
    fn leaf(&self, node: &Bound<'py, PyAny>) -> PyResult<Option<ShapeLeaf>> {
        if let Some(input) = self.input(node)? {
            return Ok(Some(ShapeLeaf::Int(input)));
        }
        let (call, dim) = match &*kind(node)? {
            "Subscript" => {
                let dim = node.getattr("slice")?;
                if kind(&dim)? != "Constant" {
                    return Ok(None);
                }
                let Ok(dim) = dim.getattr("value")?.extract::<u8>() else {
                    return Ok(None);
                };
                (node.getattr("value")?, Some(dim))
            }
            _ => (node.clone(), None),
        };
        if kind(&call)? != "Call" {
            return Ok(None);
        }
        let method = call.getattr("func")?;
        if kind(&method)? != "Attribute" {
            return Ok(None);
        }
        let name: String = method.getattr("attr")?.extract()?;
        let mut owner = method.getattr("value")?;
        let mut attributes = Vec::new();
        while kind(&owner)? == "Attribute" {
            attributes.insert(0, owner.getattr("attr")?.extract::<String>()?);
            owner = owner.getattr("value")?;
        }
        let Some(input) = self.input(&owner)? else {
            return Ok(None);
        };
        let leaf = match (&*name, dim) {
            ("size", Some(dim)) => ShapeLeaf::Size(input, dim),
            ("stride", Some(dim)) => ShapeLeaf::Stride(input, dim),
            ("storage_offset", None) => ShapeLeaf::Offset(input),
            _ => return Ok(None),
        };
        Ok(Some(match attributes.is_empty() {
            true => leaf,
            false => ShapeLeaf::Of(attributes, Box::new(leaf)),
        }))
    }

    /// `L['x']`
    fn input(&self, node: &Bound<'py, PyAny>) -> PyResult<Option<usize>> {
        if kind(node)? != "Subscript" {
            return Ok(None);
        }
        let (of, key) = (node.getattr("value")?, node.getattr("slice")?);
        if kind(&of)? != "Name" || !of.getattr("id")?.eq("L")? || kind(&key)? != "Constant" {
            return Ok(None);
        }
        let Ok(name) = key.getattr("value")?.extract::<String>() else {
            return Ok(None);
        };
        Ok(self
            .names
            .iter()
            .position(|known| known.as_ref() == Some(&name)))
    }

    /// The leaves of a tree, each once; false where there is something of `L` that is none.
    fn leaves(&self, node: &Bound<'py, PyAny>, out: &mut Vec<ShapeLeaf>) -> PyResult<bool> {
        if let Some(leaf) = self.leaf(node)? {
            if !out.contains(&leaf) {
                out.push(leaf);
            }
            return Ok(true);
        }
        if kind(node)? == "Name" && node.getattr("id")?.eq("L")? {
            return Ok(false);
        }
        let children = node
            .py()
            .import(intern!(node.py(), "ast"))?
            .call_method1("iter_child_nodes", (node,))?;
        for child in children.try_iter()? {
            if !self.leaves(&child?, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
