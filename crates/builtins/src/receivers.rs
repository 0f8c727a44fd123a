//! Who is given what `print`, loggers and `warnings` put out.
//!
//! A call of these waits until the graph has run (see `deferred`), so nothing in between may see that it was not made
//! yet. Code of the program that gets the output may change whatever the rest of the function reads: then the call
//! runs as plain Python, in its place. C code and libraries that get it are taken to change nothing of the program's.
//!
//! Invariant: what decides who gets the output is guarded.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyModule};
use translator::library::is_library;
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::Var;

/// Whom `logging` calls for a record, as methods; nobody where the level is not enabled.
const CODE: &std::ffi::CStr = c"
def receivers(logger, level):
    if logger.disabled or logger.manager._disable >= level:
        return []
    deciding = logger
    while deciding is not None and not deciding.level:
        deciding = deciding.parent
    if deciding is not None and level < deciding.level:
        return []
    found = [logger.handle, *filters(logger)]
    while logger is not None:
        for handler in logger.handlers:
            if level >= handler.level:
                found += [handler.handle, handler.emit, *filters(handler)]
                if handler.formatter is not None:
                    found.append(handler.formatter.format)
                stream = getattr(handler, 'stream', None)
                if stream is not None:
                    found.append(stream.write)
        if not logger.propagate:
            break
        logger = logger.parent
    return found

def filters(owner):
    return [getattr(f, 'filter', f) for f in owner.filters]
";

variables::own_module! {
    static RECEIVERS = (CODE, c"<ferrodyn output>", c"ferrodyn_output");
}

/// A break where code of the program gets what is written to a stream; `None` is `sys.stdout`.
pub(crate) fn of_stream(tx: &mut Tx<'_>, stream: Option<Var>) -> R<()> {
    let stream = match stream {
        Some(stream) => stream,
        None => module_attr(tx, "sys", "stdout")?,
    };
    if stream.is_none(tx.py) || tx.realize(&stream)?.is_none(tx.py) {
        return Ok(());
    }
    let write = tx.getattr_sync(&stream, &"write".into())?;
    hold_quiet(tx, &write)
}

/// A break where code of the program gets a record of a logger (`None`: the root) of this level.
pub(crate) fn of_logger(tx: &mut Tx<'_>, logger: Option<Var>, level: i64) -> R<()> {
    let logger = match logger {
        Some(logger) => logger,
        None => module_attr(tx, "logging", "root")?,
    };
    let logger = under_adapters(tx, logger)?;
    let receivers = RECEIVERS.get(tx.py)?.getattr("receivers")?.unbind();
    let level = tx.int(level);
    let found = tx.call_sync(&Var::py(receivers), Args::pos(vec![logger, level]))?;
    for receiver in tx.iterate(&found)? {
        hold_quiet(tx, &receiver)?;
    }
    Ok(())
}

/// A break where the program has replaced what shows warnings. A list that records them is no such code.
pub(crate) fn of_warnings(tx: &mut Tx<'_>) -> R<()> {
    for name in ["showwarning", "_showwarnmsg_impl"] {
        let shows = tx.py.import("warnings")?.getattr(name)?;
        // Each recording has a method of its own.
        if shows.is_instance_of::<PyCFunction>() {
            let module = tx.py.import("warnings")?.into_any().unbind();
            let base = tx.pinned_source(&module, false, "warnings");
            let source = tx.source(guards::Source::Attr {
                base,
                name: name.into(),
            });
            tx.guard_type(&shows, source);
            continue;
        }
        let shows = module_attr(tx, "warnings", name)?;
        hold_quiet(tx, &shows)?;
    }
    Ok(())
}

fn module_attr(tx: &mut Tx<'_>, module: &str, name: &str) -> R<Var> {
    let object = tx.py.import(module)?.into_any().unbind();
    let source = tx.pinned_source(&object, false, module);
    let module = tx.build(&object, source)?;
    tx.getattr_sync(&module, &name.into())
}

fn under_adapters(tx: &mut Tx<'_>, logger: Var) -> R<Var> {
    let adapter = tx.py.import("logging")?.getattr("LoggerAdapter")?.unbind();
    let mut logger = tx.realize(&logger)?;
    while tx.type_of(&logger)?.is(&adapter) {
        let inner = tx.getattr_sync(&logger, &"logger".into())?;
        logger = tx.realize(&inner)?;
    }
    Ok(logger)
}

fn hold_quiet(tx: &mut Tx<'_>, receiver: &Var) -> R<()> {
    let receiver = tx.realize(receiver)?;
    let function = match &receiver {
        // `stream.write = names.append`
        Var::BuiltinMethod(m) => {
            let class = tx.type_of(&m.0)?;
            return match tx.is_outlet(&class)? {
                true => Ok(()),
                false => Err(heard()),
            };
        }
        Var::Method(m) => tx.realize(&m.func.clone())?,
        other => other.clone(),
    };
    let quiet = match &function {
        Var::Py(p) => {
            let f = p.obj.bind(tx.py);
            let in_c = f.is_instance_of::<PyCFunction>()
                && f.getattr("__self__")?.is_instance_of::<PyModule>();
            in_c || is_library(f)
        }
        _ => false,
    };
    match quiet {
        true => Ok(()),
        false => Err(heard()),
    }
}

fn heard() -> Stop {
    Stop::brk(
        "Output to code of the program",
        "A stream, a log handler or the like that the program defines gets the output. It may change what comes next, so the call runs in eager mode between two graphs.",
        "Output before or after the computation.",
    )
}

/// The level of the record that a function or method of `logging` makes.
pub(crate) fn level_of(tx: &mut Tx<'_>, name: &str, args: &Args) -> R<i64> {
    let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
    Ok(match method {
        "debug" => 10,
        "info" => 20,
        "warning" | "warn" => 30,
        "error" => 40,
        "critical" => 50,
        _ => {
            let at = usize::from(!class.is_empty());
            let given = args.pos.get(at).cloned().or_else(|| keyword(args, "level"));
            match given {
                Some(level) => match tx.as_const(&level)? {
                    Some(level) => level.extract(tx.py).unwrap_or(i64::MAX),
                    None => i64::MAX,
                },
                None => i64::MAX,
            }
        }
    })
}

/// An argument that was given by its name.
pub(crate) fn keyword(args: &Args, name: &str) -> Option<Var> {
    let named = |(n, _): &&(Arc<str>, Var)| **n == *name;
    args.kw.iter().find(named).map(|(_, v)| v.clone())
}
