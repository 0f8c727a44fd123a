//! What a backend is handed, as text: with capabilities that want a context, and without.

mod common;

use backends::{Backend, BackendCall, CompileOptions, from_torch, to_torch};
use common::{module, with_torch};
use fx_graph::{AotInput, ShapeLeaf};
use pyo3::prelude::*;
use pyo3::types::PyList;

const CASES: &str = include_str!("backend_cases.py");

/// A backend that writes down what it is handed.
const RECORDER: &str = r#"
import torch

TEXT = []


def describe(value):
    if not isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {value}"
    sizes = ", ".join(map(str, value.size()))
    return f"{type(value).__name__} {value.dtype}[{sizes}] requires_grad={value.requires_grad}"


def record(gm, example_inputs):
    context = torch._guards.TracingContext.try_get()
    TEXT.append(f"tracing context: {context is not None}")
    TEXT.append(f"compiling: {bool(torch.compiler.is_compiling())}")
    for node, example in zip(gm.graph.find_nodes(op="placeholder"), example_inputs, strict=True):
        TEXT.append(f"{node.name}: {describe(example)}")
        value = node.meta.get("example_value")
        TEXT.append(f"  example_value: {'none' if value is None else describe(value)}")
        source = node.meta.get("grapharg")
        TEXT.append(f"  source: {'none' if source is None else source.source.name}")
    TEXT.append(gm.code.strip())
    return gm.forward
"#;

fn handed(compiles: bool) -> String {
    with_torch(|py| {
        let recorder = module(py, RECORDER)?;
        let backend = Backend::resolve(&recorder.getattr("record")?, &CompileOptions::default())?;
        if compiles {
            backend.saw_it_compile();
        }
        let original = module(py, CASES)?.call_method0("dynamic_module")?;
        let read = from_torch(&original)?;
        let gm = to_torch(py, &read.graph, &read.objects, &read.attrs)?.into_bound(py);
        let x = py.import("torch")?.call_method1("ones", (4, 6))?;
        let inputs = [
            AotInput::Layout(ShapeLeaf::Size(1, 0)),
            AotInput::Tensor {
                source: "x".into(),
                dynamic_dims: vec![0],
                unbacked_dims: Vec::new(),
                dynamic_held: Vec::new(),
                parameter: None,
            },
        ];
        let call = BackendCall {
            shares_memory: false,
            inputs: &inputs,
            compile_id: (7, 0),
            graph: Some((&read.graph, &read.objects)),
        };
        let examples = PyList::new(py, [4i64.into_pyobject(py)?.into_any(), x])?;
        call.run(&backend, &gm, &examples)?;
        let lines: Vec<String> = recorder.getattr("TEXT")?.extract()?;
        Ok(lines.join("\n"))
    })
}

#[test]
fn a_backend_that_compiles_is_handed_symbols_and_fakes() {
    insta::assert_snapshot!(handed(true));
}

#[test]
fn any_other_callable_is_handed_what_the_call_has() {
    insta::assert_snapshot!(handed(false));
}
