//! A call of NumPy as a node of the graph.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tensor_meta::Inferred;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::torch_ops::args::NodeArgs;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::{Body, CallResult, TupleVar, Var};

use crate::arguments::{Asked, node_args_with_numbers};
use crate::division::by_zero;
use crate::float_operands::float_operand;
use crate::graph_arguments::{Form, array_node, graph_arg};
use crate::narrow_integers::by_value;
use crate::numbers::with_changing_items;
use crate::operation::{Maker, operation};
use crate::powers::check_exponents;
use crate::probe::{Call, Probed, class_of, is_same_kind, shares};
use crate::sizes::{SizesAt, TIMES, decided_by_data};
use crate::subscripts::with_changing_ints;
use crate::torch_results::{dense_order, fits, laid_out, on_tensors, other_shape, other_strides};
use crate::values::{Looks, check_memory, check_state, new_array};
use crate::what::What;

/// Makes a call: an operation of the graph, or a constant where NumPy gives one for constants. `None`: an argument is
/// nothing that such an operation takes. NumPy's numbers from outside are constants only where no such operation takes
/// them as others.
///
/// # Errors
/// A break where NumPy raises, or torch has nothing that gives the same.
pub(crate) fn call<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    let values: Vec<&Var> = args.values().collect();
    let has_number = values.iter().any(|v| tx.holds_numpy_number(v));
    if has_number && what.takes_any_number && any_array(tx, &values) {
        let made = tx.with_numpy_numbers(&values, crate::numbers::beside_array, |tx, values| {
            let made = call_with(tx, what, &args.with_values(values))?;
            made.ok_or_else(|| Stop::unsupported("an operation of NumPy on other values"))
        })?;
        if made.is_some() {
            return Ok(made);
        }
    }
    if has_number && !what.takes_any_number {
        let ints = values.iter().map(|v| {
            let ints = match v {
                Var::Obj(_) => with_changing_items(tx, v)?,
                v => with_changing_ints(tx, v)?,
            };
            Ok(ints.unwrap_or_else(|| (*v).clone()))
        });
        let ints = ints.collect::<R<Vec<Var>>>()?;
        return call_with(tx, what, &args.with_values(&ints));
    }
    call_with(tx, what, args)
}

/// Whether one of the values is an array.
fn any_array(tx: &Tx<'_>, values: &[&Var]) -> bool {
    values.iter().any(|v| match v {
        Var::Lazy(l) => tx.known.is_exact_ndarray(&class_of(l.obj.bind(tx.py))),
        v => tx.array_id(v).is_some(),
    })
}

fn call_with<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    let by_value = by_value(tx, what, args)?;
    let args = by_value.as_ref().unwrap_or(args);
    check_exponents(tx, what, args)?;
    match by_zero(tx, what, args, |tx, args| of_sizes(tx, what, args))? {
        None => of_sizes(tx, what, args),
        made => Ok(made),
    }
}

/// A call with sizes that are no constants, or with constants where it has to be.
fn of_sizes<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    let Some(now) = Asked::new(tx, what, args, SizesAt::Now)? else {
        return Ok(None);
    };
    if !now.changes {
        return answer(tx, what, args, &now.probe(what)?, None);
    }
    let before = tx.snapshot();
    match of_any_size(tx, what, args, &now) {
        Err(Stop::Break(_)) => tx.restore(&before),
        made => return made,
    }
    match Asked::new(tx, what, args, SizesAt::Fixed)? {
        Some(fixed) => answer(tx, what, args, &fixed.probe(what)?, None),
        None => Ok(None),
    }
}

/// A call with sizes that are no constants.
///
/// # Errors
/// A break where they have to be.
fn of_any_size<'py>(
    tx: &mut Tx<'py>,
    what: &What<'_, 'py>,
    args: &Args,
    now: &Asked<'py>,
) -> Given {
    let depends =
        || Stop::unsupported("NumPy operation that depends on the sizes of its arguments");
    let now = now.probe(what)?;
    let mut others = TIMES.into_iter().map(SizesAt::Other);
    let mut asked;
    let (at, other) = loop {
        let at = others.next().ok_or_else(depends)?;
        asked = Asked::new(tx, what, args, at)?.ok_or_else(depends)?;
        match asked.probe(what) {
            // NumPy refuses these sizes, not what is asked for.
            Err(Stop::Break(_)) => {}
            other => break (at, other?),
        }
    };
    let answers = (
        (&now.1.result, now.0.stands),
        (&other.1.result, other.0.stands),
    );
    if now.1.writes != other.1.writes || !is_same_kind(answers.0, answers.1)? {
        return Err(depends());
    }
    answer(tx, what, args, &now, Some((at, &other.1.result)))
}

/// What a call gives, by what NumPy says; `other`: and for other sizes.
fn answer<'py>(
    tx: &mut Tx<'py>,
    what: &What<'_, 'py>,
    args: &Args,
    (real, probed): &(Call<'_, 'py>, Probed<'py>),
    other: Option<(SizesAt, &Bound<'py, PyAny>)>,
) -> Given {
    let py = tx.py;
    let stands = real.stands;
    if probed.writes.is_empty() {
        let is_constant = !holds_array(tx, &probed.result);
        if real.is_known && is_constant || is_dtype(py, &probed.result)? {
            return value(tx.from_const(probed.result.clone())?);
        }
        if let Some(stand) = stands.iter().find(|s| s.real.is(&probed.result)) {
            return value(stand.value.clone());
        }
    }
    check_state(tx)?;
    let before = tx.snapshot();
    let made = operation_of(tx, what, real, probed, other, args);
    let v = match made {
        // What NumPy gives for constants needs no operation of torch's.
        Err(Stop::Break(reason)) if real.is_known && probed.writes.is_empty() => {
            tx.restore(&before);
            constant_array(tx, &probed.result)?.ok_or(Stop::Break(reason))?
        }
        made => made?,
    };
    value(v)
}

fn operation_of<'py>(
    tx: &mut Tx<'py>,
    what: &What<'_, 'py>,
    real: &Call<'_, 'py>,
    probed: &Probed<'py>,
    other: Option<(SizesAt, &Bound<'py, PyAny>)>,
    args: &Args,
) -> R<Var> {
    let Some(function) = &what.torch else {
        return Err(Stop::brk(
            format!("NumPy operation that torch does not have: {}", what.name),
            "NumPy is captured as the operations that torch has on tensors, and it has none for this one.",
            "Use another function of NumPy or torch's, or call it outside of the compiled function.",
        ));
    };
    let node = Node {
        what,
        real,
        probed,
        other,
        on_tensors: on_tensors(what, function, real)?,
    };
    node.emit(tx, function, args)
}

/// How many items an array has at most that is written down in the graph.
const MAX_ITEMS: usize = 4096;

/// An array of constants as a node; `None` where torch has no tensor of it, or it is large.
fn constant_array<'py>(tx: &mut Tx<'py>, array: &Bound<'py, PyAny>) -> R<Option<Var>> {
    let is_array = tx.known.is_exact_ndarray(&class_of(array));
    if !is_array || array.getattr("size")?.extract::<usize>()? > MAX_ITEMS {
        return Ok(None);
    }
    let function = tx.py.import("torch")?.getattr("from_numpy")?;
    let copy = array.call_method1("copy", ("C",))?;
    if function.call1((&copy,)).is_err() {
        return Ok(None);
    }
    let Var::Tensor(tensor) = array_node(tx, &copy)? else {
        return Err(Stop::Internal("an array that is no tensor".into()));
    };
    let looks = Looks {
        strides: other_strides(array, &copy)?,
        known: Some(array.clone().unbind()),
        ..Looks::default()
    };
    new_array(tx, tensor, class_of(array), Maker::Array, looks).map(Some)
}

/// A call that becomes a node.
struct Node<'a, 'py> {
    what: &'a What<'a, 'py>,
    real: &'a Call<'a, 'py>,
    probed: &'a Probed<'py>,
    /// what NumPy gives for other sizes, where some are no constants
    other: Option<(SizesAt, &'a Bound<'py, PyAny>)>,
    /// what torch gives for what NumPy was asked with
    on_tensors: Bound<'py, PyAny>,
}

impl<'py> Node<'_, 'py> {
    fn emit(&self, tx: &mut Tx<'py>, function: &Bound<'py, PyAny>, given: &Args) -> R<Var> {
        let target = operation(
            function,
            self.what.name.rsplit('.').next().unwrap_or("call"),
        )?;
        let mut args = self.graph_args(tx, given)?;
        let path = format!("numpy.{}", self.what.name);
        let callee = Callee::Function(&target, &path, None);
        let writes = !self.probed.writes.is_empty();
        let before = tx.snapshot();
        let mut node_args = self.node_args(tx, &args)?;
        let mut inferred = tx.infer_fake(&callee, &node_args, "")?;
        if !self.fits(tx, &inferred)? {
            tx.restore(&before);
            if let Some(made) = self.as_operator(tx, &args)? {
                return Ok(made);
            }
            if !writes
                && self.other.is_none()
                && let Some(shape) = other_shape(tx, &self.probed.result, &inferred)?
            {
                let node_args = self.node_args(tx, &args)?;
                let made = tx.emit_inferred_as(&callee, node_args, inferred, &args, true)?;
                let shape = tx.from_const(shape)?;
                let made = tx.emit(&Callee::Method("reshape"), &Args::pos(vec![made, shape]))?;
                return self.result(tx, given, &self.probed.result, &self.on_tensors, &made);
            }
            if writes || !self.converts_operands(tx, &mut args)? {
                return Err(self.differs());
            }
            node_args = self.node_args(tx, &args)?;
            inferred = tx.infer_fake(&callee, &node_args, "")?;
            if !self.fits(tx, &inferred)? {
                return Err(self.differs());
            }
        }
        for at in &self.probed.writes {
            self.check_write(tx, *at)?;
        }
        let effects = &tx.st.effects;
        let kept = (effects.known_values.clone(), effects.writes);
        let made = tx.emit_inferred_as(&callee, node_args, inferred, &args, !writes)?;
        if writes {
            tx.st.effects.array_writes += 1;
        } else {
            (tx.st.effects.known_values, tx.st.effects.writes) = kept;
        }
        self.result(tx, given, &self.probed.result, &self.on_tensors, &made)
    }

    /// Whether what torch gives looks like what NumPy gives, for other sizes too.
    fn fits(&self, tx: &mut Tx<'py>, inferred: &Inferred) -> R<bool> {
        let real = &self.probed.result;
        match self.other {
            Some((at, other)) => {
                Ok(fits(tx, real, inferred, SizesAt::Now)? && fits(tx, other, inferred, at)?)
            }
            None => fits(tx, real, inferred, SizesAt::Fixed),
        }
    }

    /// Both forms of the arguments: sizes are constants but where NumPy was asked for others too.
    fn node_args(&self, tx: &mut Tx<'py>, args: &Args) -> R<NodeArgs> {
        if self.other.is_some() && !self.what.takes_any_number {
            return tx.node_args_with_sizes(args);
        }
        let node_args = node_args_with_numbers(tx, args)?;
        let fixed = match self.other {
            Some(_) => None,
            None => tx.fix_args(&node_args),
        };
        Ok(fixed.unwrap_or(node_args))
    }

    fn graph_args(&self, tx: &mut Tx<'py>, args: &Args) -> R<Args> {
        let keeps = self.other.is_some();
        let keeps_numbers = self.what.takes_any_number;
        let form = Form {
            keeps: keeps && !self.what.is_subscript,
            in_slices: keeps,
            is_operand: keeps_numbers,
        };
        let mut graph_arg = |v: &Var, at: Option<usize>| match (tx.look(v)?, at) {
            (v @ Var::Float(_), at) if keeps_numbers && !tx.runs_as_is => {
                float_operand(tx, self.real, v, at)
            }
            (v @ Var::Float(_), _) | (v @ Var::Int(_), Some(_)) if keeps_numbers => Ok(v),
            _ => graph_arg(tx, v, form),
        };
        let mut out = Args::default();
        for (at, v) in args.pos.iter().enumerate() {
            out.pos.push(graph_arg(v, Some(at))?);
        }
        for (name, v) in &args.kw {
            out.kw.push((name.clone(), graph_arg(v, None)?));
        }
        Ok(out)
    }

    /// An operator of torch's that one operand is a number for: a tensor without dimensions is, too.
    fn as_operator(&self, tx: &mut Tx<'py>, args: &Args) -> R<Option<Var>> {
        let real = &self.probed.result;
        if !self.what.is_universal || !real.is_instance(tx.known.tensor.bind(tx.py))? {
            return Ok(None);
        }
        let path = format!("operator.{}", self.what.name);
        let function = self.what.real.clone().unbind();
        let callee = Callee::Function(&function, &path, tensor_meta::lookup_function(&path));
        let before = tx.snapshot();
        let made = tx.emit(&callee, args)?;
        if let Var::Tensor(t) = &made
            && let inferred = Inferred::Tensor((**tx.st.effects.meta(t)).clone())
            && self.fits(tx, &inferred)?
        {
            return Ok(Some(made));
        }
        tx.restore(&before);
        Ok(None)
    }

    /// Makes integer operands what a universal function of NumPy makes them before it computes: of the dtype of its
    /// floating-point result. Whether it does; torch may compute in another one.
    fn converts_operands(&self, tx: &mut Tx<'py>, args: &mut Args) -> R<bool> {
        let real = &self.probed.result;
        if !self.what.is_universal || !real.hasattr("dtype")? {
            return Ok(false);
        }
        let dtype = real.getattr("dtype")?;
        if dtype.getattr("kind")?.extract::<String>()? != "f" {
            return Ok(false);
        }
        let name: String = dtype.getattr("name")?.extract()?;
        let wanted = tx.known.torch.getattr(tx.py, &*name)?;
        let mut converts = false;
        for v in &mut args.pos {
            if let Var::Tensor(t) = v
                && tx.st.effects.meta(t).dtype.is_integral()
            {
                let wanted = tx.from_const(wanted.bind(tx.py).clone())?;
                *v = tx.emit(&Callee::Method("to"), &Args::pos(vec![v.clone(), wanted]))?;
                converts = true;
            }
        }
        Ok(converts)
    }

    fn differs(&self) -> Stop {
        Stop::brk(
            format!(
                "NumPy operation that torch does otherwise: {}",
                self.what.name
            ),
            "NumPy is captured as the operations that torch has on tensors; of this one torch's result has another class, dtype, size or memory than NumPy's.",
            "Name the dtype, use another function, or call it outside of the compiled function.",
        )
    }

    /// # Errors
    /// A break where an array may not be written to, or a compiler would not see who else has its memory.
    fn check_write(&self, tx: &Tx<'py>, at: usize) -> R<()> {
        if !self.real.stands[at].is_writeable {
            return Err(Stop::raises(
                format!("Write to a read-only NumPy array: {}", self.what.name),
                "NumPy refuses the write; the operation runs in eager mode so that it does.",
                "Write to a copy of the array.",
            ));
        }
        check_memory(tx)
    }

    /// The call once more, for a view that torch makes a copy for.
    fn view(&self, args: &Args, real: &Bound<'py, PyAny>) -> R<CallResult> {
        if !real.is(&self.probed.result) || !self.probed.writes.is_empty() {
            return Err(self.differs());
        }
        Ok(CallResult {
            function: self.what.real.clone().unbind(),
            pos: args.pos.clone(),
            kw: args.kw.clone(),
        })
    }

    /// The value that stands for a result.
    fn result(
        &self,
        tx: &mut Tx<'py>,
        args: &Args,
        real: &Bound<'py, PyAny>,
        torch: &Bound<'py, PyAny>,
        made: &Var,
    ) -> R<Var> {
        let stands = self.real.stands;
        if let Some(stand) = stands.iter().find(|s| s.real.is(real)) {
            return Ok(stand.value.clone());
        }
        if let Var::Tensor(_) = made {
            let is_view = shares(real, stands)?;
            let becomes_view = shares(torch, stands)?;
            let view = match is_view && !becomes_view {
                true => Some(self.view(args, real)?),
                false => None,
            };
            let made = match becomes_view && !is_view {
                true => tx.emit(&Callee::Method("clone"), &Args::pos(vec![made.clone()]))?,
                false => made.clone(),
            };
            let Var::Tensor(tensor) = made else {
                return Err(Stop::Internal("a clone that is no tensor".into()));
            };
            if real.is_instance(tx.known.tensor.bind(tx.py))? {
                return Ok(Var::Tensor(tensor));
            }
            let is_known = self.real.is_known && self.probed.writes.is_empty();
            let known = is_known.then(|| real.clone().unbind());
            let maker = match tx.known.is_ndarray(real) {
                false => Maker::Number,
                true if (real.getattr("flags")?.getattr("writeable")?).is_truthy()? => Maker::Array,
                true => Maker::ReadOnlyArray,
            };
            let item: i64 = real.getattr("itemsize")?.extract()?;
            let meta = (**tx.st.effects.meta(&tensor)).clone();
            let strides: Vec<i64> = real.getattr("strides")?.extract()?;
            let by_data = decided_by_data(tx, &meta)?;
            let own = match by_data {
                true => meta.stride(),
                false => SizesAt::Now.of_meta(tx, &meta)?.stride(),
            };
            let here: Vec<i64> = match own {
                Some(own) => own.iter().map(|s| s * item).collect(),
                None => strides.clone(),
            };
            if !by_data && self.other.is_some() && strides != here {
                return Err(self.differs());
            }
            let mut strides: Option<Rc<[i64]>> = (strides != here).then(|| strides.into());
            let mut tensor = tensor;
            if let (Some(wanted), false) = (&strides, is_view)
                && let Some(order) = dense_order(real, wanted)?
                && dense_order(real, &here)?.as_ref() != Some(&order)
            {
                tensor = laid_out(tx, tensor, &order)?;
                let here = tx.st.effects.meta(&tensor).stride().unwrap_or_default();
                let same = here.iter().map(|s| s * item).eq(wanted.iter().copied());
                strides = strides.filter(|_| !same);
            }
            let looks = Looks {
                strides,
                view,
                known,
                float: None,
            };
            return new_array(tx, tensor, class_of(real), maker, looks);
        }
        let items: Vec<Var> = match made {
            Var::Tuple(t) => t.items.clone(),
            Var::Obj(id) => match &tx.obj(*id).body {
                Body::List(items) => items.iter().cloned().collect(),
                _ => return Ok(made.clone()),
            },
            _ => return Ok(made.clone()),
        };
        let mut all = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let (real, torch) = (real.get_item(i)?, torch.get_item(i)?);
            all.push(self.result(tx, args, &real, &torch, item)?);
        }
        Ok(match real.is_exact_instance_of::<PyList>() {
            true => tx.new_list(all),
            false => Var::Tuple(Rc::new(TupleVar {
                items: all,
                class: (!real.is_exact_instance_of::<PyTuple>()).then(|| class_of(real)),
                origin: None,
            })),
        })
    }
}

fn is_dtype(py: Python<'_>, o: &Bound<'_, PyAny>) -> PyResult<bool> {
    o.is_instance(&py.import("numpy")?.getattr("dtype")?)
}

fn holds_array(tx: &Tx<'_>, o: &Bound<'_, PyAny>) -> bool {
    if let Ok(items) = o.cast::<PyTuple>() {
        return items.iter().any(|i| holds_array(tx, &i));
    }
    if let Ok(items) = o.cast::<PyList>() {
        return items.iter().any(|i| holds_array(tx, &i));
    }
    tx.known.is_ndarray(o)
}
