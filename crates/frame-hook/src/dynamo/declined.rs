//! What becomes of a graph that a backend does not compile, though it did not fail.
//!
//! Lives here: the graph break in front of an operation that the backend refused, eager mode where
//! the backend asks for it. Does not live here: how a refusal is told from a failure (`backends`).

use backends::BackendError;
use fx_graph::{Graph, NodeId, OpKind, Target};
use pyo3::prelude::*;
use translator::{BreakReason, Refusal};

use super::compilation::{Compilation, Compiled};
use super::log;
use super::redone::Before;
use super::session::Session;
use super::translate::Request;

/// Why a backend does not compile a graph.
pub struct Declined {
    /// name of the backend
    backend: String,
    /// what it raised
    cause: PyErr,
    /// the operation that it refused and what that calls, where it is known
    operation: Option<(NodeId, Target)>,
}

impl Declined {
    /// What an error of a backend declines, if it is no failure.
    pub fn of(py: Python<'_>, graph: &Graph, error: &BackendError) -> Option<Declined> {
        let (backend, cause, node) = match error {
            BackendError::Refused { name, node, cause } => (name, cause, node.as_deref()),
            BackendError::Skipped { name, cause } => (name, cause, None),
            _ => return None,
        };
        let is_operation = |op: OpKind| matches!(op, OpKind::CallFunction | OpKind::CallMethod);
        let operation = node.and_then(|name| {
            graph
                .iter()
                .find(|(_, node)| &*node.name == name && is_operation(node.op))
                .map(|(id, node)| (id, node.target.clone()))
        });
        Some(Declined {
            backend: backend.clone(),
            cause: cause.clone_ref(py),
            operation,
        })
    }

    /// What the backend raised, in a line.
    fn text(&self, py: Python<'_>) -> String {
        let class = self.cause.get_type(py);
        let class = class
            .name()
            .map_or_else(|_| "Exception".into(), |n| n.to_string());
        let message = self.cause.value(py).to_string();
        match message.lines().next() {
            Some(line) if !line.is_empty() => format!("{class}: {line}"),
            _ => class,
        }
    }

    fn reason(&self, py: Python<'_>, target: &Target) -> Box<BreakReason> {
        let operation = match target {
            Target::Function(function) => function.path.to_string(),
            Target::Name(name) => format!("Tensor.{name}"),
        };
        let text = self.text(py);
        let backend = &self.backend;
        Box::new(BreakReason {
            reason: format!("Operation that backend {backend} can't trace: {operation}"),
            explanation: format!(
                "The backend runs the graph on fake tensors, which have no data, and they refuse {operation} ({text}). The operation runs in eager mode, between two graphs."
            ),
            hints: vec![
                "Write it with operations whose sizes and branches don't depend on the data of tensors, or call it outside of the compiled function.".into(),
                "A backend that runs the graph as it is (backend=\"eager\") captures it.".into(),
            ],
            context: text,
            ..BreakReason::default()
        })
    }
}

impl<'py> Compilation<'_, 'py> {
    /// Compiles the frame with a graph break in front of the operation that the backend refused. Where
    /// that is not known, the frame runs in eager mode.
    ///
    /// # Errors
    /// With `fullgraph=True`, the graph break, or what the backend raised.
    pub fn without(
        &self,
        declined: &Declined,
        error: PyErr,
        before: Option<&Refusal>,
        session: &mut Session,
        request: &Request<'_, 'py>,
    ) -> PyResult<Compiled> {
        let py = self.py;
        // A later break changes nothing in front of it.
        let operation = declined
            .operation
            .as_ref()
            .filter(|(node, _)| before.is_none_or(|before| node.index() < before.node.index()));
        let Some((node, target)) = operation else {
            if self.ctx.fullgraph() {
                return Err(error);
            }
            let text = declined.text(py);
            log::warning(py, &self.id.to_string(), || {
                format!(
                    "{} runs in eager mode: backend {} can't compile it: {text}",
                    self.entries.name(),
                    declined.backend
                )
            });
            let why = format!("backend {} raised {text}", declined.backend);
            return self.give_up(&why).result();
        };
        let refusal = Refusal {
            node: *node,
            target: target.clone(),
            reason: declined.reason(py, target),
        };
        let attempt = Before {
            refusal: Some(refusal),
            ..Before::default()
        };
        let compiled = self.run_in(session, request, attempt);
        if let Err(unsupported) = &compiled
            && unsupported.cause(py).is_none()
        {
            unsupported.set_cause(py, Some(declined.cause.clone_ref(py)));
        }
        compiled
    }
}
