//! Why translation of an instruction stopped.

use pyo3::PyErr;
use torch_abi::AbiError;
use variables::Var;
use variables::code::CodeError;

use crate::retreat::{Retreat, Sooner};

/// A graph break: what could not be captured, said so that the user can act on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakReason {
    /// one line: what happened
    pub reason: String,
    /// why that is not captured
    pub explanation: String,
    /// what the user can do
    pub hints: Vec<String>,
    /// for developers: the values involved
    pub context: String,
    /// whether the operation raises for these arguments, and may not for others of the same kinds
    pub raises: bool,
    /// whether something is set up here that later calls find done
    pub sets_up: Option<SetUp>,
    /// what happens in the place of a graph break
    pub instead: Option<Instead>,
    /// where the graph ends instead, if more of the program stays in one piece then
    pub sooner: Option<Sooner>,
}

/// What happens in the place of a graph break, as a program asks for it or needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// the whole frame runs in eager mode, what it calls may be captured
    SkipFrame,
    /// the whole frame runs in eager mode, with all that it calls, where a compiler would get the graph
    RunAll,
    /// the same, whatever would get the graph
    RunAllAlways,
    /// an error
    Raise,
}

/// What a program sets up in its first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUp {
    /// whatever it does under a lock
    UnderLock,
    /// parameters of a module that gets their sizes from what it is called with
    Parameters,
    /// what is there from then on: a result of `functools.lru_cache`, a module that was to be imported lazily
    Cached,
}

impl SetUp {
    /// How many calls through the same code are not captured for it.
    pub fn calls(self) -> u32 {
        match self {
            SetUp::UnderLock | SetUp::Cached => 1,
            // Each call is one of another module.
            SetUp::Parameters => 16,
        }
    }
}

/// The ways in which an instruction does not complete.
#[derive(Debug)]
pub enum Stop {
    /// the graph breaks here
    Break(Box<BreakReason>),
    /// residual code for a break here cannot be written; for one at another place it can
    Retreat(Retreat, Box<BreakReason>),
    /// the program raises this exception (a tracked instance of an exception class)
    Raise(Var),
    /// a defect of Ferrodyn: treated as a break, logged
    Internal(String),
}

/// How many values may be nested in one another where an operation goes through all of them. Each
/// level takes native stack; what is nested deeper, or in itself, is left to Python.
pub const MAX_NESTING: usize = 200;

/// Result of a translation step.
pub type R<T> = Result<T, Stop>;

impl From<CodeError> for Stop {
    fn from(e: CodeError) -> Stop {
        match e {
            CodeError::Python(e) => e.into(),
            CodeError::Invalid(what) => Stop::Internal(what),
        }
    }
}

impl From<AbiError> for Stop {
    fn from(e: AbiError) -> Stop {
        Stop::Internal(e.to_string())
    }
}

impl From<PyErr> for Stop {
    fn from(e: PyErr) -> Stop {
        Stop::Internal(format!("unexpected Python error while translating: {e}"))
    }
}

impl Stop {
    /// A break with a reason, an explanation and one hint.
    pub fn brk(
        reason: impl Into<String>,
        explanation: impl Into<String>,
        hint: impl Into<String>,
    ) -> Stop {
        Stop::Break(Box::new(BreakReason {
            reason: reason.into(),
            explanation: explanation.into(),
            hints: vec![hint.into()],
            ..BreakReason::default()
        }))
    }

    /// A break in front of an operation that raises for the arguments that it is given.
    pub fn raises(
        reason: impl Into<String>,
        explanation: impl Into<String>,
        hint: impl Into<String>,
    ) -> Stop {
        match Stop::brk(reason, explanation, hint) {
            Stop::Break(mut reason) => {
                reason.raises = true;
                Stop::Break(reason)
            }
            other => other,
        }
    }

    /// A break in front of what a program sets up.
    fn sets_up(what: SetUp, reason: String, explanation: &str, hint: &str) -> Stop {
        Stop::Break(Box::new(BreakReason {
            reason,
            explanation: explanation.into(),
            hints: vec![hint.into()],
            sets_up: Some(what),
            ..BreakReason::default()
        }))
    }

    /// A break in front of an operation that takes a lock: the lock has to be held while the effects behind it happen.
    pub fn locks(what: impl std::fmt::Display) -> Stop {
        Stop::sets_up(
            SetUp::UnderLock,
            format!("Lock taken by {what}"),
            "What is done under a lock has to happen while it is held, so it is taken in eager mode, between two graphs.",
            "Do what needs the lock outside of the compiled function.",
        )
    }

    /// A break where a module has yet to make its parameters, by the sizes of what it is called with.
    pub fn uninitialized(class: impl std::fmt::Display) -> Stop {
        Stop::sets_up(
            SetUp::Parameters,
            format!("{class}, which has no values yet"),
            "The module gives it a size and values in its first call, which runs in eager mode; later calls are captured.",
            "Call the module once in front of compiling it.",
        )
    }

    /// A break in front of the first use of what is imported lazily.
    pub fn lazy_import(name: &str) -> Stop {
        Stop::sets_up(
            SetUp::Cached,
            format!("Lazy import of {name}, which has not been used yet"),
            "The first use runs the import, so it happens in eager mode; later calls are captured.",
            "Use the name once in front of compiling the function, or import it eagerly.",
        )
    }

    /// A break in front of the call of a cached function that makes what the cache holds from then on.
    pub fn fills_cache(what: impl std::fmt::Display) -> Stop {
        Stop::sets_up(
            SetUp::Cached,
            format!("Cached function {what}, which has not been called with these arguments"),
            "The cached result is shared by all callers, so the call runs in eager mode; later calls find it in the cache and are captured.",
            "Call it once in front of the compiled function, or call the function under the cache (`__wrapped__`).",
        )
    }

    /// The same break, that goes back further where more of the program stays in one piece then.
    #[must_use]
    pub fn or_sooner(mut self, sooner: Option<Sooner>) -> Stop {
        if let Stop::Break(reason) = &mut self {
            reason.sooner = sooner;
        }
        self
    }

    /// The same stop, where the graph can break at another place instead.
    pub fn or_retreat(self, to: Retreat) -> Stop {
        match self {
            Stop::Break(mut reason) => {
                reason.context = to.context().into();
                Stop::Retreat(to, reason)
            }
            stop => stop,
        }
    }

    /// A break for something that the translator has no rule for yet.
    pub fn unsupported(what: impl Into<String>) -> Stop {
        let what = what.into();
        Stop::Break(Box::new(BreakReason {
            explanation: format!("Ferrodyn has no rule for: {what}."),
            reason: format!("Unsupported: {what}"),
            hints: vec![
                "Move it out of the compiled function, or mark the callee with `ferrodyn.disable`."
                    .into(),
            ],
            ..BreakReason::default()
        }))
    }
}
