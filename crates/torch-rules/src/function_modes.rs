//! Function modes of the program: `torch.overrides.TorchFunctionMode`, which torch asks before it runs one of its
//! functions.
//!
//! The modes are a stack of the symbolic state (`variables::contexts`). What a mode is handed, torch
//! itself says (`overrides`); its `__torch_function__` is then followed with the modes below it in force, as torch has
//! it. So a graph holds what the modes have made of the program's operations, and runs where no mode is in force.
//!
//! Invariant: while a mode is in force nothing becomes a node that the mode was not asked about, unless torch
//! does not ask it either.

use std::sync::Arc;

use guards::Source;
use pyo3::prelude::*;
use pyo3::types::PyString;
use translator::raw::type_lookup;
use translator::stop::{R, Stop};
use translator::torch_ops::function_modes::{Asked, unseen};
use translator::tx::{Args, Flow, Tx};
use variables::contexts::FunctionMode;
use variables::contexts::{Effect, OpenContext};
use variables::{OrderedMap, Var};

use crate::overrides::Told;

/// The modes that were in force when the frame began, outermost first. The graph runs without them.
pub fn begin_in_modes<'py>(tx: &mut Tx<'py>, modes: &[Bound<'py, PyAny>]) -> R<()> {
    for (i, mode) in modes.iter().enumerate() {
        let mode = match is_device_mode(mode)? {
            true => FunctionMode::Device(mode.getattr("device")?.unbind()),
            false => {
                let source = tx.source(Source::FunctionMode { index: i as u32 });
                FunctionMode::Program(tx.lazy(mode.clone().unbind(), source))
            }
        };
        tx.st.modes.push_back(mode);
    }
    tx.outer_modes = modes.len();
    Ok(())
}

/// Enters a mode of the program.
pub(crate) fn enter_mode(tx: &mut Tx<'_>, mode: &Var) -> R<Flow> {
    let subscripts = |o: &OpenContext| matches!(o.effect, Effect::Subscripts);
    if tx.st.contexts.iter().any(subscripts) {
        return Err(unseen("a mode within one that looks at subscripts"));
    }
    tx.st.contexts.push_back(OpenContext {
        context: mode.clone(),
        effect: Effect::Functions,
    });
    let entered = FunctionMode::Program(mode.clone());
    tx.st.modes.push_back(entered);
    Ok(Flow::Value(mode.clone()))
}

/// Leaves the innermost of the modes that were in force when the frame began: the residual code does so too.
/// `None` where it is another.
pub(crate) fn leave_outer_mode(tx: &mut Tx<'_>, mode: &Var) -> R<Option<Flow>> {
    let Some(FunctionMode::Program(last)) = tx.st.modes.last().cloned() else {
        return Ok(None);
    };
    let is_outer = tx.st.modes.len() + tx.st.left_modes == tx.outer_modes;
    let last = tx.realize(&last)?;
    let same = matches!((&last, mode), (Var::Obj(a), Var::Obj(b)) if a == b);
    if !is_outer || !same || tx.nested > 0 {
        return Ok(None);
    }
    tx.st.modes.pop_back();
    tx.st.left_modes += 1;
    Ok(Some(Flow::Value(tx.none())))
}

/// Whether torch may ask somebody about a call of a function: it has arguments of torch's kind, and C code or
/// code of torch's.
///
/// # Errors
/// A break for a function of the program that is to be a node: what it calls would be seen.
pub(crate) fn is_asked_about<'py>(tx: &Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> R<bool> {
    if !tx.is_seen_with(args.values()) {
        return Ok(false);
    }
    if tx.functions.get(f).is_some() || f.is(&tx.known.device) {
        return Ok(true);
    }
    if tx.is_allowed_in_graph(f)? {
        return Err(unseen("a function that is allowed in the graph"));
    }
    if tx.is_graph_function(f)? {
        return Ok(true);
    }
    if !f.get_type().is(&tx.known.builtin_function) {
        return Ok(false);
    }
    let text = |name: &str| -> String {
        let text = f.getattr(name).and_then(|v| v.extract());
        text.unwrap_or_default()
    };
    let name = text("__name__");
    let module = text("__module__");
    let torch = module.starts_with("torch") || module.is_empty();
    let traits = tensor_meta::function_traits(&format!("torch.{name}"));
    Ok(torch && (name == SET_GRAD || traits.any(tensor_meta::Does::QUERY)))
}

/// Asks the innermost mode about a call, or else the classes of the arguments.
///
/// # Errors
/// What they raise; the breaks that they come to; a break where torch does not say what they would be handed.
pub(crate) fn ask<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> R<Asked> {
    if tx.st.levels.is_active() {
        return Err(unseen("an operation in a transform"));
    }
    if !tx.is_seen() {
        return crate::overrides::ask_classes(tx, f, args)?.ok_or_else(|| unseen("a call"));
    }
    let handed = match crate::overrides::told_to_mode(tx, f, args)? {
        Told::Handed(handed) => handed,
        Told::Within => return Ok(Asked::Within),
        Told::Ran => return Ok(Asked::Unseen),
        Told::Unknown => return Err(unseen("a call")),
    };
    hand_to_mode(tx, handed).map(Asked::Answer)
}

/// Whether a device was entered within the innermost mode of the program.
pub(crate) fn is_under_device(tx: &Tx<'_>) -> bool {
    matches!(tx.st.modes.last(), Some(FunctionMode::Device(_)))
}

/// `__torch_function__` of the innermost mode, with those below it in force.
fn hand_to_mode(tx: &mut Tx<'_>, handed: Vec<Var>) -> R<Var> {
    let mut below = tx.st.modes.clone();
    let mode = loop {
        match below.pop_back() {
            Some(FunctionMode::Program(mode)) => break mode,
            Some(FunctionMode::Device(_)) => {}
            None => return Err(Stop::Internal("there is no mode to ask".into())),
        }
    };
    let class = tx.type_of(&mode)?;
    let own = tx.class_lookup(&class, "__torch_function__")?;
    if !own.is_some_and(|f| f.bind(tx.py).get_type().is(&tx.known.function)) {
        return Err(unseen("one whose __torch_function__ is no method"));
    }
    let depth = below.len();
    let modes = std::mem::replace(&mut tx.st.modes, below);
    let ask = tx.getattr_sync(&mode, &"__torch_function__".into());
    let given = ask.and_then(|ask| tx.call_sync(&ask, Args::pos(handed)));
    let changed = tx.st.modes.len() != depth;
    tx.st.modes = modes;
    let given = given?;
    if changed {
        return Err(unseen("a mode that is left open by another"));
    }
    if !given.is_dynamic_number() {
        let given = tx.look(&given)?;
        if tx.is_not_implemented(&given) {
            return Err(unseen("a call that the mode leaves to the arguments"));
        }
    }
    Ok(given)
}

/// `torch.overrides.handle_torch_function(function, relevant, *args, **kwargs)` where a mode is in force.
///
/// # Errors
/// As [`ask`].
pub fn handled_by_mode(tx: &mut Tx<'_>, args: &Args) -> R<Option<Flow>> {
    let [function, relevant, pos @ ..] = &args.pos[..] else {
        return Ok(None);
    };
    if !tx.is_seen_with(args.pos[1..2].iter()) {
        return Ok(None);
    }
    let overrides = tx.py.import("torch.overrides")?;
    let asked = Var::py(overrides.getattr("_get_overloaded_args")?.unbind());
    let asked = tx.call_sync(&asked, Args::pos(vec![relevant.clone()]))?;
    let asked = tx.iterate(&asked)?;
    let mut types = Vec::new();
    for v in &asked {
        let v = tx.look(v)?;
        types.push(Var::py(tx.type_of(&v)?));
    }
    let mut kwargs = OrderedMap::default();
    for (name, v) in &args.kw {
        let name = tx.str(name);
        kwargs.insert(tx.key(&name)?, name, v.clone());
    }
    let kwargs = tx.new_dict(kwargs);
    let handed = vec![
        function.clone(),
        Var::tuple(types),
        Var::tuple(pos.to_vec()),
        kwargs,
    ];
    if tx.is_seen() {
        return hand_to_mode(tx, handed).map(|v| Some(Flow::Value(v)));
    }
    for v in asked {
        if let Some(given) = crate::overrides::hand_to_class(tx, &v, &handed)? {
            return Ok(Some(Flow::Value(given)));
        }
    }
    Err(unseen(
        "a call that every `__torch_function__` leaves to others",
    ))
}

/// A method of a tensor that the modes are asked about; `None` where torch does not ask.
///
/// # Errors
/// As [`ask`].
pub(crate) fn method_in_modes(
    tx: &mut Tx<'_>,
    t: &Var,
    name: &str,
    args: &Args,
) -> R<Option<Flow>> {
    let Ok(f) = tx.known.tensor.bind(tx.py).getattr(name) else {
        return Ok(None);
    };
    let mut all = args.clone();
    all.pos.insert(0, t.clone());
    match ask(tx, &f, &all)? {
        Asked::Answer(v) => Ok(Some(Flow::Value(v))),
        Asked::Unseen => Ok(None),
        Asked::Within => {
            let callee = tx.existing_callee(&f, None)?;
            let flow = tx.inline(callee, all, translator::state::OnReturn::Push)?;
            Ok(Some(flow))
        }
    }
}

/// An operator that the modes are asked about; `None` where torch does not ask.
///
/// # Errors
/// As [`ask`].
pub(crate) fn operator_in_modes(tx: &mut Tx<'_>, name: &str, args: &[Var]) -> R<Option<Flow>> {
    let f = tx.known.operator.bind(tx.py).getattr(name)?;
    match ask(tx, &f, &Args::pos(args.to_vec()))? {
        Asked::Answer(v) => Ok(Some(Flow::Value(v))),
        Asked::Unseen => Ok(None),
        Asked::Within => Err(unseen("an operator that is Python code")),
    }
}

/// Reads or writes an attribute of a tensor that the modes are asked about; `None` where torch does not ask.
///
/// # Errors
/// As [`ask`].
pub(crate) fn attribute_in_modes(
    tx: &mut Tx<'_>,
    t: &Var,
    name: &Arc<str>,
    value: Option<&Var>,
) -> R<Option<Flow>> {
    let class = tx.type_of(t)?;
    let class = class.bind(tx.py).cast().map_err(PyErr::from)?.clone();
    let Some(found) = type_lookup(&class, name) else {
        return Ok(None);
    };
    let kind = found.bind(tx.py).get_type();
    if !kind.is(&tx.known.getset_descriptor) && !kind.is(&tx.known.property) {
        return Ok(None);
    }
    let function = match value {
        Some(_) => "setattr",
        None => "getattr",
    };
    let f = tx.known.builtins.bind(tx.py).getattr(function)?;
    let mut pos = vec![t.clone(), tx.str(name)];
    pos.extend(value.cloned());
    match ask(tx, &f, &Args::pos(pos))? {
        Asked::Answer(v) => Ok(Some(Flow::Value(v))),
        Asked::Unseen => Ok(None),
        Asked::Within => Err(unseen("an attribute that is Python code")),
    }
}

/// What an answer to a question about modes is, or whether classes are asked; `None` where no mode of the program is in
/// force.
///
/// # Errors
/// A break where the answer is a mode that is no value here.
pub(crate) fn modes_question(tx: &mut Tx<'_>, name: &str, args: &Args) -> R<Option<Var>> {
    if name == torch_abi::names::CLASSES_ARE_ASKED {
        return Ok(Some(tx.bool(!tx.st.asks_no_class)));
    }
    if !tx.is_seen() {
        return Ok(None);
    }
    match name {
        "_is_torch_function_mode_enabled" => Ok(Some(tx.bool(true))),
        torch_abi::names::FUNCTION_STACK_LEN => Ok(Some(tx.int(tx.st.modes.len() as i64))),
        torch_abi::names::FUNCTION_STACK_AT => {
            let at = match args.pos.first() {
                Some(at) => tx.as_const(at)?,
                None => None,
            };
            let at = at.and_then(|at| at.extract::<usize>(tx.py).ok());
            match at.and_then(|at| tx.st.modes.get(at)) {
                Some(FunctionMode::Program(mode)) => Ok(Some(mode.clone())),
                _ => Err(unseen("a device as a mode")),
            }
        }
        _ => Ok(None),
    }
}

/// `Tensor.name.__get__(t)` and `Tensor.name.__set__(t, v)`, which modes are handed for attributes; `None`
/// for another function.
///
/// # Errors
/// As [`Tx::getattr`] and [`Tx::setattr`].
pub(crate) fn tensor_accessor<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    args: &Args,
) -> R<Option<Flow>> {
    let Ok(descriptor) = f.getattr("__self__") else {
        return Ok(None);
    };
    if !descriptor.get_type().is(&tx.known.getset_descriptor) || !args.kw.is_empty() {
        return Ok(None);
    }
    let class = descriptor.getattr("__objclass__")?;
    let tensor = tx.known.tensor.bind(tx.py);
    if class.is(&tx.known.object) || !tensor.getattr("__mro__")?.contains(&class)? {
        return Ok(None);
    }
    let name: Arc<str> = Arc::from(descriptor.getattr("__name__")?.extract::<String>()?);
    let method = f.getattr("__name__")?;
    let method = method.cast::<PyString>().map_err(PyErr::from)?;
    match (&*method.to_string_lossy(), &args.pos[..]) {
        ("__get__", [t, ..]) => {
            let t = tx.realize(t)?;
            match &t {
                Var::Tensor(tv) => tx.tensor_attr_of_torch(&tv.clone(), &t, &name).map(Some),
                _ => Ok(None),
            }
        }
        ("__set__", [t, v]) => {
            let t = tx.realize(t)?;
            match t {
                Var::Tensor(_) => tx.setattr(&t, &name, Some(v.clone())).map(Some),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

const SET_GRAD: &str = "_set_grad_enabled";

/// Whether a mode is the one by which torch makes tensors on a device.
fn is_device_mode(mode: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = mode
        .py()
        .import("torch.utils._device")?
        .getattr("DeviceContext")?;
    Ok(mode.get_type().is(&class))
}

/// Whether there are modes to follow. Those of torch that only move tensors or turn subscripts into look-ups are
/// none: a graph runs within them.
///
/// # Errors
/// Where torch lacks the class of devices that are entered.
pub fn has_program_mode(modes: &[Bound<'_, PyAny>]) -> PyResult<bool> {
    for mode in modes {
        if !is_device_mode(mode)? && !crate::contexts::is_subscript_mode(&mode.get_type())? {
            return Ok(true);
        }
    }
    Ok(false)
}
