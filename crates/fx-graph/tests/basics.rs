//! A graph made by hand, in every printed form.

use std::sync::Arc;

use fx_graph::{Arg, FnTarget, Graph, Kwargs, SourceLine, SourceStack};

fn function(handle: u32, path: &str) -> Arc<FnTarget> {
    let name = path.rsplit('.').next().unwrap();
    Arc::new(FnTarget::new(
        handle,
        format!("<built-in method {name} of type object>"),
        path,
        name,
    ))
}

fn source(line: u32) -> SourceStack {
    SourceStack::from_outermost([SourceLine {
        file: "toy.py".into(),
        line,
        function: "toy_example".into(),
    }])
}

/// `x = a / (torch.abs(a) + 1); b.sum() < 0`.
fn toy() -> Graph {
    let mut graph = Graph::new();
    let a = graph.placeholder("a");
    let b = graph.placeholder("b");
    let abs = graph.call_function(function(0, "torch.abs"), vec![a.into()], Kwargs::new());
    let add = graph.call_function(
        function(1, "operator.add"),
        vec![abs.into(), 1i64.into()],
        Kwargs::new(),
    );
    let div = graph.call_function(
        function(2, "operator.truediv"),
        vec![a.into(), add.into()],
        Kwargs::new(),
    );
    let sum = graph.call_method("sum", vec![b.into()], vec![("keepdim".into(), true.into())]);
    let lt = graph.call_function(
        function(3, "operator.lt"),
        vec![sum.into(), 0i64.into()],
        Kwargs::new(),
    );
    for (line, id) in [(2, abs), (2, add), (2, div), (3, sum), (3, lt)] {
        graph.set_source(id, &source(line));
    }
    graph.output(Arg::Tuple(vec![div.into(), lt.into()]));
    graph
}

#[test]
fn toy_forms() {
    let graph = toy();
    graph.verify().unwrap();
    insta::assert_snapshot!("toy_tabular", graph.tabular());
    insta::assert_snapshot!("toy_code", graph.python_code());
    insta::assert_snapshot!("toy_text", graph.to_text());
    insta::assert_snapshot!("toy_dot", graph.dot());
}

#[test]
fn no_parameter_is_called_as_the_value_of_one_before_it() {
    let mut graph = Graph::new();
    for name in ["input", "input_1", "X", "x"] {
        graph.placeholder(name);
    }
    let of = |id: &_| (graph[*id].target.name().cloned(), graph[*id].name.clone());
    let told: Vec<_> = graph.placeholders().iter().map(of).collect();
    let expect = [
        ("input", "input_1"),
        ("input_2", "input_2"),
        ("X", "x"),
        ("x_1", "x_1"),
    ];
    let expect = expect.map(|(target, name)| (Some(target.into()), name.into()));
    assert_eq!(told, expect);
}

#[test]
fn late_placeholder_comes_first() {
    let mut graph = toy();
    let late = graph.placeholder("late");
    assert_eq!(graph.order().nth(2), Some(late));
    graph.verify().unwrap();
    graph.sort_placeholders_by_key(|_, node| std::cmp::Reverse(node.name.clone()));
    let names: Vec<_> = graph
        .placeholders()
        .iter()
        .map(|id| graph.name(*id).to_string())
        .collect();
    assert_eq!(names, ["late", "b", "a"]);
    assert_eq!(graph.erase_unused_placeholders(), [late]);
    assert_eq!(graph.placeholders().len(), 2);
}
