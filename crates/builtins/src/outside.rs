//! Calls that talk to the outside world: `print`, log records, warnings.
//!
//! They wait until the graph has run (see `deferred`), or break it.

use pyo3::prelude::*;
use translator::raw::derives_from;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use translator::values::Changing;
use variables::Var;

use crate::receivers::{self, keyword};

pub(crate) const RULES: RuleList = &[
    (
        "builtins",
        &[
            ("print", print as Rule),
            ("input", talk),
            ("breakpoint", talk),
            ("open", talk),
        ],
    ),
    ("warnings", &[("warn", warn), ("warn_explicit", talk)]),
    (
        "logging",
        &[
            ("Logger.debug", log),
            ("Logger.info", log),
            ("Logger.warning", log),
            ("Logger.warn", log),
            ("Logger.error", log),
            ("Logger.critical", log),
            ("Logger.log", log),
            ("LoggerAdapter.debug", log),
            ("LoggerAdapter.info", log),
            ("LoggerAdapter.warning", log),
            ("LoggerAdapter.error", log),
            ("LoggerAdapter.critical", log),
            ("LoggerAdapter.log", log),
            ("Logger.isEnabledFor", is_enabled_for),
            ("Logger.getEffectiveLevel", effective_level),
            ("debug", log),
            ("info", log),
            ("warning", log),
            ("warn", log),
            ("error", log),
            ("critical", log),
            ("log", log),
            ("getLogger", get_logger),
        ],
    ),
];

fn print(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let py = tx.py;
    // The stream may raise: for what it can't encode, or because it is closed.
    if tx.may_be_handled() {
        return talk(tx, name, args);
    }
    let mut pos = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        if let Some(v) = tx.as_changing(v, Changing::Any) {
            pos.push(v);
            continue;
        }
        if matches!(v, Var::Text(_)) {
            pos.push(v.clone());
            continue;
        }
        let v = tx.realize(v)?;
        // The text of what can change is made now; that of a tensor is known when the graph has run.
        pos.push(match &v {
            Var::Const(_) | Var::Tensor(_) => v,
            _ => crate::format::str_of(tx, &v)?,
        });
    }
    args.pos = pos;
    let file = match keyword(&args, "file") {
        Some(file) => Some(tx.realize(&file)?).filter(|f| !f.is_none(py)),
        None => None,
    };
    receivers::of_stream(tx, file)?;
    let printer = py.import("builtins")?.getattr(name)?.unbind();
    tx.defer(Var::py(printer), args, false).map(Some)
}

fn log(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    for (n, v) in &args.kw {
        let v = tx.realize(v)?;
        let off = v.is_none(tx.py)
            || matches!(&v, Var::Const(o) if o.bind(tx.py).is_truthy().is_ok_and(|t| !t));
        if matches!(&**n, "exc_info" | "stack_info") && !off {
            return Err(Stop::brk(
                format!("Log record with {n}"),
                "The record holds the call stack or the exception in flight, which exist in eager mode only.",
                "Move the call out of the compiled function.",
            ));
        }
    }
    let level = receivers::level_of(tx, name, &args)?;
    let logger = match name.contains('.') {
        true => args.pos.first().cloned(),
        false => None,
    };
    receivers::of_logger(tx, logger, level)?;
    let function = tx.py.import("logging")?.into_any();
    let function = name
        .split('.')
        .try_fold(function, |o, part| o.getattr(part))?;
    tx.defer(Var::py(function.unbind()), args, true).map(Some)
}

fn warn(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    check_warnings(tx)?;
    let function = tx.py.import("warnings")?.getattr(name)?.unbind();
    tx.defer(Var::py(function), args, true).map(Some)
}

/// Has a function called behind the graph that may warn, and does nothing else.
///
/// # Errors
/// As [`check_warnings`]; those of [`Tx::defer`].
pub(crate) fn warn_later(tx: &mut Tx<'_>, function: Var) -> R<()> {
    check_warnings(tx)?;
    tx.defer(function, Args::default(), false).map(drop)
}

/// Whether warnings can wait for the graph.
///
/// # Errors
/// A break where one may turn into an exception that the compiled function handles.
fn check_warnings(tx: &mut Tx<'_>) -> R<()> {
    let filters = tx.py.import("warnings")?.getattr("filters")?;
    let mut raises = false;
    for filter in filters.try_iter()? {
        raises |= filter?.get_item(0)?.eq("error")?;
    }
    if raises || tx.may_be_handled() {
        return Err(Stop::brk(
            "Warning that may be raised as an exception",
            "A filter of `warnings` may turn the warning into an exception, so it runs in eager mode between two graphs.",
            "Warn outside of `try` blocks, or outside of the compiled function.",
        ));
    }
    receivers::of_warnings(tx)
}

fn talk(_: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    Err(Stop::brk(
        format!("Call of {name}()"),
        format!(
            "`{name}` talks to the outside world, so it runs in eager mode between two graphs, in order."
        ),
        "Move the call before or after the computation, or out of the compiled function.",
    ))
}

/// What `logging.Logger` answers about levels, without its cache and its lock.
const LEVELS: &std::ffi::CStr = c"
def getEffectiveLevel(self):
    logger = self
    while logger is not None:
        if logger.level:
            return logger.level
        logger = logger.parent
    return 0

def isEnabledFor(self, level):
    if self.disabled or self.manager._disable >= level:
        return False
    return level >= self.getEffectiveLevel()
";

variables::own_module! {
    static LEVEL_FUNCTIONS = (LEVELS, c"<ferrodyn logging>", c"ferrodyn_logging");
}

fn level_function(tx: &mut Tx<'_>, name: &str, args: Args) -> Given {
    let function = LEVEL_FUNCTIONS.get(tx.py)?.getattr(name)?.unbind();
    tx.call(&Var::py(function), args).map(Some)
}

fn is_enabled_for(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    level_function(tx, "isEnabledFor", args)
}

fn effective_level(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    level_function(tx, "getEffectiveLevel", args)
}

/// A logger that exists already: there is one for each name, for good.
fn get_logger(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let py = tx.py;
    let given = tx.by_name(name, args, &["name"], 0, 1)?;
    let wanted = match given.into_iter().next().flatten() {
        Some(v) => match tx.as_const(&v)? {
            Some(o) => o,
            None => return Err(talk_of(name)),
        },
        None => py.None(),
    };
    let logging = py.import("logging")?;
    let root = logging.getattr("root")?;
    let wanted = wanted.bind(py);
    let found = if !wanted.is_truthy()? || wanted.eq(root.getattr("name")?)? {
        Some(root)
    } else {
        let loggers = logging
            .getattr("Logger")?
            .getattr("manager")?
            .getattr("loggerDict")?;
        match loggers.get_item(wanted) {
            Ok(l) if derives_from(&l, &logging.getattr("Logger")?) => Some(l),
            _ => None,
        }
    };
    let Some(logger) = found else {
        return Err(talk_of(name));
    };
    let logger = logger.unbind();
    let source = tx.pinned_source(&logger, false, "logger");
    value(tx.build(&logger, source)?)
}

fn talk_of(name: &str) -> Stop {
    Stop::brk(
        format!("Call of logging.{name}() that makes a logger"),
        "The logger does not exist yet, so it is made in eager mode between two graphs.",
        "Make the logger outside of the compiled function.",
    )
}
