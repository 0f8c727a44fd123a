//! A graph as data to be written, and the graph that such data are of.
//!
//! Invariant: the graph that is made again has the same nodes under the same ids, in the same order; frames that stacks
//! share are written once.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::arg::{Arg, Kwargs};
use crate::graph::{Graph, distinct_inputs};
use crate::node::{
    ModuleCall, NodeData, NodeId, OpKind, SourceLine, SourceStack, Target, TypeExpr,
};

/// A graph as data.
#[derive(Serialize, Deserialize)]
pub struct KeptGraph {
    /// how many ids were given
    bound: u32,
    /// in the order in which they run
    nodes: Vec<KeptNode>,
    /// each with the number of the one around it, which comes earlier; the number counts from one
    frames: Vec<(SourceLine, u32)>,
    /// calls of modules, each with the number of the one around it in the same way
    modules: Vec<(KeptModule, u32)>,
}

/// A call of a module.
#[derive(Serialize, Deserialize)]
struct KeptModule {
    path: String,
    /// which module it is, among those of the graph
    module: usize,
    class: u32,
}

#[derive(Serialize, Deserialize)]
struct KeptNode {
    id: NodeId,
    op: OpKind,
    target: Target,
    args: Vec<Arg>,
    kwargs: Kwargs,
    name: Arc<str>,
    type_expr: Option<TypeExpr>,
    /// the innermost frame, counted from one; 0 for none
    source: u32,
    /// the innermost call of a module, in the same way
    module: u32,
    number_dtype: Option<Box<str>>,
    flags: [bool; 7],
}

impl KeptGraph {
    /// What is to be written of a graph. Of calls of modules those are written whose class `is_kept`, by handle.
    pub fn of(graph: &Graph, is_kept: impl Fn(u32) -> bool) -> KeptGraph {
        let mut frames = Frames::default();
        let mut modules = Modules::default();
        let nodes = graph.iter().map(|(id, node)| KeptNode {
            id,
            op: node.op,
            target: node.target.clone(),
            args: node.args.clone(),
            kwargs: node.kwargs.clone(),
            name: node.name.clone(),
            type_expr: node.type_expr.as_deref().cloned(),
            source: frames.number(&node.source),
            module: modules.number(node.module.as_ref(), &is_kept),
            number_dtype: node.number_dtype.map(Into::into),
            flags: [
                node.impure,
                node.repeatable,
                node.draws,
                node.keeps_random_state,
                node.may_refuse_arguments,
                node.may_refuse_write,
                node.gives_class,
            ],
        });
        KeptGraph {
            nodes: nodes.collect(),
            bound: graph.id_bound() as u32,
            frames: frames.list,
            modules: modules.list,
        }
    }

    /// The graph; `dtype` gives the name of a dtype as it stands in the program. `None` where the data are of no graph.
    pub fn graph(self, dtype: impl Fn(&str) -> Option<&'static str>) -> Option<Graph> {
        let mut stacks = vec![SourceStack::empty()];
        for (line, outer) in self.frames {
            let stack = stacks.get(outer as usize)?.push(line);
            stacks.push(stack);
        }
        let mut modules: Vec<Option<Arc<ModuleCall>>> = vec![None];
        for (kept, outer) in self.modules {
            let outer = modules.get(outer as usize)?.clone();
            modules.push(Some(Arc::new(ModuleCall {
                path: kept.path,
                module: kept.module,
                class: kept.class,
                outer,
            })));
        }
        let mut graph = Graph::with_capacity(self.nodes.len());
        let mut by_id: Vec<Option<NodeData>> = (0..self.bound).map(|_| None).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        for node in self.nodes {
            order.push((node.id, node.op));
            let number_dtype = match node.number_dtype {
                Some(name) => Some(dtype(&name)?),
                None => None,
            };
            let [
                impure,
                repeatable,
                draws,
                keeps,
                refuses,
                refuses_write,
                gives_class,
            ] = node.flags;
            if !graph.names.reserve(&node.name) {
                return None;
            }
            *by_id.get_mut(node.id.index())? = Some(NodeData {
                op: node.op,
                target: node.target,
                args: node.args,
                kwargs: node.kwargs,
                name: node.name,
                type_expr: node.type_expr.map(|expr: TypeExpr| Arc::new(expr)),
                source: stacks.get(node.source as usize)?.clone(),
                module: modules.get(node.module as usize)?.clone(),
                impure,
                number_dtype,
                repeatable,
                draws,
                keeps_random_state: keeps,
                may_refuse_arguments: refuses,
                may_refuse_write: refuses_write,
                owns_memory: false,
                gives_class,
                chooses: false,
            });
        }
        let mut inputs = Vec::with_capacity(order.len());
        for (at, data) in by_id.into_iter().enumerate() {
            if let Some(data) = &data {
                inputs.push((NodeId(at as u32), distinct_inputs(data)));
            }
            graph.nodes.add_node(data);
        }
        for (user, of) in inputs {
            graph.link(&of, user);
        }
        for (id, op) in order {
            match op {
                OpKind::Placeholder => graph.placeholders.push(id),
                _ => graph.body.push(id),
            }
        }
        graph.verify().ok()?;
        Some(graph)
    }
}

/// The frames of the stacks of a graph.
#[derive(Default)]
struct Frames {
    list: Vec<(SourceLine, u32)>,
    numbers: FxHashMap<usize, u32>,
}

impl Frames {
    /// The number of a stack's innermost frame.
    fn number(&mut self, stack: &SourceStack) -> u32 {
        let mut unknown: Vec<&SourceLine> = Vec::new();
        let mut outer = 0;
        // A frame is where its line is.
        for line in stack.iter() {
            if let Some(known) = self.numbers.get(&(std::ptr::from_ref(line) as usize)) {
                outer = *known;
                break;
            }
            unknown.push(line);
        }
        for line in unknown.into_iter().rev() {
            self.list.push((line.clone(), outer));
            outer = self.list.len() as u32;
            self.numbers
                .insert(std::ptr::from_ref(line) as usize, outer);
        }
        outer
    }
}

/// The calls of modules that made nodes of a graph.
#[derive(Default)]
struct Modules {
    list: Vec<(KeptModule, u32)>,
    calls: FxHashMap<*const ModuleCall, u32>,
    /// numbers of modules by address
    modules: FxHashMap<usize, usize>,
}

impl Modules {
    /// The number of the innermost call that is written.
    fn number(&mut self, call: Option<&Arc<ModuleCall>>, is_kept: &impl Fn(u32) -> bool) -> u32 {
        let Some(call) = call else { return 0 };
        if let Some(known) = self.calls.get(&Arc::as_ptr(call)) {
            return *known;
        }
        let mut number = self.number(call.outer.as_ref(), is_kept);
        if is_kept(call.class) {
            let next = self.modules.len() + 1;
            let kept = KeptModule {
                path: call.path.clone(),
                module: *self.modules.entry(call.module).or_insert(next),
                class: call.class,
            };
            self.list.push((kept, number));
            number = self.list.len() as u32;
        }
        self.calls.insert(Arc::as_ptr(call), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::FnTarget;

    fn line(line: u32) -> SourceLine {
        SourceLine {
            file: "file.py".into(),
            line,
            function: "forward".into(),
        }
    }

    /// A graph with an input that was made late, a node that was taken back, and frames that nodes share.
    fn graph() -> Graph {
        let mut graph = Graph::new();
        let x = graph.placeholder("x");
        let relu = FnTarget::new(0, "<built-in relu>", "torch.relu", "relu");
        let args = vec![Arg::Node(x), Arg::Float(f64::NAN), Arg::Int(-3)];
        let first = graph.call_function(relu, args, Vec::new());
        let outer = SourceStack::empty().push(line(1));
        graph.set_source(first, &outer.push(line(7)));
        graph.set_number_dtype(first, "float32");
        graph.set_draws(first);
        let before = graph.checkpoint();
        graph.call_method("neg", vec![Arg::Node(first)], Vec::new());
        graph.restore(before).unwrap();
        let y = graph.placeholder("y");
        let kwargs = vec![("out".into(), Arg::slice(Arg::None, Arg::Node(y), Arg::None))];
        let second = graph.call_method("add_", vec![Arg::Node(first)], kwargs);
        graph.set_source(second, &outer.push(line(8)));
        graph.output(Arg::Tuple(vec![Arg::Node(second)]));
        graph
    }

    #[test]
    fn a_graph_is_what_it_was() {
        let graph = graph();
        let bytes = postcard::to_stdvec(&KeptGraph::of(&graph, |_| true)).unwrap();
        let kept: KeptGraph = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(kept.frames.len(), 3);
        let same = kept
            .graph(|name| (name == "float32").then_some("float32"))
            .unwrap();
        assert!(same.iter().eq(graph.iter()));
        assert_eq!(same.placeholders(), graph.placeholders());
        assert_eq!(same.id_bound(), graph.id_bound());
        for (id, _) in graph.iter() {
            assert_eq!(same.users(id), graph.users(id));
        }
    }

    #[test]
    fn what_is_of_no_graph_gives_none() {
        let mut kept = KeptGraph::of(&graph(), |_| true);
        kept.nodes[2].source = 9;
        assert!(kept.graph(|_| Some("float32")).is_none());
        let mut kept = KeptGraph::of(&graph(), |_| true);
        kept.nodes.swap(2, 3);
        assert!(kept.graph(|_| Some("float32")).is_none());
        assert!(KeptGraph::of(&graph(), |_| true).graph(|_| None).is_none());
    }
}
