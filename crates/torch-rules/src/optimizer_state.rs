//! What an optimizer keeps for each parameter, made before the graph of its step.
//!
//! An optimizer makes it in its first step. A graph with that in it is good for one call, so the next call would be
//! compiled again. As under torch's own tracer, torch's function that makes it is run while tracing, and the graph is
//! the one of all later steps. This is the one place where tracing has an effect that the program can see: it is the
//! effect of the step that is being traced, of which only the order to what else the step does is another.
//!
//! Invariant: it is run only with what the step itself would find: nothing of the optimizer, of its groups, of
//! parameters and gradients was changed while tracing, and nothing of its state was looked at.

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use translator::rules::{Given, Rule, RuleList};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::contexts::Effect;
use variables::{Body, Origin, Var};

const MODULE: &str = "torch.optim";
/// What a function that torch's tracer stays out of wraps.
const INNER: &str = "_torchdynamo_orig_callable";

/// The functions of these classes, with what torch's tracer puts around each once it is used.
macro_rules! of_classes {
    ($($class:literal)*) => {
        &[$(
            (concat!($class, "._init_group"), make_state as Rule),
            (concat!($class, "._init_group._torchdynamo_orig_callable"), make_state as Rule),
        )*]
    };
}

pub(crate) const RULES: RuleList = &[
    (
        MODULE,
        of_classes!("Adadelta" "Adafactor" "Adam" "Adamax" "ASGD" "Muon" "NAdam" "RAdam" "RMSprop" "Rprop"),
    ),
    ("torch.optim.adam", &[("_fused_adam", fused as Rule)]),
    ("torch.optim.sgd", &[("_fused_sgd", fused as Rule)]),
    ("torch.optim.adagrad", &[("_fused_adagrad", fused as Rule)]),
];

/// An optimizer and its groups.
type Found<'py> = (Bound<'py, PyAny>, Vec<Bound<'py, PyAny>>);

/// A fused step, which torch's compilers do not take: an operation that writes to several lists has a kernel of theirs
/// only for Adam, and that one refuses an empty list, which only `amsgrad` fills. torch's own tracer stays out as well.
fn fused(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    if tx.runs_as_is {
        return Ok(None);
    }
    if let Some(v) = args.named("amsgrad").cloned()
        && tx.truth(&v)?
    {
        return Ok(None);
    }
    Err(Stop::brk(
        "Fused step of an optimizer",
        "torch's compilers do not take the operation that a fused step is, so the step runs in eager mode.",
        "Leave out `fused=True`: the compiler fuses the operations of the step itself.",
    ))
}

/// Makes the state if that is to be done, and leaves the call to whoever follows it.
fn make_state(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let py = tx.py;
    if tx.nested > 0 || tx.ways.here.is_none() || !is_outer_torch(tx) {
        return Ok(None);
    }
    let Some((optimizer, groups)) = untouched(tx, &args)? else {
        return Ok(None);
    };
    let module = py.import(MODULE)?.into_any();
    let listed = name.split('.').try_fold(module, |o, n| o.getattr(n))?;
    let own = optimizer.get_type().getattr(intern!(py, "_init_group"))?;
    if !unwrapped(listed.clone()).is(unwrapped(own)) || !needs_state(&optimizer, &groups)? {
        return Ok(None);
    }
    for group in &groups {
        let mut all = vec![optimizer.clone(), group.clone()];
        all.extend(args.pos[2..].iter().map(|_| PyList::empty(py).into_any()));
        match listed.call1(PyTuple::new(py, all)?) {
            // What it raises is raised by the call that follows as well.
            Err(error) if error.is_instance_of::<PyException>(py) => break,
            made => drop(made?),
        }
    }
    Ok(None)
}

/// Whether torch is in the state in which the frame found it, as far as new tensors depend on that.
fn is_outer_torch(tx: &Tx<'_>) -> bool {
    tx.outer_modes == 0
        && tx.st.modes.is_empty()
        && tx.st.flags.is_empty()
        && !tx.st.levels.is_active()
        && tx
            .st
            .contexts
            .iter()
            .all(|context| matches!(context.effect, Effect::Label))
}

/// The optimizer and its groups, where the call finds them as they are outside.
fn untouched<'py>(tx: &mut Tx<'py>, args: &Args) -> R<Option<Found<'py>>> {
    let py = tx.py;
    let [optimizer, _, lists @ ..] = &args.pos[..] else {
        return Ok(None);
    };
    let is_empty = |v: &Var| matches!(v, Var::Obj(id) if matches!(&tx.obj(*id).body, Body::List(l) if l.is_empty()));
    // What was written to a parameter or its gradient is seen by the graph alone.
    if !args.kw.is_empty() || !lists.iter().all(is_empty) || !tx.st.effects.tensor_writes.is_empty()
    {
        return Ok(None);
    }
    let optimizer = tx.realize(optimizer)?;
    let Var::Obj(id) = optimizer else {
        return Ok(None);
    };
    let Origin::Source { obj, .. } = tx.obj(id).origin.clone() else {
        return Ok(None);
    };
    let real = obj.bind(py).clone();
    let mut found = Vec::with_capacity(2);
    for name in ["state", "param_groups"] {
        let value = tx.getattr_sync(&optimizer, &name.into())?;
        let outside = real.getattr(name)?;
        let Var::Lazy(lazy) = &value else {
            return Ok(None);
        };
        if !lazy.obj.is(&outside) {
            return Ok(None);
        }
        found.push(outside);
    }
    if tx.st.effects.known(found[0].as_ptr() as usize).is_some() {
        return Ok(None);
    }
    let is_unchanged = |o: &Bound<'py, PyAny>| match tx.st.effects.known(o.as_ptr() as usize) {
        Some(Var::Obj(id)) => !tx.obj(*id).is_dirty(),
        known => known.is_none(),
    };
    let mut groups = Vec::new();
    if !is_unchanged(&found[1]) {
        return Ok(None);
    }
    for group in found[1].try_iter()? {
        let group = group?;
        let params = group.get_item(intern!(py, "params"))?;
        if !is_unchanged(&group) || !is_unchanged(&params) {
            return Ok(None);
        }
        groups.push(group);
    }
    Ok(Some((real, groups)))
}

/// The function inside of what keeps torch's tracer out.
fn unwrapped(mut function: Bound<'_, PyAny>) -> Bound<'_, PyAny> {
    while let Ok(inner) = function.getattr(INNER) {
        function = inner;
    }
    function
}

/// Whether a parameter with a gradient has nothing kept for it.
fn needs_state(optimizer: &Bound<'_, PyAny>, groups: &[Bound<'_, PyAny>]) -> PyResult<bool> {
    let py = optimizer.py();
    let state = optimizer.getattr(intern!(py, "state"))?;
    let Ok(state) = state.cast::<PyDict>() else {
        return Ok(false);
    };
    for group in groups {
        for parameter in group.get_item(intern!(py, "params"))?.try_iter()? {
            let parameter = parameter?;
            if !parameter.getattr(intern!(py, "grad"))?.is_none()
                && match state.get_item(&parameter)? {
                    Some(kept) => kept.len()? == 0,
                    None => true,
                }
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
