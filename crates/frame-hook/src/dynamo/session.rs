//! What the compilations of one thread share: tables of Python and torch, decoded code, resume functions.
//!
//! Invariant: nothing of it outlives a reset but what is known of Python and torch.

use std::cell::RefCell;
use std::rc::Rc;

use pyo3::prelude::*;
use residual::ResumeCache;
use torch_abi::modes::ModesAside;

use super::translate::Tables;

/// What compilations of one thread share.
pub struct Session {
    pub tables: Tables,
    pub resumes: ResumeCache,
}

impl Session {
    /// Forgets what came from the user's code. What is known of Python and torch stays.
    fn forget(&mut self) {
        self.resumes = ResumeCache::default();
        self.tables.codes = Rc::default();
    }
}

/// The session of a thread, from its first translation on; resume functions of captures come before that.
#[derive(Default)]
pub struct Shared {
    session: Option<Session>,
    resumes: ResumeCache,
}

impl Shared {
    /// Resume functions that were made so far.
    pub fn resumes(&mut self) -> &mut ResumeCache {
        match self.session.as_mut() {
            Some(session) => &mut session.resumes,
            None => &mut self.resumes,
        }
    }

    /// The session, which begins here at the latest.
    ///
    /// # Errors
    /// What an unsupported torch raises.
    pub fn session(&mut self, py: Python<'_>) -> PyResult<&mut Session> {
        let begun = match self.session.take() {
            Some(session) => session,
            None => {
                // What is looked at is none of the program's calls.
                let _aside = ModesAside::new(py)?;
                Session {
                    tables: Tables::new(py)?,
                    resumes: std::mem::take(&mut self.resumes),
                }
            }
        };
        Ok(self.session.insert(begun))
    }
}

thread_local! {
    /// that of this thread
    pub static SESSION: RefCell<Shared> = RefCell::default();
}

/// Forgets what this thread's compilations share of the user's code.
pub fn forget_session() {
    SESSION.with(|s| {
        if let Ok(mut s) = s.try_borrow_mut() {
            s.resumes = ResumeCache::default();
            if let Some(session) = s.session.as_mut() {
                session.forget();
            }
        }
    });
}
