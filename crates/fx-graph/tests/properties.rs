//! Random graphs: text round trip, checkpoints, dead code.

use std::collections::HashMap;
use std::sync::Arc;

use fx_graph::{
    Arg, FnTarget, Graph, GraphError, Kwargs, NodeId, OpKind, SourceLine, SourceStack, Target,
    TypeExpr,
};
use proptest::prelude::*;

/// One step in the making of a graph. Indices choose among the nodes made so far.
#[derive(Clone, Debug)]
enum Step {
    Placeholder(String),
    GetAttr(String),
    Function(u32, Vec<Spec>, Vec<(String, Spec)>, bool),
    Method(String, usize, Vec<Spec>),
    Module(String, Vec<Spec>),
}

/// An argument, with nodes by an index taken modulo their number.
#[derive(Clone, Debug)]
enum Spec {
    Node(usize),
    Leaf(Leaf),
    Tuple(Vec<Spec>),
    List(Vec<Spec>),
    Dict(Vec<(Leaf, Spec)>),
    Slice(Box<[Spec; 3]>),
}

#[derive(Clone, Debug)]
enum Leaf {
    None,
    Bool(bool),
    Int(i64),
    Float(u64),
    Str(String),
    Ellipsis,
    Opaque(u32, String),
}

fn leaf() -> impl Strategy<Value = Leaf> {
    prop_oneof![
        Just(Leaf::None),
        Just(Leaf::Ellipsis),
        any::<bool>().prop_map(Leaf::Bool),
        any::<i64>().prop_map(Leaf::Int),
        any::<u64>().prop_map(Leaf::Float),
        any::<String>().prop_map(Leaf::Str),
        (any::<u32>(), any::<String>()).prop_map(|(handle, repr)| Leaf::Opaque(handle, repr)),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    let flat = prop_oneof![
        3 => any::<usize>().prop_map(Spec::Node),
        1 => leaf().prop_map(Spec::Leaf),
    ];
    flat.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Spec::Tuple),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Spec::List),
            prop::collection::vec((leaf(), inner.clone()), 0..3).prop_map(Spec::Dict),
            [inner.clone(), inner.clone(), inner].prop_map(|parts| Spec::Slice(Box::new(parts))),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "(add|abs|x|list|camelCase|L_x_|__call__|conv)(_[0-9]{1,2})?",
        any::<String>().prop_filter("not empty", |name| !name.is_empty()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let args = || prop::collection::vec(spec(), 0..4);
    prop_oneof![
        1 => name().prop_map(Step::Placeholder),
        1 => name().prop_map(Step::GetAttr),
        4 => (0u32..6, args(), prop::collection::vec((any::<String>(), spec()), 0..3), prop::bool::weighted(0.1))
            .prop_map(|(function, args, kwargs, impure)| Step::Function(function, args, kwargs, impure)),
        2 => (name(), any::<usize>(), args()).prop_map(|(name, on, args)| Step::Method(name, on, args)),
        1 => (name(), args()).prop_map(|(name, args)| Step::Module(name, args)),
    ]
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..most)
}

fn function(handle: u32) -> FnTarget {
    let name = [
        "add",
        "abs",
        "relu",
        "conv2d_3",
        "<lambda>",
        "wéird \"name\"",
    ][handle as usize];
    FnTarget::new(handle, format!("<{name}\n>"), format!("mod.{name}"), name)
}

fn leaf_arg(leaf: &Leaf) -> Arg {
    match leaf {
        Leaf::None => Arg::None,
        Leaf::Bool(value) => Arg::Bool(*value),
        Leaf::Int(value) => Arg::Int(*value),
        Leaf::Float(bits) => Arg::Float(f64::from_bits(*bits)),
        Leaf::Str(text) => Arg::Str(text.as_str().into()),
        Leaf::Ellipsis => Arg::Ellipsis,
        Leaf::Opaque(handle, repr) => Arg::Opaque {
            handle: *handle,
            repr: repr.as_str().into(),
        },
    }
}

fn arg(spec: &Spec, known: &[NodeId]) -> Arg {
    let many = |specs: &[Spec]| specs.iter().map(|spec| arg(spec, known)).collect();
    match spec {
        Spec::Node(_) if known.is_empty() => Arg::None,
        Spec::Node(at) => Arg::Node(known[at % known.len()]),
        Spec::Leaf(leaf) => leaf_arg(leaf),
        Spec::Tuple(items) => Arg::Tuple(many(items)),
        Spec::List(items) => Arg::List(many(items)),
        Spec::Dict(items) => Arg::Dict(
            items
                .iter()
                .map(|(key, value)| (leaf_arg(key), arg(value, known)))
                .collect(),
        ),
        Spec::Slice(parts) => {
            let [start, stop, step] = &**parts;
            Arg::slice(arg(start, known), arg(stop, known), arg(step, known))
        }
    }
}

/// Carries the steps out. A placeholder made late is still usable by all later nodes.
fn build(graph: &mut Graph, steps: &[Step]) {
    let mut known: Vec<NodeId> = graph.order().collect();
    for (at, step) in steps.iter().enumerate() {
        let many = |specs: &[Spec]| specs.iter().map(|spec| arg(spec, &known)).collect();
        let id = match step {
            Step::Placeholder(name) => graph.placeholder(name.as_str()),
            Step::GetAttr(name) => graph.get_attr(name.as_str()),
            Step::Function(handle, args, kwargs, impure) => {
                let kwargs = kwargs
                    .iter()
                    .map(|(key, value)| (Arc::from(key.as_str()), arg(value, &known)))
                    .collect();
                let id = graph.call_function(function(*handle), many(args), kwargs);
                graph.set_impure(id, *impure);
                id
            }
            Step::Method(name, on, args) => {
                let mut all: Vec<Arg> = many(args);
                all.insert(0, arg(&Spec::Node(*on), &known));
                graph.call_method(name.as_str(), all, Kwargs::new())
            }
            Step::Module(name, args) => graph.call_module(name.as_str(), many(args), Kwargs::new()),
        };
        if at % 3 == 0 {
            let line = |line| SourceLine {
                file: "a \"b\".py".into(),
                line,
                function: "f\n".into(),
            };
            let stack = SourceStack::from_outermost([line(at as u32), line(7)]);
            graph.set_source(id, &stack);
        }
        if at % 5 == 0 {
            graph.set_type(
                id,
                Some(Arc::new(TypeExpr {
                    handle: 9,
                    code: "torch.Tensor".into(),
                })),
            );
        }
        known.push(id);
    }
}

fn finish(graph: &mut Graph, outputs: &[usize]) {
    let known: Vec<NodeId> = graph.order().collect();
    let picked = outputs
        .iter()
        .filter(|_| !known.is_empty())
        .map(|at| Arg::Node(known[at % known.len()]))
        .collect();
    graph.output(Arg::Tuple(picked));
}

/// A value of the tiny interpreter: what was computed, as a hash of operation and inputs. Impure
/// nodes also leave a trace.
fn run(graph: &Graph) -> (u64, Vec<u64>) {
    use std::hash::{DefaultHasher, Hash, Hasher};
    fn mix(arg: &Arg, values: &HashMap<NodeId, u64>, hasher: &mut DefaultHasher) {
        match arg {
            Arg::Node(id) => values[id].hash(hasher),
            Arg::Tuple(items) | Arg::List(items) => {
                items.len().hash(hasher);
                items.iter().for_each(|item| mix(item, values, hasher));
            }
            Arg::Dict(items) => items.iter().for_each(|(key, value)| {
                mix(key, values, hasher);
                mix(value, values, hasher);
            }),
            Arg::Slice(parts) => parts.iter().for_each(|part| mix(part, values, hasher)),
            other => format!("{other:?}").hash(hasher),
        }
    }
    let mut values = HashMap::new();
    let mut effects = Vec::new();
    let mut returned = 0;
    for (id, node) in graph.iter() {
        let mut hasher = DefaultHasher::new();
        node.op.as_str().hash(&mut hasher);
        match &node.target {
            Target::Name(name) => name.hash(&mut hasher),
            Target::Function(function) => function.path.hash(&mut hasher),
        }
        node.args
            .iter()
            .for_each(|arg| mix(arg, &values, &mut hasher));
        for (key, arg) in &node.kwargs {
            key.hash(&mut hasher);
            mix(arg, &values, &mut hasher);
        }
        let value = hasher.finish();
        if node.impure {
            effects.push(value);
        }
        if node.op == OpKind::Output {
            returned = value;
        }
        values.insert(id, value);
    }
    (returned, effects)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_round_trip(steps in steps(12), outputs in prop::collection::vec(any::<usize>(), 0..3), dce: bool) {
        let mut graph = Graph::new();
        build(&mut graph, &steps);
        finish(&mut graph, &outputs);
        graph.verify().unwrap();
        if dce {
            graph.eliminate_dead_code();
        }
        let text = graph.to_text();
        let read = Graph::parse(&text).unwrap();
        read.verify().unwrap();
        prop_assert_eq!(&text, &read.to_text());
        prop_assert!(graph.iter().eq(read.iter()));
        prop_assert_eq!(graph.python_code(), read.python_code());
        for id in graph.order() {
            prop_assert_eq!(graph.users(id), read.users(id));
        }
    }

    #[test]
    fn restore_is_as_if_never_done(before in steps(10), dropped in steps(10), after in steps(10)) {
        let mut plain = Graph::new();
        build(&mut plain, &before);
        let mut graph = plain.clone();
        let checkpoint = graph.checkpoint();
        let checkpoint_len = graph.len();
        build(&mut graph, &dropped);
        let inner = graph.checkpoint();
        build(&mut graph, &after);
        graph.restore(inner).unwrap();
        graph.restore(checkpoint).unwrap();
        prop_assert!(graph.iter().eq(plain.iter()));
        for id in graph.order() {
            prop_assert_eq!(graph.users(id), plain.users(id));
        }
        let bound = graph.id_bound();
        build(&mut plain, &after);
        build(&mut graph, &after);
        graph.verify().unwrap();
        // All but the ids, which are not given out again.
        prop_assert_eq!(graph.python_code(), plain.python_code());
        let added = graph.order().filter(|id| id.index() >= bound).count();
        prop_assert_eq!(added, graph.len() - checkpoint_len);
    }

    #[test]
    fn dead_code_has_no_say(steps in steps(16), outputs in prop::collection::vec(any::<usize>(), 0..3)) {
        let mut graph = Graph::new();
        build(&mut graph, &steps);
        finish(&mut graph, &outputs);
        let expected = run(&graph);
        let checkpoint = graph.checkpoint();
        let placeholders = graph.placeholders().to_vec();
        let removed = graph.eliminate_dead_code();
        graph.verify().unwrap();
        prop_assert_eq!(run(&graph), expected.clone());
        prop_assert_eq!(graph.placeholders(), &placeholders[..]);
        for (id, node) in graph.iter() {
            let kept = node.impure || graph.has_users(id)
                || matches!(node.op, OpKind::Placeholder | OpKind::Output);
            prop_assert!(kept, "{} is dead", node.name);
        }
        for id in &removed {
            prop_assert!(graph.get(*id).is_none());
        }
        if !removed.is_empty() {
            prop_assert_eq!(graph.restore(checkpoint), Err(GraphError::StaleCheckpoint));
        }
        prop_assert!(graph.eliminate_dead_code().is_empty());
        graph.erase_unused_placeholders();
        graph.verify().unwrap();
        prop_assert_eq!(run(&graph), expected);
    }

    #[test]
    fn replaced_uses_leave_no_trace(steps in steps(12), pick: usize) {
        let mut graph = Graph::new();
        let first = graph.placeholder("first");
        build(&mut graph, &steps);
        finish(&mut graph, &[pick]);
        let nodes: Vec<_> = graph.order().filter(|id| *id != first).collect();
        let old = nodes[pick % nodes.len()];
        let users = graph.users(old);
        prop_assert_eq!(graph.replace_uses(old, &Arg::Node(first)).unwrap(), users.clone());
        prop_assert!(!graph.has_users(old));
        for user in users {
            prop_assert!(graph.inputs(user).contains(&first));
        }
        graph.verify().unwrap();
        if graph[old].op != OpKind::Output {
            graph.erase(old).unwrap();
            graph.verify().unwrap();
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(fx-graph ids=[0-9]\n)?[%#()a-z0-9 =\"\\\\{}:,.\n]{0,60}") {
        if let Ok(graph) = Graph::parse(&text) {
            let _ = graph.verify();
        }
    }
}
