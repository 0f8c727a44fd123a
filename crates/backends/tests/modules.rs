//! Modules made from graphs: what torch and users do with them beside calling.

mod common;

use std::sync::Arc;

use backends::{Numbers, ToTorch, fn_target, forward_function, from_torch, to_torch};
use common::{module, with_torch};
use fx_graph::{Arg, Graph, Kwargs, Namespace, NodeId, SourceLine, SourceStack, target_stem};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

const CASES: &str = include_str!("cases.py");

const THIS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/modules.rs");

type Objects = Vec<Py<PyAny>>;
type OwnedAttrs = Vec<(Arc<str>, Py<PyAny>)>;

/// `relu(x + weight) ** 2`, with source lines.
fn graph(py: Python<'_>) -> PyResult<(Graph, Objects, OwnedAttrs)> {
    let torch = py.import("torch")?;
    let functional = py.import("torch.nn.functional")?;
    let operator = py.import("operator")?;
    let objects = vec![
        operator.getattr("add")?.unbind(),
        functional.getattr("relu")?.unbind(),
        operator.getattr("pow")?.unbind(),
    ];
    let target = |handle: usize| fn_target(objects[handle].bind(py), handle as u32);
    let mut graph = Graph::new();
    let x = graph.placeholder("L_x_");
    let weight = graph.get_attr("layer.weight");
    let add = graph.call_function(target(0)?, vec![x.into(), weight.into()], Kwargs::new());
    let relu = graph.call_function(target(1)?, vec![add.into()], Kwargs::new());
    let pow = graph.call_function(target(2)?, vec![relu.into(), 2i64.into()], Kwargs::new());
    let outer = SourceStack::empty().push(SourceLine {
        file: "case.py".into(),
        line: 9,
        function: "outer".into(),
    });
    let inner = outer.push(SourceLine {
        file: THIS_FILE.into(),
        line: 1,
        function: "inner".into(),
    });
    graph.set_source(add, &inner);
    graph.set_source(relu, &inner);
    graph.output(Arg::Tuple(vec![pow.into()]));
    let weight = torch.call_method1("full", ((3,), 0.5))?;
    let weight = torch
        .getattr("nn")?
        .getattr("Parameter")?
        .call1((weight,))?;
    Ok((
        graph,
        objects,
        vec![("layer.weight".into(), weight.unbind())],
    ))
}

#[test]
fn copies_and_pickles() {
    with_torch(|py| {
        let (graph, objects, attrs) = graph(py)?;
        let torch = py.import("torch")?;
        let x = torch.call_method1("arange", (-1.0, 2.0))?;
        let expected = x.add(0.5)?.call_method0("relu")?.pow(2, py.None())?;
        let check = |gm: &Bound<'_, PyAny>| -> PyResult<()> {
            let got = gm.call1((&x,))?.get_item(0)?;
            assert!(torch.call_method1("equal", (got, &expected))?.is_truthy()?);
            let parameters = PyDict::from_sequence(
                &gm.call_method0("named_parameters")?
                    .try_iter()?
                    .collect::<PyResult<Vec<_>>>()?
                    .into_pyobject(py)?,
            )?;
            assert_eq!(parameters.keys().to_string(), "['layer.weight']");
            Ok(())
        };
        let fresh = || to_torch(py, &graph, &objects, &attrs).map(|gm| gm.into_bound(py));
        // Each as the first thing done to a module whose code was not generated yet.
        check(&fresh()?)?;
        check(&py.import("copy")?.call_method1("deepcopy", (fresh()?,))?)?;
        let pickle = py.import("pickle")?;
        let bytes = pickle.call_method1("dumps", (fresh()?,))?;
        check(&pickle.call_method1("loads", (bytes,))?)?;
        let graph_copy = py
            .import("copy")?
            .call_method1("deepcopy", (fresh()?.getattr("graph")?,))?;
        graph_copy.call_method0("lint")?;
        assert!(
            fresh()?
                .str()?
                .to_string()
                .contains("torch.nn.functional.relu")
        );
        let readable: String = fresh()?
            .call_method("print_readable", (false,), None)?
            .extract()?;
        assert!(
            readable.contains("in inner, code: //! Modules made"),
            "{readable}"
        );
        // A pass of torch's own edits the graph: the tables behind it must be right.
        let gm = fresh()?;
        let made = gm.getattr("graph")?;
        let first = made.getattr("nodes")?.try_iter()?.next().unwrap()?;
        made.call_method1("inserting_after", (&first,))?
            .call_method0("__enter__")?;
        let unused = made.call_method1("call_method", ("neg", (&first,)))?;
        assert_eq!(unused.str()?.to_string(), "neg");
        gm.call_method0("recompile")?;
        check(&gm)?;
        assert!(made.call_method0("eliminate_dead_code")?.is_truthy()?);
        made.call_method0("lint")?;
        gm.call_method0("recompile")?;
        check(&gm)
    });
}

#[test]
fn stack_traces_and_example_values() {
    with_torch(|py| {
        let (graph, objects, attrs) = graph(py)?;
        let example = |id: NodeId| (id.0 == 0).then(|| py.None());
        let options = ToTorch {
            example_value: Some(&example),
            ..ToTorch::default()
        };
        let converted = options.module(py, &graph, &objects, &attrs)?;
        let meta = |at: usize| -> PyResult<Bound<'_, PyAny>> {
            converted.nodes[at]
                .as_ref()
                .unwrap()
                .bind(py)
                .getattr("meta")
        };
        assert!(meta(0)?.contains("example_value")?);
        assert_eq!(meta(1)?.len()?, 0);
        let trace: String = meta(2)?.get_item("stack_trace")?.extract()?;
        let wanted = format!(
            "  File \"case.py\", line 9, in outer\n  File \"{THIS_FILE}\", line 1, in inner\n    //! Mod",
        );
        assert!(trace.starts_with(&wanted), "{trace}");
        let trace_of = |at| meta(at)?.get_item("stack_trace");
        assert!(trace_of(2)?.is(&trace_of(3)?), "one text for one stack");
        Ok(())
    });
}

#[test]
fn what_was_not_given_is_missed() {
    with_torch(|py| {
        let (graph, objects, attrs) = graph(py)?;
        assert!(to_torch(py, &graph, &objects[..2], &attrs).is_err());
        assert!(to_torch(py, &graph, &objects, &[]).is_err());
        assert!(forward_function(py, &graph, &objects[..1], &attrs, Numbers::AsGiven).is_err());
        assert!(forward_function(py, &graph, &objects, &[], Numbers::AsGiven).is_err());
        Ok(())
    });
}

#[test]
fn functions_agree_with_python() {
    with_torch(|py| {
        let operator = py.import("operator")?;
        let names = ["pow", "neg", "getitem", "iadd", "setitem", "sub"];
        let mut objects = Vec::new();
        for name in names {
            objects.push(operator.getattr(name)?.unbind());
        }
        objects.push(py.eval(c"lambda **k: sorted(k)", None, None)?.unbind());
        objects.push(py.eval(c"1j", None, None)?.unbind());
        let mut graph = Graph::new();
        let call = {
            let objects = objects.iter().map(|o| o.clone_ref(py)).collect::<Vec<_>>();
            move |graph: &mut Graph, handle: usize, args: Vec<Arg>, kwargs: Kwargs| {
                let target = fn_target(objects[handle].bind(py), handle as u32).unwrap();
                Arg::Node(graph.call_function(target, args, kwargs))
            }
        };
        let x: Arg = graph.placeholder("def").into();
        let list: Arg = graph.placeholder("list").into();
        let opaque = || Arg::Opaque {
            handle: 7,
            repr: "<no code at all>".into(),
        };
        let float = |value: f64| Arg::Float(value);
        let results = vec![
            call(&mut graph, 0, vec![Arg::Int(-1), x.clone()], vec![]),
            call(&mut graph, 5, vec![x.clone(), Arg::Int(-3)], vec![]),
            call(
                &mut graph,
                5,
                vec![opaque(), float(f64::NEG_INFINITY)],
                vec![],
            ),
            call(
                &mut graph,
                2,
                vec![list.clone(), Arg::slice(Arg::Int(1), Arg::None, Arg::None)],
                vec![],
            ),
            call(
                &mut graph,
                2,
                vec![list.clone(), Arg::slice(Arg::None, Arg::None, Arg::Int(-1))],
                vec![],
            ),
            call(
                &mut graph,
                6,
                vec![],
                vec![("class".into(), x.clone()), ("a b".into(), x.clone())],
            ),
            Arg::Node(graph.call_method("bit_length", vec![Arg::Int(5)], vec![])),
            call(&mut graph, 3, vec![x.clone(), Arg::Int(1)], vec![]),
            x.clone(),
            call(
                &mut graph,
                4,
                vec![list.clone(), Arg::Int(0), Arg::Int(9)],
                vec![],
            ),
            list.clone(),
        ];
        graph.output(Arg::Tuple(results));
        let function = forward_function(py, &graph, &objects, &[], Numbers::AsGiven)?
            .unwrap()
            .into_bound(py);
        let list = PyList::new(py, [1, 2, 3])?;
        let got = function.call1((2, &list))?;
        assert_eq!(
            got.repr()?.to_string(),
            "(1, 5, (inf+1j), [2, 3], [3, 2, 1], ['a b', 'class'], 3, 3, 2, None, [9, 2, 3])"
        );
        assert!(function.call1((2,)).is_err());
        assert!(function.call1((2, &list, 3)).is_err());
        Ok(())
    });
}

#[test]
fn names_are_torchs() {
    with_torch(|py| {
        let graph_module = py.import("torch.fx.graph")?;
        let namespace = graph_module.getattr("_Namespace")?.call0()?;
        let to_str = py.import("torch.fx")?.getattr("Graph")?.call0()?;
        let mut ours = Namespace::new();
        let stems = [
            "add",
            "abs",
            "L_x_",
            "l_self_modules_0_",
            "camelCaseName",
            "HTTPServer",
            "__add__",
            "____",
            "__x",
            "x__",
            "list",
            "None",
            "inf",
            "torch",
            "_",
            "a.b.c",
            "L['x'][0]",
            "3d",
            "conv",
            "def",
            "é",
            "x-1",
            "",
            "_1",
            "__1",
            "a__",
            "len",
            "print_1",
            "match",
            "Tensor",
        ];
        let suffixes = ["", "_1", "_2", "_01", "_9", "1", "_", "__3", "_x_4"];
        let mut seed = 12345u64;
        for _ in 0..5000 {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let stem = stems[(seed >> 33) as usize % stems.len()];
            let suffix = suffixes[(seed >> 45) as usize % suffixes.len()];
            let target = format!("{stem}{suffix}");
            let theirs: String = to_str
                .call_method1("_target_to_str", (&target,))?
                .extract()?;
            assert_eq!(target_stem(&target, false), theirs, "{target:?}");
            for candidate in [&theirs, &target] {
                let name: String = namespace
                    .call_method1("create_name", (candidate, py.None()))?
                    .extract()?;
                assert_eq!(*ours.create(candidate), *name, "{candidate:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn functions_are_described_as_torch_does() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let net = cases.call_method0("handmade")?;
        for node in net.getattr("nodes")?.try_iter()? {
            let node = node?;
            if node.getattr("op")?.eq("call_function")? {
                let target = node.getattr("target")?;
                let described = fn_target(&target, 3)?;
                assert_eq!(*described.display, target.str()?.to_string());
                assert_eq!(
                    *described.hint,
                    target.getattr("__name__")?.str()?.to_string()
                );
            }
        }
        Ok(())
    });
}

#[test]
fn containers_that_hold_nodes_out_of_sight_are_refused() {
    with_torch(|py| {
        let source = "
import collections, torch
Pair = collections.namedtuple('Pair', 'a b')
def make():
    graph = torch.fx.Graph()
    x = graph.placeholder('x')
    graph.output(Pair(x, 1))
    return torch.fx._lazy_graph_module._LazyGraphModule({}, graph)
";
        let made = module(py, source)?.call_method0("make")?;
        assert!(from_torch(&made).is_err());
        Ok(())
    });
}

/// Not a benchmark: a bound loose enough for any machine, against a slide into quadratic time.
#[test]
fn costs_of_a_node() {
    with_torch(|py| {
        let objects = vec![py.import("operator")?.getattr("add")?.unbind()];
        let target = fn_target(objects[0].bind(py), 0)?;
        let mut graph = Graph::new();
        let mut value = graph.placeholder("x");
        let nodes = 2000;
        for _ in 0..nodes {
            value = graph.call_function(
                target.clone(),
                vec![value.into(), 1i64.into()],
                Kwargs::new(),
            );
        }
        graph.output(Arg::Tuple(vec![value.into()]));
        let time = |label: &str, body: &dyn Fn() -> PyResult<()>| -> PyResult<()> {
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = std::time::Instant::now();
                body()?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!("{label}: {:.2} us a node", best / nodes as f64 * 1e6);
            assert!(best < 2.0, "{label}");
            Ok(())
        };
        time("to_torch", &|| {
            to_torch(py, &graph, &objects, &[]).map(drop)
        })?;
        let slow = ToTorch {
            slow: true,
            ..ToTorch::default()
        };
        time("to_torch through create_node", &|| {
            slow.module(py, &graph, &objects, &[]).map(drop)
        })?;
        let function = || {
            let made = forward_function(py, &graph, &objects, &[], Numbers::AsGiven)?;
            made.ok_or_else(|| pyo3::exceptions::PyValueError::new_err("no function"))
        };
        time("forward_function", &|| function().map(drop))?;
        let made = function()?;
        time("a run of it", &|| made.call1(py, (1,)).map(drop))?;
        time("to_torch and forward", &|| {
            to_torch(py, &graph, &objects, &[])?
                .call_method0(py, "real_recompile")
                .map(drop)
        })
    });
}

#[test]
fn functions_free_values_and_take_defaults() {
    with_torch(|py| {
        let source = "
import weakref
alive = []
class Value:
    made = []
    def __init__(self):
        Value.made.append(weakref.ref(self))
def make(*_):
    alive.append(sum(ref() is not None for ref in Value.made))
    return Value()
def fail(_):
    raise ZeroDivisionError
";
        let cases = module(py, source)?;
        let objects = vec![
            cases.getattr("make")?.unbind(),
            cases.getattr("fail")?.unbind(),
        ];
        let target = |handle: u32| fn_target(objects[handle as usize].bind(py), handle).unwrap();
        let mut graph = Graph::new();
        let mut value = graph.create(
            fx_graph::OpKind::Placeholder,
            fx_graph::Target::Name("x".into()),
            vec![Arg::Tuple(vec![1i64.into()])],
            Kwargs::new(),
        );
        for _ in 0..10 {
            let nested = Arg::List(vec![value.into()]);
            value = graph.call_function(target(0), vec![nested], Kwargs::new());
        }
        let checkpoint = graph.checkpoint();
        graph.output(Arg::None);
        let run = |graph: &Graph| -> PyResult<Py<PyAny>> {
            let function = forward_function(py, graph, &objects, &[], Numbers::AsGiven)?;
            function.unwrap().call0(py)
        };
        assert!(run(&graph)?.is_none(py));
        let alive: Vec<usize> = cases.getattr("alive")?.extract()?;
        assert_eq!(alive, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1], "one value at a time");
        graph.restore(checkpoint).unwrap();
        graph.call_function(target(1), vec![value.into()], Kwargs::new());
        let error = run(&graph).unwrap_err();
        assert!(error.is_instance_of::<pyo3::exceptions::PyZeroDivisionError>(py));
        drop(error);
        let count = "lambda made: sum(ref() is not None for ref in made)";
        let left: usize = py
            .eval(&std::ffi::CString::new(count)?, None, None)?
            .call1((cases.getattr("Value")?.getattr("made")?,))?
            .extract()?;
        assert_eq!(left, 0, "a failed run keeps nothing alive");
        Ok(())
    });
}
