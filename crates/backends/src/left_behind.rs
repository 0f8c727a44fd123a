//! What a backend leaves behind that failed in the middle of a graph.
//!
//! A backend that runs the graph node by node has entered the contexts which the graph enters, and does not leave them
//! where it fails in between. Invariant: afterwards autocast, flags, levels of function transforms, whether hooks on saved
//! tensors are refused, and the dispatch keys of this thread are what they were before.

use std::collections::BTreeSet;

use fx_graph::{Arg, Graph, NodeData};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use torch_abi::contexts::{flag_setter, leaving_level};
use torch_abi::names::levels::LEAVE_TO;
use torch_abi::names::{
    AUTOGRAD_C, CONTEXTS, ContextKind, DUAL_LEVEL, ENTER_AUTOCAST, SAVED_HOOKS,
};

use crate::contexts::{changes_context, flag_set};
use crate::names;

/// The state that the contexts of a graph change, from before a backend gets it.
pub(crate) struct Before<'py> {
    torch: Bound<'py, PyAny>,
    torch_c: Bound<'py, PyAny>,
    /// Holds the dispatch keys while the backend runs, and puts them back when it is left.
    keys: Bound<'py, PyAny>,
    autocast: Vec<Autocast<'py>>,
    nesting: i64,
    /// the levels that the graph enters
    entered: Entered,
    /// functions that set a flag, with what it was
    flags: Vec<(&'static str, Bound<'py, PyAny>)>,
}

/// Autocast of one type of device.
struct Autocast<'py> {
    device: String,
    enabled: Bound<'py, PyAny>,
    dtype: Bound<'py, PyAny>,
}

impl<'py> Before<'py> {
    /// Saves the state, where a graph changes any of it.
    ///
    /// # Errors
    /// Whatever torch raises that is asked.
    pub(crate) fn save(py: Python<'py>, graph: &Graph) -> PyResult<Option<Before<'py>>> {
        let changes: Vec<&NodeData> = graph
            .iter()
            .map(|(_, node)| node)
            .filter(|node| changes_context(node))
            .collect();
        if changes.is_empty() {
            return Ok(None);
        }
        let torch = py.import(intern!(py, "torch"))?.into_any();
        let torch_c = py.import(names::TORCH_C)?.into_any();
        let mut devices = changes.iter().filter_map(|node| device_of(node));
        let autocast = devices.try_fold(Vec::new(), |mut all: Vec<Autocast<'py>>, device| {
            if all.iter().all(|known| known.device != device) {
                all.push(Autocast {
                    device: device.to_owned(),
                    enabled: torch.call_method1("is_autocast_enabled", (device,))?,
                    dtype: torch.call_method1("get_autocast_dtype", (device,))?,
                });
            }
            PyResult::Ok(all)
        })?;
        let getters: BTreeSet<_> = changes.iter().filter_map(|node| flag_set(node)).collect();
        let mut flags = Vec::new();
        for getter in getters {
            if let Some(setter) = flag_setter(getter) {
                flags.push((setter, torch_c.call_method0(getter)?));
            }
        }
        torch.call_method0(names::NEST_AUTOCAST)?;
        let nesting = torch.call_method0(names::UNNEST_AUTOCAST)?.extract()?;
        let keys = names::DISPATCH_KEYS.map(|name| torch_c.call_method0(name));
        let [included, excluded] = keys;
        let keys = torch_c.call_method1(names::HOLD_DISPATCH_KEYS, (included?, excluded?))?;
        let before = Before {
            autocast,
            nesting,
            entered: Entered::of(graph),
            flags,
            keys,
            torch,
            torch_c,
        };
        before.keys.call_method0(intern!(py, "__enter__"))?;
        Ok(Some(before))
    }

    /// Puts it back behind a backend that has raised `cause`, or behind one that has not.
    ///
    /// # Errors
    /// Whatever torch raises that is told.
    pub(crate) fn restore(self, cause: Option<&PyErr>) -> PyResult<()> {
        let py = self.torch.py();
        // Objects that the frames of the backend hold put back dispatch keys when they go: the keys that were in
        // force inside of the backend. So they go first.
        let cleared = match cause {
            Some(cause) => clear_frames(cause.value(py)),
            None => Ok(()),
        };
        let put_back = match cause {
            Some(_) => self.put_back(),
            None => self.put_flags_back(),
        };
        let none = py.None();
        let keys = self
            .keys
            .call_method1(intern!(py, "__exit__"), (&none, &none, &none));
        keys.map(drop).and(cleared).and(put_back)
    }

    fn put_back(&self) -> PyResult<()> {
        for known in &self.autocast {
            let set = |name: &str, value: &Bound<'py, PyAny>| {
                self.torch.call_method1(name, (&known.device, value))
            };
            set("set_autocast_enabled", &known.enabled)?;
            set("set_autocast_dtype", &known.dtype)?;
        }
        self.torch.call_method0(names::NEST_AUTOCAST)?;
        while self
            .torch
            .call_method0(names::UNNEST_AUTOCAST)?
            .extract::<i64>()?
            > self.nesting
        {}
        if self.nesting == 0 {
            self.torch.call_method0("clear_autocast_cache")?;
        }
        self.put_flags_back()?;
        self.entered.leave(&self.torch_c)?;
        Ok(())
    }

    /// A graph may leave flags as the program has set them, for what comes behind it: who runs the graph does that.
    fn put_flags_back(&self) -> PyResult<()> {
        for (setter, value) in &self.flags {
            self.torch_c.call_method1(*setter, (value,))?;
        }
        Ok(())
    }
}

/// The levels of torch's function transforms that a graph enters. None of them is entered where the graph is called:
/// inside of one, functions run in eager mode.
#[derive(Clone, Copy, Default)]
struct Entered {
    /// of a transform
    levels: bool,
    /// the level of forward mode
    dual: bool,
    /// hooks on saved tensors are refused
    refuses_hooks: bool,
}

impl Entered {
    fn of(graph: &Graph) -> Entered {
        let mut entered = Entered::default();
        for (_, node) in graph.iter() {
            let Some(function) = node.target.function() else {
                continue;
            };
            let context = CONTEXTS
                .iter()
                .find(|(_, enter, _)| *function.path == **enter);
            match context.map(|context| context.0) {
                Some(ContextKind::Level) => entered.levels = true,
                Some(ContextKind::DualLevel) => entered.dual = true,
                Some(ContextKind::RefusesHooks) => entered.refuses_hooks = true,
                Some(ContextKind::Mode) | None => {}
            }
        }
        entered
    }

    fn leave(self, torch_c: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.levels {
            let functorch = torch_c.getattr(names::FUNCTORCH)?;
            functorch.call_method1(LEAVE_TO, (0,))?;
        }
        if self.refuses_hooks {
            let autograd = torch_c.getattr(AUTOGRAD_C)?;
            autograd.call_method0(SAVED_HOOKS[1])?;
        }
        if self.dual {
            // It raises where the level was left.
            let _ = leaving_level(&torch_c.getattr(DUAL_LEVEL[1])?, 0)?.call0();
        }
        Ok(())
    }
}

/// What a backend made of a graph, so that it leaves the levels which the graph enters where it raises.
///
/// # Errors
/// Where Python can't make the function.
pub(crate) fn leaving_levels<'py>(
    callable: Bound<'py, PyAny>,
    graph: &Graph,
) -> PyResult<Bound<'py, PyAny>> {
    let entered = Entered::of(graph);
    if !(entered.levels || entered.dual || entered.refuses_hooks) {
        return Ok(callable);
    }
    let py = callable.py();
    let callable = callable.unbind();
    let call = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
        let py = args.py();
        callable.call1(py, args).or_else(|error| {
            entered.leave(&py.import(names::TORCH_C)?.into_any())?;
            Err(error)
        })
    };
    Ok(PyCFunction::new_closure(py, Some(c"leaving_levels"), None, call)?.into_any())
}

/// The type of device that a node enters autocast for.
fn device_of(node: &NodeData) -> Option<&str> {
    let function = node.target.function()?;
    match node.args.first() {
        Some(Arg::Str(device)) if *function.path == *ENTER_AUTOCAST => Some(device),
        _ => None,
    }
}

/// Clears the frames that an exception has come through, and those of the exceptions behind it.
fn clear_frames(raised: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = raised.py();
    let clear = py.import("traceback")?.getattr("clear_frames")?;
    let mut next = Some(raised.clone());
    // A chain of exceptions has no end where the program has tied it into a ring.
    for _ in 0..100 {
        let Some(raised) = next.take().filter(|raised| !raised.is_none()) else {
            break;
        };
        clear.call1((raised.getattr("__traceback__")?,))?;
        next = match raised.getattr("__cause__")? {
            cause if cause.is_none() => Some(raised.getattr("__context__")?),
            cause => Some(cause),
        };
    }
    Ok(())
}
