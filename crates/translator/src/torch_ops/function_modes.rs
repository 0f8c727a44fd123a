//! Function modes of the program: `torch.overrides.TorchFunctionMode`, which torch asks before it runs one of its
//! functions.
//!
//! Here the modes are a stack of the symbolic state. What a mode is handed, torch itself says (`overrides`); its
//! `__torch_function__` is then followed with the modes below it in force, as torch has it. So a graph holds
//! what the modes have made of the program's operations, and runs where no mode is in force.
//!
//! Invariant: while a mode is in force nothing becomes a node that the mode was not asked about, unless torch
//! does not ask it either.

use std::sync::Arc;

use guards::Source;
use pyo3::prelude::*;
use pyo3::types::PyString;
use variables::{Obj, OrderedMap, Var};

use super::contexts::{Effect, OpenContext};
use super::overrides::Told;
use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// What torch asks before it runs a function.
#[derive(Clone, Debug)]
pub enum FunctionMode {
    /// a mode with Python code of its own
    Program(Var),
    /// a device that was entered: factories make tensors there
    Device(Obj),
}

impl FunctionMode {
    /// The device, where it is one.
    pub(super) fn device(&self) -> Option<&Obj> {
        match self {
            FunctionMode::Device(device) => Some(device),
            FunctionMode::Program(_) => None,
        }
    }
}

/// What became of a call that a mode may be asked about.
pub(crate) enum Asked {
    /// the modes have answered it
    Answer(Var),
    /// torch runs it without asking
    Unseen,
    /// a Python function of torch, which does not ask as a whole; what it calls may
    Within,
}

impl<'py> Tx<'py> {
    /// The modes that were in force when the frame began, outermost first. The graph runs without them.
    pub fn begin_in_modes(&mut self, modes: &[Bound<'py, PyAny>]) -> R<()> {
        for (i, mode) in modes.iter().enumerate() {
            let mode = match is_device_mode(mode)? {
                true => FunctionMode::Device(mode.getattr("device")?.unbind()),
                false => {
                    let source = self.source(Source::FunctionMode { index: i as u32 });
                    FunctionMode::Program(self.lazy(mode.clone().unbind(), source))
                }
            };
            self.st.modes.push_back(mode);
        }
        self.outer_modes = modes.len();
        Ok(())
    }

    /// Whether a mode of the program sees the next call.
    pub fn is_seen(&self) -> bool {
        self.st
            .modes
            .iter()
            .any(|m| matches!(m, FunctionMode::Program(_)))
    }

    /// Whether a mode of the program is in force where the frame stands, be it that it is being asked: what
    /// waits until after the graph would be seen by it too late.
    pub fn has_modes(&self) -> bool {
        let entered = |o: &OpenContext| matches!(o.effect, Effect::Functions);
        self.outer_modes > 0 || self.st.contexts.iter().any(entered)
    }

    /// # Errors
    /// A break where a mode of the program, or a class of tensors, would see what is no single call of torch's.
    pub fn not_seen(&self, what: &str) -> R<()> {
        match self.is_seen() || self.met_subclass && !self.st.asks_no_class {
            true => Err(unseen(what)),
            false => Ok(()),
        }
    }

    /// Whether a mode of the program, or the class of one of these values, sees what is done with them.
    pub(crate) fn is_seen_with<'a>(&self, values: impl Iterator<Item = &'a Var>) -> bool {
        self.is_seen() || self.asks_classes(values)
    }

    /// # Errors
    /// A break where one of them would see what is no single call of torch's.
    pub fn not_seen_with(&self, what: &str, args: &Args) -> R<()> {
        match self.is_seen_with(args.values()) {
            true => Err(unseen(what)),
            false => Ok(()),
        }
    }

    /// Runs a rule as torch runs a function that it asks nobody about.
    pub(crate) fn without_modes<T>(&mut self, rule: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let modes = std::mem::take(&mut self.st.modes);
        let result = self.without_classes(rule);
        self.st.modes = modes;
        result
    }

    /// Enters a mode of the program.
    pub(super) fn enter_mode(&mut self, mode: &Var) -> R<Flow> {
        let subscripts = |o: &OpenContext| matches!(o.effect, Effect::Subscripts);
        if self.st.contexts.iter().any(subscripts) {
            return Err(unseen("a mode within one that looks at subscripts"));
        }
        self.st.contexts.push_back(OpenContext {
            context: mode.clone(),
            effect: Effect::Functions,
        });
        let entered = FunctionMode::Program(mode.clone());
        self.st.modes.push_back(entered);
        Ok(Flow::Value(mode.clone()))
    }

    /// Leaves the innermost of the modes that were in force when the frame began: the residual code does so too.
    /// `None` where it is another.
    pub(super) fn leave_outer_mode(&mut self, mode: &Var) -> R<Option<Flow>> {
        let Some(FunctionMode::Program(last)) = self.st.modes.last().cloned() else {
            return Ok(None);
        };
        let is_outer = self.st.modes.len() + self.st.left_modes == self.outer_modes;
        let last = self.realize(&last)?;
        let same = matches!((&last, mode), (Var::Obj(a), Var::Obj(b)) if a == b);
        if !is_outer || !same || self.nested > 0 {
            return Ok(None);
        }
        self.st.modes.pop_back();
        self.st.left_modes += 1;
        Ok(Some(Flow::Value(self.none())))
    }

    /// Whether torch may ask somebody about a call of a function: it has arguments of torch's kind, and C code or
    /// code of torch's.
    ///
    /// # Errors
    /// A break for a function of the program that is to be a node: what it calls would be seen.
    pub(crate) fn is_asked_about(&self, f: &Bound<'py, PyAny>, args: &Args) -> R<bool> {
        if !self.is_seen_with(args.values()) {
            return Ok(false);
        }
        if self.functions.get(f).is_some() || f.is(&self.known.device) {
            return Ok(true);
        }
        if self.is_allowed_in_graph(f)? {
            return Err(unseen("a function that is allowed in the graph"));
        }
        if self.is_graph_function(f)? {
            return Ok(true);
        }
        if !f.get_type().is(&self.known.builtin_function) {
            return Ok(false);
        }
        let text = |name: &str| -> String {
            let text = f.getattr(name).and_then(|v| v.extract());
            text.unwrap_or_default()
        };
        let name = text("__name__");
        let module = text("__module__");
        let torch = module.starts_with("torch") || module.is_empty();
        Ok(torch && (name == SET_GRAD || super::table::QUERIES.contains(&&*name)))
    }

    /// Asks the innermost mode about a call, or else the classes of the arguments.
    ///
    /// # Errors
    /// What they raise; the breaks that they come to; a break where torch does not say what they would be handed.
    pub(crate) fn ask(&mut self, f: &Bound<'py, PyAny>, args: &Args) -> R<Asked> {
        if self.st.vmap.is_active() {
            return Err(unseen("an operation in a transform"));
        }
        if !self.is_seen() {
            return self.ask_classes(f, args)?.ok_or_else(|| unseen("a call"));
        }
        let handed = match self.told_to_mode(f, args)? {
            Told::Handed(handed) => handed,
            Told::Within => return Ok(Asked::Within),
            Told::Ran => return Ok(Asked::Unseen),
            Told::Unknown => return Err(unseen("a call")),
        };
        self.hand_to_mode(handed).map(Asked::Answer)
    }

    /// Whether a device was entered within the innermost mode of the program.
    pub(super) fn is_under_device(&self) -> bool {
        matches!(self.st.modes.last(), Some(FunctionMode::Device(_)))
    }

    /// `__torch_function__` of the innermost mode, with those below it in force.
    fn hand_to_mode(&mut self, handed: Vec<Var>) -> R<Var> {
        let mut below = self.st.modes.clone();
        let mode = loop {
            match below.pop_back() {
                Some(FunctionMode::Program(mode)) => break mode,
                Some(FunctionMode::Device(_)) => {}
                None => return Err(Stop::Internal("there is no mode to ask".into())),
            }
        };
        let class = self.type_of(&mode)?;
        let own = self.class_lookup(&class, "__torch_function__")?;
        if !own.is_some_and(|f| f.bind(self.py).get_type().is(&self.known.function)) {
            return Err(unseen("one whose __torch_function__ is no method"));
        }
        let depth = below.len();
        let modes = std::mem::replace(&mut self.st.modes, below);
        let ask = self.getattr_sync(&mode, &"__torch_function__".into());
        let given = ask.and_then(|ask| self.call_sync(&ask, Args::pos(handed)));
        let changed = self.st.modes.len() != depth;
        self.st.modes = modes;
        let given = given?;
        if changed {
            return Err(unseen("a mode that is left open by another"));
        }
        if !given.is_dynamic_number() {
            let given = self.look(&given)?;
            if self.is_not_implemented(&given) {
                return Err(unseen("a call that the mode leaves to the arguments"));
            }
        }
        Ok(given)
    }

    /// `torch.overrides.handle_torch_function(function, relevant, *args, **kwargs)` where a mode is in force.
    ///
    /// # Errors
    /// As [`Tx::ask`].
    pub fn handled_by_mode(&mut self, args: &Args) -> R<Option<Flow>> {
        let [function, relevant, pos @ ..] = &args.pos[..] else {
            return Ok(None);
        };
        if !self.is_seen_with(args.pos[1..2].iter()) {
            return Ok(None);
        }
        let overrides = self.py.import("torch.overrides")?;
        let asked = Var::py(overrides.getattr("_get_overloaded_args")?.unbind());
        let asked = self.call_sync(&asked, Args::pos(vec![relevant.clone()]))?;
        let asked = self.iterate(&asked)?;
        let mut types = Vec::new();
        for v in &asked {
            let v = self.look(v)?;
            types.push(Var::py(self.type_of(&v)?));
        }
        let mut kwargs = OrderedMap::default();
        for (name, v) in &args.kw {
            let name = self.str(name);
            kwargs.insert(self.key(&name)?, name, v.clone());
        }
        let kwargs = self.new_dict(kwargs);
        let handed = vec![
            function.clone(),
            Var::tuple(types),
            Var::tuple(pos.to_vec()),
            kwargs,
        ];
        if self.is_seen() {
            return self.hand_to_mode(handed).map(|v| Some(Flow::Value(v)));
        }
        for v in asked {
            if let Some(given) = self.hand_to_class(&v, &handed)? {
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
    /// As [`Tx::ask`].
    pub(super) fn method_in_modes(&mut self, t: &Var, name: &str, args: &Args) -> R<Option<Flow>> {
        let Ok(f) = self.known.tensor.bind(self.py).getattr(name) else {
            return Ok(None);
        };
        let mut all = args.clone();
        all.pos.insert(0, t.clone());
        match self.ask(&f, &all)? {
            Asked::Answer(v) => Ok(Some(Flow::Value(v))),
            Asked::Unseen => Ok(None),
            Asked::Within => {
                let callee = self.existing_callee(&f, None)?;
                let flow = self.inline(callee, all, crate::state::OnReturn::Push)?;
                Ok(Some(flow))
            }
        }
    }

    /// An operator that the modes are asked about; `None` where torch does not ask.
    ///
    /// # Errors
    /// As [`Tx::ask`].
    pub(super) fn operator_in_modes(&mut self, name: &str, args: &[Var]) -> R<Option<Flow>> {
        let f = self.known.operator.bind(self.py).getattr(name)?;
        match self.ask(&f, &Args::pos(args.to_vec()))? {
            Asked::Answer(v) => Ok(Some(Flow::Value(v))),
            Asked::Unseen => Ok(None),
            Asked::Within => Err(unseen("an operator that is Python code")),
        }
    }

    /// Reads or writes an attribute of a tensor that the modes are asked about; `None` where torch does not ask.
    ///
    /// # Errors
    /// As [`Tx::ask`].
    pub(super) fn attribute_in_modes(
        &mut self,
        t: &Var,
        name: &Arc<str>,
        value: Option<&Var>,
    ) -> R<Option<Flow>> {
        let class = self.type_of(t)?;
        let class = class.bind(self.py).cast().map_err(PyErr::from)?.clone();
        let Some(found) = type_lookup(&class, name) else {
            return Ok(None);
        };
        let kind = found.bind(self.py).get_type();
        if !kind.is(&self.known.getset_descriptor) && !kind.is(&self.known.property) {
            return Ok(None);
        }
        let function = match value {
            Some(_) => "setattr",
            None => "getattr",
        };
        let f = self.known.builtins.bind(self.py).getattr(function)?;
        let mut pos = vec![t.clone(), self.str(name)];
        pos.extend(value.cloned());
        match self.ask(&f, &Args::pos(pos))? {
            Asked::Answer(v) => Ok(Some(Flow::Value(v))),
            Asked::Unseen => Ok(None),
            Asked::Within => Err(unseen("an attribute that is Python code")),
        }
    }

    /// What an answer to a question about the stack of modes is; `None` where no mode of the program is in force.
    ///
    /// # Errors
    /// A break where the answer is a mode that is no value here.
    pub(super) fn modes_question(&mut self, name: &str, args: &Args) -> R<Option<Var>> {
        if !self.is_seen() {
            return Ok(None);
        }
        match name {
            "_is_torch_function_mode_enabled" => Ok(Some(self.bool(true))),
            torch_abi::names::FUNCTION_STACK_LEN => Ok(Some(self.int(self.st.modes.len() as i64))),
            torch_abi::names::FUNCTION_STACK_AT => {
                let at = match args.pos.first() {
                    Some(at) => self.as_const(at)?,
                    None => None,
                };
                let at = at.and_then(|at| at.extract::<usize>(self.py).ok());
                match at.and_then(|at| self.st.modes.get(at)) {
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
    pub(crate) fn tensor_accessor(
        &mut self,
        f: &Bound<'py, PyAny>,
        args: &Args,
    ) -> R<Option<Flow>> {
        let Ok(descriptor) = f.getattr("__self__") else {
            return Ok(None);
        };
        if !descriptor.get_type().is(&self.known.getset_descriptor) || !args.kw.is_empty() {
            return Ok(None);
        }
        let class = descriptor.getattr("__objclass__")?;
        let tensor = self.known.tensor.bind(self.py);
        if class.is(&self.known.object) || !tensor.getattr("__mro__")?.contains(&class)? {
            return Ok(None);
        }
        let name: Arc<str> = Arc::from(descriptor.getattr("__name__")?.extract::<String>()?);
        let method = f.getattr("__name__")?;
        let method = method.cast::<PyString>().map_err(PyErr::from)?;
        match (&*method.to_string_lossy(), &args.pos[..]) {
            ("__get__", [t, ..]) => {
                let t = self.realize(t)?;
                match &t {
                    Var::Tensor(tv) => self.tensor_attr_of_torch(&tv.clone(), &t, &name).map(Some),
                    _ => Ok(None),
                }
            }
            ("__set__", [t, v]) => {
                let t = self.realize(t)?;
                match t {
                    Var::Tensor(_) => self.setattr(&t, &name, Some(v.clone())).map(Some),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
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
        if !is_device_mode(mode)? && !super::contexts::is_subscript_mode(&mode.get_type())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The break where a mode, or a class of tensors, would see something else than what is captured.
fn unseen(what: &str) -> Stop {
    Stop::brk(
        format!("__torch_function__: {what}"),
        "A torch function mode or a tensor subclass of the program would be asked here, which is not followed.",
        "Leave the mode before, use plain tensors, or move the code out of the compiled function.",
    )
}
