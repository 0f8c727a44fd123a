//! Global flags of torch that a program sets for a while, such as which kernels attention may use.
//!
//! Invariant: the graph sets a flag where the program does, and what the program reads afterwards is
//! what it set. What a compiler makes of the graph computes as under the flag, but sets none: the residual code does.

use fx_graph::Arg;
use pyo3::prelude::*;
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::Var;

pub(crate) const RULES: RuleList = &[
    (
        "torch.nn.attention",
        &[("sdpa_kernel", sdpa_kernel as Rule)],
    ),
    (
        "torch",
        &[("use_deterministic_algorithms", determinism as Rule)],
    ),
    (
        names::TORCH_C,
        &[("_set_deterministic_algorithms", determinism as Rule)],
    ),
];

/// The context without its order of kernels: torch also keeps whether there is one, in a variable of
/// the thread's that it then sets to what it is.
const CONTEXT: &std::ffi::CStr = c"
import contextlib
from torch.nn import attention

@contextlib.contextmanager
def sdpa_kernel(backends):
    if isinstance(backends, attention.SDPBackend):
        backends = [backends]
    chosen = attention._cur_sdpa_kernel_backends()
    try:
        attention._sdpa_kernel(backends)
        yield {}
    finally:
        attention._sdpa_kernel(chosen)
";

variables::own_module! {
    static MODULE = (CONTEXT, c"<ferrodyn attention>", c"ferrodyn_attention");
}

fn sdpa_kernel(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let given = tx.by_name(name, args, &["backends", "set_priority"], 1, 2)?;
    let [Some(backends), order] = &given[..] else {
        return Ok(None);
    };
    let attention = tx.py.import("torch.nn.attention")?;
    let class = tx.type_of(backends)?;
    if !class.is(&tx.known.list) && !class.is(&attention.getattr("SDPBackend")?) {
        return Ok(None);
    }
    if let Some(order) = order
        && tx.truth(order)?
    {
        return Err(tx.skipped(&attention.getattr(name)?));
    }
    let function = MODULE.get(tx.py)?.getattr(name)?.unbind();
    tx.call(&Var::py(function), Args::pos(vec![backends.clone()]))
        .map(Some)
}

/// Both functions that choose deterministic algorithms. The graph has the one that sets torch's flags; what was called
/// is called behind it, as the other one also writes to an option of inductor.
fn determinism(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let py = tx.py;
    let given = tx.by_name(name, args, &["mode", "warn_only"], 1, 1)?;
    let mut flags = [false; 2];
    for (flag, value) in flags.iter_mut().zip(&given) {
        let Some(value) = value else { continue };
        let value = tx.realize(value)?;
        let known = tx.known.bool_.clone();
        if !tx.type_of(&value)?.is(&known) {
            return Ok(None);
        }
        *flag = tx.truth(&value)?;
    }
    let [mode, warn_only] = flags;
    let torch = tx.known.torch.bind(py).clone();
    let torch_c = tx.known.torch_c.bind(py).clone();
    let setter = torch_c.getattr("_set_deterministic_algorithms")?;
    let path = format!("{}._set_deterministic_algorithms", names::TORCH_C);
    let target = tx.target(&setter.unbind(), &path)?;
    let kwargs = [("warn_only".into(), Arg::Bool(warn_only))];
    let graph = &mut tx.log.graph;
    let node = graph.call_function(target, vec![Arg::Bool(mode)], kwargs.into_iter().collect());
    graph.set_impure(node, true);
    tx.st.needs_as_is |= tx.runs_as_is;
    for (getter, value) in names::DETERMINISM.into_iter().zip(flags) {
        let value = tx.bool(value);
        tx.st.flags.insert(getter, value);
    }
    let called = torch
        .getattr_opt(name)?
        .map_or_else(|| torch_c.getattr(name), Ok)?;
    let args = Args {
        pos: vec![tx.bool(mode)],
        kw: vec![("warn_only".into(), tx.bool(warn_only))],
    };
    tx.defer_silent(Var::py(called.unbind()), args);
    Ok(Some(Flow::Value(tx.none())))
}

/// Sets a flag, here and in the graph; `None` for a value that is not known.
///
/// # Errors
/// As [`Tx::realize`].
pub(crate) fn set_flag(tx: &mut Tx<'_>, f: &Bound<'_, PyAny>, args: &Args) -> R<Option<Var>> {
    let name: String = f.getattr("__name__")?.extract()?;
    let (Some(getter), [value]) = (torch_abi::contexts::flag_getter(&name), args.pos.as_slice())
    else {
        return Ok(None);
    };
    let Some(real) = tx.real_copy(value)? else {
        return Ok(None);
    };
    let arg: Arg = match tx.node_arg(value) {
        Ok((arg, _)) => arg,
        Err(_) => return Ok(None),
    };
    tx.state_node(f, names::TORCH_C, vec![arg])?;
    tx.st.needs_as_is |= tx.runs_as_is;
    // What is read later is a value of its own: the program may change a list that it passed.
    let kept = tx.from_const(real)?;
    tx.st.flags.insert(getter, kept);
    Ok(Some(tx.none()))
}
