//! Graphs that torch traced, read and written again: they print and run as torch's own.

mod common;

use backends::{Numbers, ToTorch, forward_function, from_torch, to_torch};
use common::{module, printed_table, with_torch};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

const CASES: &str = include_str!("cases.py");

fn code(module: &Bound<'_, PyAny>) -> PyResult<String> {
    module.getattr("code")?.extract()
}

#[test]
fn prints_and_runs_as_torchs_own() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let mut seen = 0;
        for case in cases.call_method0("cases")?.try_iter()? {
            let (name, original): (String, Bound<'_, PyAny>) = case?.extract()?;
            let read = from_torch(&original)?;
            read.graph.verify().unwrap();
            let made = to_torch(py, &read.graph, &read.objects, &read.attrs)?.into_bound(py);
            let (graph, made_graph) = (original.getattr("graph")?, made.getattr("graph")?);
            made_graph.call_method0("lint")?;
            assert_eq!(
                graph.str()?.to_string(),
                made_graph.str()?.to_string(),
                "{name}"
            );
            let table = printed_table(&graph)?;
            assert_eq!(table, printed_table(&made_graph)?, "{name}");
            assert_eq!(table, read.graph.tabular() + "\n", "{name}: our own table");
            let source = code(&original)?;
            assert_eq!(source, code(&made)?, "{name}");
            assert_eq!(source, read.graph.python_code(), "{name}: our own code");

            // Modules of their own: what a graph makes in place must not be seen by the next run.
            let run = |module: &Bound<'_, PyAny>| -> PyResult<Option<Py<PyAny>>> {
                if name == "nested" || name == "handmade" {
                    return Ok(None);
                }
                let inputs = cases.call_method0("inputs")?.cast_into::<PyTuple>()?;
                Ok(Some(module.call1(inputs)?.unbind()))
            };
            if let Some(expected) = run(&original)? {
                let made_forward = made.getattr("forward")?;
                let own = forward_function(
                    py,
                    &read.graph,
                    &read.objects,
                    &read.attrs,
                    Numbers::AsGiven,
                )?;
                let own = own.map_or_else(|| made.clone(), |own| own.into_bound(py));
                for callable in [&made, &made_forward, &own] {
                    let result = run(callable)?.unwrap();
                    let same = cases.call_method1("same", (&expected, result))?;
                    assert!(same.is_truthy()?, "{name}: another result");
                }
                let interpreter = py.import("torch.fx")?.getattr("Interpreter")?;
                let interpreted = run(&interpreter.call1((&made,))?.getattr("run")?)?.unwrap();
                let same = cases.call_method1("same", (&expected, interpreted))?;
                assert!(same.is_truthy()?, "{name}: another result from Interpreter");
            }
            seen += 1;
        }
        assert_eq!(seen, 13);
        Ok(())
    });
}

#[test]
fn fast_and_slow_way_agree() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        for case in cases.call_method0("cases")?.try_iter()? {
            let (name, original): (String, Bound<'_, PyAny>) = case?.extract()?;
            let read = from_torch(&original)?;
            let facts = |slow: bool| -> PyResult<String> {
                let options = ToTorch {
                    slow,
                    ..ToTorch::default()
                };
                let made = options.module(py, &read.graph, &read.objects, &read.attrs)?;
                let graph = made.module.bind(py).getattr("graph")?;
                let mut facts = String::new();
                for node in graph.getattr("nodes")?.try_iter()? {
                    let node = node?;
                    for field in [
                        "name",
                        "op",
                        "target",
                        "type",
                        "args",
                        "kwargs",
                        "users",
                        "meta",
                        "_input_nodes",
                        "_sort_key",
                        "_repr_fn",
                        "_erased",
                        "__dict__",
                    ] {
                        let value = node.getattr(field)?;
                        facts += &format!("{field} {} {}\n", value.repr()?, value.get_type());
                    }
                }
                // Names of nodes made later, and lookups, depend on the graph's own tables.
                let add = py.import("operator")?.getattr("add")?;
                let found = graph
                    .call_method(
                        "find_nodes",
                        (),
                        Some(&{
                            let kwargs = common::no_kwargs(py);
                            kwargs.set_item("op", "call_function")?;
                            kwargs.set_item("target", &add)?;
                            kwargs
                        }),
                    )?
                    .repr()?
                    .to_string();
                facts += &found;
                let nodes = graph.getattr("nodes")?;
                let first = nodes.try_iter()?.next().unwrap()?;
                for _ in 0..2 {
                    let made = graph.call_method1("call_function", (&add, (&first, 1)))?;
                    facts += &made.repr()?.to_string();
                }
                facts += &nodes.len()?.to_string();
                Ok(facts)
            };
            assert_eq!(facts(false)?, facts(true)?, "{name}");
        }
        Ok(())
    });
}
