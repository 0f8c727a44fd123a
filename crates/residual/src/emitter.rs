//! What code generation of one residual function shares: the emitter, which values are shared or
//! cyclic, which tensors the graph has to give.
//!
//! Invariant: nothing is written to the translation before all values have been emitted, so that a
//! value that cannot be rebuilt leaves everything as it was.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{LocalIdx, Op};
use fx_graph::NodeId;
use guards::{IntExpr, SourceId};
use rustc_hash::{FxHashMap, FxHashSet};
use translator::code::CodeInfo;
use translator::stop::{MAX_NESTING, R, Stop};
use variables::{Body, ComputedVar, FloatExpr, Obj, ObjId, Origin, Var};

use crate::asm::{Asm, Val};
use crate::chosen::Chosen;
use crate::classes::Classed;
use crate::finished::Finished;
use crate::iterators::Late;

/// Identity of a value that is built: an object, or an immutable value by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ident {
    /// a tracked object
    Obj(ObjId),
    /// a tuple, function or method
    Ptr(usize),
}

/// Generates the code of one residual function.
pub struct Emitter<'a, 'py> {
    /// the translation
    pub tx: Finished<'a, 'py>,
    /// the instructions behind the call of the graph
    pub asm: Asm,
    /// code of the root frame
    pub root: Rc<CodeInfo>,
    /// globals of the root frame
    pub globals: Obj,
    /// tensors that the graph gives, in the order in which they were asked for
    pub outputs: Vec<(NodeId, LocalIdx)>,
    /// tensors that get their class behind the graph
    pub(crate) classed: Classed,
    /// tensors that are one of two others
    pub(crate) chosen: Chosen,
    /// locals of the user that a tensor may be kept in
    pub homes: FxHashMap<NodeId, LocalIdx>,
    /// objects whose names listings show
    pub names: Vec<(Obj, String)>,
    /// whether a resume function is called that only a hook around the residual code would capture
    pub(crate) calls_unwrapped: bool,
    pub(crate) uses: FxHashMap<Ident, u32>,
    pub(crate) early: FxHashSet<ObjId>,
    pub(crate) memo: FxHashMap<Ident, LocalIdx>,
    pub(crate) building: FxHashSet<Ident>,
    pub(crate) deferred: Vec<ObjId>,
    /// the temporary of an exception that was caught, to be emptied once it was handed on
    pub(crate) forgotten: Vec<Val>,
    /// iterators over what effects change, and how they stand: done behind the effects
    pub(crate) late: Late,
    /// locals of values that are to live as long as the residual frame
    pub(crate) outliving: Vec<LocalIdx>,
    /// whether a step function is emitted, whose locals are all the compiler's
    pub(crate) in_step: bool,
    /// code that stands in for frames of the user's, never to be captured
    pub(crate) left_alone: Vec<Obj>,
    /// sizes of tensors from outside, and the locals that they are kept in
    pub(crate) dims: Vec<(IntExpr, LocalIdx)>,
    /// what pure functions give, made in front of the graph, and the locals that it is kept in
    pub(crate) computed: Vec<(Rc<ComputedVar>, LocalIdx)>,
    /// sources that are guarded to yield a constant, by the first so many guards
    pub(crate) held: (usize, FxHashSet<SourceId>),
    /// locals of what is made before the graph
    pub(crate) early_values: Vec<LocalIdx>,
    /// locals of the states that generators had before, by the index of a call of each
    pub(crate) generator_states: Vec<(usize, LocalIdx)>,
    /// torch's random state from before the graph
    pub(crate) torch_random_state: Option<LocalIdx>,
    classes: Option<FxHashMap<SourceId, Obj>>,
    bound: FxHashMap<NodeId, Obj>,
    path: Vec<Ident>,
    /// cells that the frame itself has; a comprehension makes others in the same slots
    own_cells: FxHashMap<u32, ObjId>,
}

impl<'a, 'py> Emitter<'a, 'py> {
    /// Starts.
    pub fn new(tx: Finished<'a, 'py>, root: Rc<CodeInfo>, globals: Obj) -> Emitter<'a, 'py> {
        let keep = &root.consts[..root.consts.len().min(1)];
        let mut asm = Asm::new(root.fields.version, keep, &[]);
        for made in tx.remade() {
            asm.make(&made.class);
        }
        let bound = tx
            .inputs()
            .iter()
            .filter(|i| i.bound)
            .map(|i| (i.node, i.obj.clone()))
            .collect();
        let mut own_cells = FxHashMap::default();
        for i in 0..tx.state().effects.len() {
            let id = ObjId(i as u32);
            if let Origin::RootCell(slot) = tx.obj(id).origin {
                own_cells.entry(slot).or_insert(id);
            }
        }
        Emitter {
            tx,
            asm,
            root,
            globals,
            outputs: Vec::new(),
            classed: Classed::default(),
            chosen: Chosen::default(),
            homes: FxHashMap::default(),
            calls_unwrapped: false,
            names: Vec::new(),
            uses: FxHashMap::default(),
            early: FxHashSet::default(),
            memo: FxHashMap::default(),
            building: FxHashSet::default(),
            deferred: Vec::new(),
            forgotten: Vec::new(),
            late: Late::default(),
            outliving: Vec::new(),
            in_step: false,
            left_alone: Vec::new(),
            dims: Vec::new(),
            computed: Vec::new(),
            held: Default::default(),
            early_values: Vec::new(),
            generator_states: Vec::new(),
            torch_random_state: None,
            classes: None,
            bound,
            path: Vec::new(),
            own_cells,
        }
    }

    /// Whether an object was made while translating, so that it is rebuilt.
    pub fn is_new(&self, id: ObjId) -> bool {
        match self.tx.obj(id).origin {
            Origin::New => true,
            Origin::RootCell(slot) => self.own_cells.get(&slot) != Some(&id),
            Origin::Source { .. } => false,
        }
    }

    // ---- analysis -------------------------------------------------------------------------------

    /// Counts references and finds cycles below a value. To be called for every value that will be
    /// emitted, before the first is.
    pub fn analyse(&mut self, var: &Var) {
        let ident = match self.ident(var) {
            Some(i) => i,
            None => {
                for c in self.children(var) {
                    self.analyse(&c);
                }
                return;
            }
        };
        let n = self.uses.entry(ident).or_insert(0);
        *n += 1;
        if *n > 1 {
            if let Some(at) = self.path.iter().position(|p| *p == ident) {
                self.break_cycle(at);
            }
            return;
        }
        if self.path.len() >= MAX_NESTING {
            return; // Building it stops at the same depth.
        }
        self.path.push(ident);
        for c in self.children(var) {
            self.analyse(&c);
        }
        self.path.pop();
    }

    /// The values from `at` to the end of the path form a cycle.
    fn break_cycle(&mut self, at: usize) {
        let fillable = |i: &Ident| match i {
            // It can't be filled once it is made.
            Ident::Obj(id) if self.tx.known().is_frozendict(&self.tx.obj(*id).class) => None,
            Ident::Obj(id) => {
                let body = &self.tx.obj(*id).body;
                matches!(
                    body,
                    Body::Plain | Body::List(_) | Body::Deque(..) | Body::Dict(_) | Body::Cell(_)
                )
                .then_some(*id)
                .filter(|id| self.tx.obj(*id).dict_of.is_none())
            }
            Ident::Ptr(_) => None,
        };
        let ids: Vec<ObjId> = match fillable(&self.path[at]) {
            Some(id) => vec![id],
            None => self.path[at..].iter().filter_map(fillable).collect(),
        };
        self.early.extend(ids);
    }

    /// The identity of a value that is built here; `None` for values without one and for existing
    /// objects.
    pub(crate) fn ident(&self, var: &Var) -> Option<Ident> {
        match var {
            Var::Obj(id) => self.is_new(*id).then_some(Ident::Obj(*id)),
            Var::Tuple(t) if t.origin.is_none() && !(t.items.is_empty() && t.class.is_none()) => {
                Some(Ident::Ptr(Rc::as_ptr(t) as usize))
            }
            // Computed once: it is one object.
            Var::Int(i) if !matches!(i.expr, IntExpr::Source(_)) => {
                Some(Ident::Ptr(Rc::as_ptr(i) as usize))
            }
            Var::Float(f) if !matches!(f.expr, FloatExpr::Source(_)) => {
                Some(Ident::Ptr(Rc::as_ptr(f) as usize))
            }
            Var::Text(t) => Some(Ident::Ptr(Rc::as_ptr(t) as usize)),
            Var::Func(f) => Some(Ident::Ptr(Rc::as_ptr(f) as usize)),
            Var::Method(m) => Some(Ident::Ptr(Rc::as_ptr(m) as usize)),
            Var::BuiltinMethod(m) => Some(Ident::Ptr(Rc::as_ptr(m) as usize)),
            Var::Super(s) => Some(Ident::Ptr(Rc::as_ptr(s) as usize)),
            Var::Slice(s) => Some(Ident::Ptr(Rc::as_ptr(s).cast::<u8>() as usize)),
            _ => None,
        }
    }

    /// The values that building this one emits.
    pub(crate) fn children(&self, var: &Var) -> Vec<Var> {
        match var {
            Var::Tuple(t) if t.origin.is_none() => t.items.clone(),
            Var::Slice(s) => s.to_vec(),
            Var::Text(t) => t.values().cloned().collect(),
            Var::Handled(exc) => vec![(**exc).clone()],
            Var::Obj(id) if self.is_new(*id) => {
                if let Some(owner) = &self.tx.obj(*id).dict_of {
                    return vec![owner.clone()];
                }
                let mut out = self.body_values(*id);
                out.extend(self.attr_values(*id));
                out
            }
            Var::Func(f) => {
                let parts = [&f.defaults, &f.kwdefaults, &f.annotations, &f.annotate];
                let mut out: Vec<Var> = parts.into_iter().flatten().cloned().collect();
                out.extend(f.closure.iter().cloned());
                out.extend(self.attr_values(f.obj));
                out
            }
            Var::Method(m) => vec![m.func.clone(), m.receiver.clone()],
            Var::BuiltinMethod(m) => vec![m.0.clone()],
            Var::Super(s) => vec![s.receiver.clone()],
            _ => Vec::new(),
        }
    }

    fn attr_values(&self, id: ObjId) -> Vec<Var> {
        let s = self.tx.obj(id);
        let written = s
            .attr_order
            .iter()
            .filter_map(|n| s.attrs.get(n).cloned().flatten());
        written
            .chain(s.seen.get("default_factory").cloned().flatten())
            .chain(s.dict.into_iter().flat_map(|d| self.body_values(d)))
            .collect()
    }

    fn body_values(&self, id: ObjId) -> Vec<Var> {
        match &self.tx.obj(id).body {
            Body::List(l) | Body::Deque(l, _) => l.iter().cloned().collect(),
            Body::Dict(d) => d.iter().flat_map(|(k, v)| [k.clone(), v.clone()]).collect(),
            Body::Set(d) => d.iter().map(|(k, _)| k.clone()).collect(),
            Body::Cell(v) => v.iter().cloned().collect(),
            Body::Address(of)
            | Body::DataPointer(of)
            | Body::RaggedSize(of, _)
            | Body::MappingProxy(of) => vec![of.clone()],
            Body::Array(array) => match array.copied.as_ref().and_then(|c| c.view.as_ref()) {
                Some(view) => view
                    .pos
                    .iter()
                    .chain(view.kw.iter().map(|(_, v)| v))
                    .cloned()
                    .collect(),
                None => vec![Var::Tensor(array.tensor.clone())],
            },
            Body::Result(made) => {
                let kw = made.kw.iter().map(|(_, v)| v);
                made.pos.iter().chain(kw).cloned().collect()
            }
            Body::Iter(i) => crate::iterators::values(i),
            Body::DictView(d, _) => vec![Var::Obj(*d)],
            Body::Generator(state) => crate::generators::values(state),
            _ => Vec::new(),
        }
    }

    // ---- outputs --------------------------------------------------------------------------------

    /// The local in which a tensor that the graph gives is kept.
    pub fn output(&mut self, node: NodeId) -> LocalIdx {
        if let Some((_, l)) = self.outputs.iter().find(|(n, _)| *n == node) {
            return *l;
        }
        if let Some(local) = self.classed(node).or_else(|| self.chosen(node)) {
            return local;
        }
        let local = self.home(node);
        self.outputs.push((node, local));
        local
    }

    /// The local of the user that a node's tensor is kept in, or one of ours.
    pub(crate) fn home(&mut self, node: NodeId) -> LocalIdx {
        match self.homes.get(&node) {
            Some(l) => *l,
            None => self.asm.tmp("___graph_out"),
        }
    }

    /// The parameter or buffer that the residual code holds for an input of the graph.
    pub fn bound_input(&self, node: NodeId) -> Option<&Obj> {
        self.bound.get(&node)
    }

    // ---- what is known of the outside ---------------------------------------------------------

    /// The exact class of the value of a source, where translation looked at it.
    pub fn class_of(&mut self, source: SourceId) -> Option<Obj> {
        let tx = &self.tx;
        let map = self.classes.get_or_insert_with(|| {
            let mut map = FxHashMap::default();
            for i in 0..tx.state().effects.len() {
                let s = tx.obj(ObjId(i as u32));
                if let Origin::Source { source, .. } = &s.origin {
                    map.insert(*source, s.class.clone());
                }
            }
            map
        });
        map.get(&source).cloned()
    }

    /// Whether the compiled code may hold an object only weakly.
    pub fn is_weak(&self, obj: &Obj) -> bool {
        self.tx.pins().is_weak(obj.bind(self.tx.py))
    }

    // ---- values for later --------------------------------------------------------------------

    /// Makes a value available for the rest of the code, whatever that does: as a constant, an
    /// argument of the frame or a temporary.
    ///
    /// # Errors
    /// A break where the value cannot be rebuilt.
    pub fn prepare(&mut self, var: &Var) -> R<Val> {
        if let Var::Handled(exc) = var {
            return Ok(Val::Handled(Box::new(self.prepare(exc)?)));
        }
        if let Var::Tensor(t) = var {
            self.check_given_out(t)?;
        }
        if let Some(val) = self.cheap(var) {
            return Ok(val);
        }
        self.emit(var)?;
        if let Some(local) = self.ident(var).and_then(|i| self.memo.get(&i)) {
            let local = *local;
            self.asm.op(bytecode::op::Op::PopTop);
            return Ok(Val::Fast(local));
        }
        let tmp = self.asm.tmp("___tmp");
        self.asm.store_fast(tmp);
        if let Some(ident) = self.ident(var) {
            self.memo.insert(ident, tmp);
        }
        Ok(Val::Fast(tmp))
    }

    fn cheap(&mut self, var: &Var) -> Option<Val> {
        match var {
            Var::Null => Some(Val::Null),
            Var::Computed(c) if self.is_held(c) => Some(Val::Const(c.value.clone())),
            Var::Computed(_) if self.tx.follows_from_read(var) => None,
            Var::Computed(c) if !self.in_step => Some(Val::Fast(self.computed_local(c))),
            Var::Const(o) => Some(Val::Const(o.clone())),
            Var::Py(p) if p.source.is_none() && !self.is_weak(&p.obj) => {
                let made = self.asm.made(&p.obj).map(Val::Fast);
                Some(made.unwrap_or_else(|| Val::Const(p.obj.clone())))
            }
            Var::Tensor(t) => match &t.input {
                None => Some(Val::Fast(self.output(t.node))),
                Some(i) => match self.bound_input(t.node) {
                    Some(o) => Some(Val::Const(o.clone())),
                    None => self.argument(i.source).map(Val::Fast),
                },
            },
            Var::Py(_)
            | Var::Lazy(_)
            | Var::Int(_)
            | Var::Float(_)
            | Var::Obj(_)
            | Var::Tuple(_) => {
                if let Some(l) = self.ident(var).and_then(|i| self.memo.get(&i)) {
                    return Some(Val::Fast(*l));
                }
                let source = self.source_of(var)?;
                self.argument(source).map(Val::Fast)
            }
            _ => self
                .ident(var)
                .and_then(|i| self.memo.get(&i))
                .map(|l| Val::Fast(*l)),
        }
    }

    /// How the frame reaches an existing object.
    pub fn source_of(&self, var: &Var) -> Option<SourceId> {
        match var {
            Var::Py(p) => p.source,
            Var::Lazy(l) => Some(l.source),
            Var::Int(i) => match i.expr {
                IntExpr::Source(source) => Some(source),
                _ => None,
            },
            Var::Float(f) => match f.expr {
                FloatExpr::Source(source) => Some(source),
                _ => None,
            },
            Var::Tuple(t) => t.origin.as_ref().map(|o| o.1),
            Var::Tensor(t) => t.input.as_ref().map(|i| i.source),
            Var::Obj(id) => match &self.tx.obj(*id).origin {
                Origin::Source { source, .. } => Some(*source),
                _ => None,
            },
            _ => None,
        }
    }

    /// `callable with its NULL -- result`: a call with arguments that `load` puts there.
    pub fn call_passing<A>(
        &mut self,
        pos: &[A],
        kw: &[(Arc<str>, A)],
        load: impl Fn(&mut Self, &A) -> R<()>,
    ) -> R<()> {
        if kw.is_empty() {
            for arg in pos {
                load(self, arg)?;
            }
            self.asm.call(pos.len() as u32);
            return Ok(());
        }
        self.arguments(pos, kw, load)?;
        self.asm.op(Op::CallEx { kwargs: true });
        Ok(())
    }

    /// `-- tuple dict`
    pub fn arguments<A>(
        &mut self,
        pos: &[A],
        kw: &[(Arc<str>, A)],
        load: impl Fn(&mut Self, &A) -> R<()>,
    ) -> R<()> {
        for arg in pos {
            load(self, arg)?;
        }
        self.asm.op(Op::BuildTuple(pos.len() as u32));
        for (name, arg) in kw {
            self.load_str(name);
            load(self, arg)?;
        }
        self.asm.op(Op::BuildMap(kw.len() as u32));
        Ok(())
    }

    /// A break for a value that has no code.
    pub fn cannot(&self, what: impl std::fmt::Display) -> Stop {
        Stop::brk(
            format!("Cannot rebuild {what}"),
            "The graph would break here, and the code behind the break needs this value, which compiled code cannot make again.",
            "Move the code that makes the value and the code that breaks the graph apart.",
        )
    }
}
