//! The verifier refuses what it must, names follow torch's rules, constants print as Python's.

use std::sync::Arc;

use fx_graph::{
    Arg, FnTarget, Graph, GraphError, Kwargs, Namespace, NodeId, SourceLine, SourceStack,
    VerifyError, float_repr, str_repr, target_stem,
};

fn add() -> FnTarget {
    FnTarget::new(0, "<built-in function add>", "operator.add", "add")
}

#[test]
fn verifier_finds_faults() {
    let broken = |text: &str| Graph::parse(text).unwrap().verify().unwrap_err();
    let head = "fx-graph ids=5\nfn operator.add#0 display=\"add\" hint=\"add\" origin=operator\n";
    let with = |lines: &str| broken(&format!("{head}{lines}"));
    assert!(matches!(
        with(
            "%1 a = call_method \"t\" (%2)\n%2 b = placeholder \"b\" ()\n"
                .split_once("%2 b")
                .unwrap()
                .0
        ),
        VerifyError::UseBeforeDef { value: 2, .. }
    ));
    assert!(matches!(
        with("%0 o = output \"output\" (None)\n%1 b = get_attr \"b\" ()\n"),
        VerifyError::AfterOutput(_)
    ));
    for bad in [
        "%0 o = output \"output\" ()",
        "%0 a = get_attr \"a\" (1)",
        "%0 a = placeholder \"a\" (1, 2)",
        "%0 a = call_method \"a\" ()",
        "%0 a = call_function operator.add#0 (1)",
        "%0 a = get_attr \"\" ()",
        "%0 o = output \"output\" (1) {\"k\": 2}",
    ] {
        assert!(matches!(with(bad), VerifyError::BadNode { .. }), "{bad}");
    }
    assert!(matches!(
        with("%0 a-b = placeholder \"a\" ()"),
        VerifyError::BadName(_)
    ));
}

#[test]
fn use_of_a_dropped_node_is_found() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let start = graph.checkpoint();
    let dropped = graph.call_function(add(), vec![x.into(), x.into()], Kwargs::new());
    let inner = graph.checkpoint();
    graph.restore(start).unwrap();
    assert!(graph.get(dropped).is_none());
    let other = graph.call_function(add(), vec![x.into(), 1i64.into()], Kwargs::new());
    assert_ne!(other, dropped, "ids are not reused");
    assert!(graph.get(dropped).is_none());
    assert_eq!(graph.restore(inner), Err(GraphError::StaleCheckpoint));
    graph.output(Arg::Tuple(vec![Arg::Node(dropped)]));
    let value = dropped.0;
    assert_eq!(
        graph.verify(),
        Err(VerifyError::UseBeforeDef {
            user: "output".into(),
            value
        })
    );
}

#[test]
fn use_of_a_node_that_never_was_is_found() {
    let mut graph = Graph::new();
    graph.output(Arg::Tuple(vec![Arg::Node(NodeId(7))]));
    assert!(matches!(
        graph.verify(),
        Err(VerifyError::UseBeforeDef { value: 7, .. })
    ));
}

#[test]
fn erasing_used_nodes_is_refused() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let sum = graph.call_function(add(), vec![x.into(), 1i64.into()], Kwargs::new());
    assert_eq!(
        graph.erase(x),
        Err(GraphError::HasUsers {
            name: "x".into(),
            users: 1
        })
    );
    graph.erase(sum).unwrap();
    graph.erase(x).unwrap();
    assert_eq!(graph.erase(x), Err(GraphError::NoSuchNode { id: x }));
    assert!(graph.is_empty());
    assert_eq!(
        &*graph.placeholder("x").0.to_string(),
        "2",
        "ids are not reused"
    );
    assert_eq!(&**graph.name(NodeId(2)), "x_1", "nor are names");
}

#[test]
fn names() {
    let mut names = Namespace::new();
    let mut create = |candidate: &str| names.create(candidate).to_string();
    for (candidate, name) in [
        ("add", "add"),
        ("add", "add_1"),
        ("add_1", "add_2"),
        ("add_7", "add_7"),
        ("add", "add_8"),
        ("abs", "abs_1"),
        ("abs", "abs_2"),
        ("class", "class_1"),
        ("inf", "inf_1"),
        ("3d", "_3d"),
        ("", "_unnamed"),
        ("a.b-c", "a_b_c"),
        ("L['x']", "L_x_"),
        ("_1", "_1"),
        ("x_01", "x_01"),
        ("x", "x"),
        ("x", "x_2"),
    ] {
        assert_eq!(create(candidate), name, "{candidate}");
    }
    assert_eq!(target_stem("__getitem__", false), "getitem");
    assert_eq!(target_stem("__getitem__", true), "__getitem__");
    assert_eq!(target_stem("someCamelCase", false), "some_camel_case");
    assert_eq!(target_stem("BatchNorm2d", false), "batch_norm2d");
}

#[test]
fn reprs() {
    for (value, repr) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e16, "1e+16"),
        (1e15, "1000000000000000.0"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (1e100, "1e+100"),
        (0.1, "0.1"),
        (1.0 / 3.0, "0.3333333333333333"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
        (5e-324, "5e-324"),
    ] {
        assert_eq!(float_repr(value), repr);
    }
    for (text, repr) in [
        ("a", "'a'"),
        ("it's", "\"it's\""),
        ("it's \"x\"", "'it\\'s \"x\"'"),
        ("\n\t\\\0\x7f", "'\\n\\t\\\\\\x00\\x7f'"),
        ("é\u{a0}\u{200b}\u{301}😀", "'é\\xa0\\u200b\u{301}😀'"),
    ] {
        assert_eq!(str_repr(text), repr);
    }
}

#[test]
fn stacks_share_and_drop_without_recursion() {
    let line = |line| SourceLine {
        file: "f.py".into(),
        line,
        function: "f".into(),
    };
    let mut deep = SourceStack::empty();
    for at in 0..200_000 {
        deep = deep.push(line(at));
    }
    let other = deep.push(line(1));
    assert_eq!(other.iter().count(), 200_001);
    assert_eq!(other.innermost(), Some(&line(1)));
    assert_eq!(other.outermost_first()[0], &line(0));
    drop(deep);
    drop(other);
}

#[test]
fn numbered_names_are_not_slow() {
    // A loop from the lowest number each time would take minutes.
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let target = Arc::new(add());
    for _ in 0..100_000 {
        graph.call_function(target.clone(), vec![x.into(), x.into()], Kwargs::new());
    }
    assert_eq!(&**graph.name(NodeId(100_000)), "add_99999");
}

#[test]
fn dot_escapes() {
    let mut graph = Graph::new();
    graph.placeholder("a\"b\\c\nd");
    assert!(graph.dot().contains("placeholder a\\\"b\\\\c\\nd\""));
}
