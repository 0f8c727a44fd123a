//! The table of everything that translation has changed, and of which objects it knows.
//!
//! Invariant: no effect reaches a real object while translating; all of them are replayed by the
//! residual bytecode, from this table.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::NodeId;
use guards::{CallExpr, SourceId};
use tensor_meta::{SymInt, TensorMeta};

use crate::computed::ComputedVar;
use crate::object::{Body, ObjId, ObjState};
use crate::var::{LazyVar, Obj, TensorVar, Var};

/// One global variable: the address of the globals dict, and the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlobalKey {
    /// address of the dict
    pub dict: usize,
    /// variable
    pub name: Arc<str>,
}

/// A global that was written.
#[derive(Clone, Debug)]
pub struct GlobalWrite {
    /// the dict, kept alive
    pub dict: Obj,
    /// the variable
    pub name: Arc<str>,
    /// `None`: deleted
    pub value: Option<Var>,
    /// whether it was set before anything else happened to it: nobody has asked whether it was there
    pub set_first: bool,
}

/// A call with an effect that only the outside sees (`print`, a log record, a warning): the residual
/// code makes it, after the graph and behind all other effects, in the order of the program.
#[derive(Debug)]
pub struct DeferredCall {
    /// what is called
    pub function: Var,
    /// positional arguments: constants, tensors, and what cannot change
    pub pos: Vec<Var>,
    /// keyword arguments
    pub kw: Vec<(Arc<str>, Var)>,
    /// the frames that the callee finds above itself, the root first; only the root where it does
    /// not look
    pub frames: Vec<CallFrame>,
    /// the callee's own records are all that anyone sees of it
    pub silent: bool,
}

/// A call that the residual code makes before the graph runs.
#[derive(Clone, Debug)]
pub struct EarlyCall {
    /// what is called
    pub function: Obj,
    /// positional arguments
    pub pos: Vec<EarlyArg>,
    /// keyword arguments
    pub kw: Vec<(Arc<str>, EarlyArg)>,
    /// what sort of call it is
    pub kind: EarlyKind,
}

/// A class that the program's call makes anew, while the translation has one of its own: the call that makes it.
#[derive(Clone)]
pub struct Remade {
    /// the translation's
    pub class: Obj,
    /// what is called
    pub function: Obj,
    /// positional arguments
    pub pos: Vec<Obj>,
    /// keyword arguments
    pub kw: Vec<(Arc<str>, Obj)>,
}

/// An argument of an early call.
#[derive(Clone, Debug)]
pub enum EarlyArg {
    /// one that is known
    Const(Obj),
    /// what a source yields
    Source(SourceId),
}

/// What an early call does beside giving its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyKind {
    /// draws a random number from the generator that it is a method of; its range, where it is an int
    Draw(Option<(i64, i64)>),
    /// draws from the generator of NumPy's that is its first argument, or sets it
    DrawOfNumpy,
    /// nothing: it makes an object
    Make,
    /// nothing: it gives a number that guards can compute, too, as is said here
    Pure(Arc<CallExpr>),
    /// it is no call in front of the graph: the graph reads a tensor
    Read(ReadNumber),
}

/// A number that the graph reads from a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadNumber {
    /// the node that reads it
    pub node: NodeId,
    /// what holds it when the graph has run, where that is no result of the graph itself: the tensor that was read
    pub tensor: Option<NodeId>,
    /// between what it is, where it is an int
    pub range: Option<(i64, i64)>,
    /// whether it is no element of a tensor, but an int that the graph computes: what is computed of it is exact
    pub is_python: bool,
}

/// A frame on the stack of a [`DeferredCall`].
#[derive(Clone, Debug)]
pub struct CallFrame {
    /// its code object
    pub code: Obj,
    /// its globals
    pub globals: Obj,
    /// the line it is at
    pub line: u32,
}

/// Items appended to a list from outside that nothing has looked into.
#[derive(Clone, Debug)]
pub struct Tail {
    /// the list
    pub list: Rc<LazyVar>,
    /// what was appended
    pub items: im::Vector<Var>,
}

/// Values of a small tensor.
#[derive(Clone, Debug)]
pub struct KnownValues {
    /// the items of one of integers, one after the other
    pub items: Rc<[i64]>,
    /// the only item of one of floats, rounded to its dtype
    pub float: Option<f64>,
    /// ints that they follow from, which are constants once somebody asks
    pub of: Rc<[SymInt]>,
}

/// Persistent: a clone is O(1) and independent.
#[derive(Clone, Default)]
pub struct Effects {
    /// each behind a pointer of its own: a change then copies pointers, not its neighbours
    objs: im::Vector<Rc<ObjState>>,
    by_addr: im::HashMap<usize, Var>,
    holders: im::HashMap<usize, ObjId>,
    /// objects in the order in which they were first changed
    pub dirty: im::Vector<ObjId>,
    globals: im::HashMap<GlobalKey, u32>,
    /// writes to globals, in first-write order
    pub global_writes: im::Vector<GlobalWrite>,
    metas: im::HashMap<u32, Rc<TensorMeta>>,
    /// values of small integer tensors, by node, as long as nothing may have written to one
    pub known_values: im::HashMap<u32, KnownValues>,
    /// numbers that were read from tensors, by node, and how many operations may have written until then
    pub numbers_read: im::HashMap<u32, (u32, Var)>,
    /// lists that were appended to without a look at what they hold
    pub tails: im::Vector<Tail>,
    /// objects below this number were not changed since somebody began to watch
    unchanged: u32,
    /// objects that were changed since somebody began to list them
    listed: Option<im::Vector<ObjId>>,
    /// how often something else than an object was changed
    others: u64,
    tensor_attrs: im::HashMap<(u32, Arc<str>), Option<Var>>,
    /// attributes of tensors that were written or deleted, in first-write order
    pub tensor_writes: im::Vector<(Var, Arc<str>)>,
    /// calls to be made, in order
    pub calls: im::Vector<Rc<DeferredCall>>,
    /// calls to be made before the graph, in order, in front of all other effects
    pub early: im::Vector<Rc<EarlyCall>>,
    /// what functions gave that may raise for other values, whether or not anything uses it
    pub may_raise: im::Vector<Rc<ComputedVar>>,
    /// how many operations may have written to tensors, counted since the first text of a tensor, or the first number
    /// that was read from one
    pub writes: u32,
    /// how many operations may have written to NumPy arrays
    pub array_writes: u32,
    /// whether there is a text of a tensor, see [`Var::Text`]
    pub has_text: bool,
    /// whether a deferred call gets a tensor: nothing may write to tensors before it is made
    pub shows_tensors: bool,
    /// whether the address of a tensor's memory was asked for: none may get other memory behind it
    pub has_data_pointers: bool,
    /// whether an object was changed that is [`ObjState::shared`]
    pub shared_changed: bool,
}

impl Effects {
    /// Adds an object.
    pub fn add(&mut self, state: ObjState) -> ObjId {
        let id = ObjId(self.objs.len() as u32);
        self.objs.push_back(Rc::new(state));
        id
    }

    /// An object's state.
    pub fn get(&self, id: ObjId) -> &ObjState {
        &self.objs[id.0 as usize]
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.objs.is_empty()
    }

    /// Forgets what was changed so far, for [`Effects::changed`]; gives what [`Effects::unwatch`]
    /// needs.
    pub fn watch(&mut self) -> u32 {
        std::mem::replace(&mut self.unchanged, u32::MAX)
    }

    /// Ends a [`Effects::watch`] within another.
    pub fn unwatch(&mut self, before: u32) {
        self.unchanged = self.unchanged.min(before);
    }

    /// Begins to list the objects that are changed; gives the list so far, for [`Effects::stop_listing`].
    pub fn list_changes(&mut self) -> Option<im::Vector<ObjId>> {
        self.listed.replace(im::Vector::new())
    }

    /// The objects that were changed since [`Effects::list_changes`], some more than once.
    pub fn stop_listing(&mut self, before: Option<im::Vector<ObjId>>) -> im::Vector<ObjId> {
        let listed = std::mem::replace(&mut self.listed, before).unwrap_or_default();
        if let Some(outer) = &mut self.listed {
            outer.append(listed.clone());
        }
        listed
    }

    /// Whether something else than objects was changed after an earlier state: a global, a tensor's
    /// attribute, calls that wait.
    pub fn others_since(&self, before: &Effects) -> bool {
        // To read a number that the graph has changes nothing.
        let mut early = self.early.iter().skip(before.early.len());
        self.others != before.others || early.any(|call| !matches!(call.kind, EarlyKind::Read(_)))
    }

    /// Whether any of the first `n` objects, a global or a tensor was changed since
    /// [`Effects::watch`].
    pub fn changed(&self, n: usize) -> bool {
        (self.unchanged as usize) < n
    }

    /// For bookkeeping that is no effect (`seen`, positions of tracked iterators).
    pub fn get_mut(&mut self, id: ObjId) -> &mut ObjState {
        Rc::make_mut(&mut self.objs[id.0 as usize])
    }

    /// For a change that the residual code has to replay: marks the object's body dirty.
    pub fn body_mut(&mut self, id: ObjId) -> &mut Body {
        self.mark(id);
        let s = self.get_mut(id);
        s.body_dirty = true;
        &mut s.body
    }

    /// [`Effects::body_mut`] for items that are added, removed or moved: a deque's iterators notice.
    pub fn items_mut(&mut self, id: ObjId) -> &mut Body {
        self.get_mut(id).changes += 1;
        self.body_mut(id)
    }

    /// Writes or deletes an instance attribute.
    pub fn write_attr(&mut self, id: ObjId, name: &Arc<str>, value: Option<Var>) {
        self.mark(id);
        self.get_mut(id).write_attr(name, value);
    }

    /// What was written to an attribute is not to be written after all.
    pub fn forget_attr(&mut self, id: ObjId, name: &Arc<str>) {
        let state = self.get_mut(id);
        state.attrs.remove(name);
        for names in [
            &mut state.attr_order,
            &mut state.rewritten,
            &mut state.moved,
        ] {
            names.retain(|other| other != name);
        }
    }

    /// Whether the residual code has anything to replay.
    pub fn any(&self) -> bool {
        self.any_outside() || !self.calls.is_empty()
    }

    /// Whether anything that existed before was changed, which code that is run later may read.
    pub fn any_outside(&self) -> bool {
        !self.dirty.is_empty()
            || !self.global_writes.is_empty()
            || !self.tensor_writes.is_empty()
            || !self.tails.is_empty()
    }

    /// How much was appended to lists that nothing has looked into.
    fn appended(&self) -> (usize, usize) {
        let items = self.tails.iter().map(|t| t.items.len());
        (self.tails.len(), items.sum())
    }

    /// Whether there is anything to replay that an earlier state had not: the state only grows.
    pub fn any_since(&self, before: &Effects) -> bool {
        self.dirty.len() != before.dirty.len()
            || self.global_writes.len() != before.global_writes.len()
            || self.tensor_writes.len() != before.tensor_writes.len()
            || self.calls.len() != before.calls.len()
            || self.early.len() != before.early.len()
            || self.appended() != before.appended()
            || before
                .dirty
                .iter()
                .any(|id| !Rc::ptr_eq(&self.objs[id.0 as usize], &before.objs[id.0 as usize]))
    }

    /// Whether an iterator or a generator of an earlier state is at another position.
    pub fn advanced_since(&self, before: &Effects) -> bool {
        before
            .objs
            .iter()
            .zip(self.objs.iter())
            .any(|(b, a)| !Rc::ptr_eq(a, b) && matches!(b.body, Body::Iter(_) | Body::Generator(_)))
    }

    /// Writes or deletes an attribute of a tensor.
    pub fn write_tensor_attr(&mut self, t: &Rc<TensorVar>, name: &Arc<str>, value: Option<Var>) {
        self.unchanged = 0;
        self.others += 1;
        let key = (t.node.0, name.clone());
        if self.tensor_attrs.insert(key, value).is_none() {
            let written = (Var::Tensor(t.clone()), name.clone());
            self.tensor_writes.push_back(written);
        }
    }

    /// An attribute of a tensor that was written here: `Some(None)` where it was deleted.
    pub fn tensor_attr(&self, t: &TensorVar, name: &Arc<str>) -> Option<&Option<Var>> {
        if self.tensor_attrs.is_empty() {
            return None;
        }
        self.tensor_attrs.get(&(t.node.0, name.clone()))
    }

    /// Adds a call that waits.
    pub fn defer(&mut self, call: DeferredCall) {
        self.unchanged = 0;
        self.others += 1;
        self.calls.push_back(Rc::new(call));
    }

    /// Takes back a call that waits: it has come to nothing.
    pub fn take_back(&mut self, at: usize) {
        self.calls.remove(at);
        self.others -= 1;
    }

    fn mark(&mut self, id: ObjId) {
        self.unchanged = self.unchanged.min(id.0);
        if let Some(listed) = &mut self.listed {
            listed.push_back(id);
        }
        let s = &self.objs[id.0 as usize];
        if !s.is_new() && !s.is_dirty() {
            self.dirty.push_back(id);
        }
        self.shared_changed |= s.shared;
    }

    /// The value that stands for a real object, if it was met before: aliases stay aliases.
    pub fn known(&self, addr: usize) -> Option<&Var> {
        self.by_addr.get(&addr)
    }

    /// Registers the value that stands for a real object.
    pub fn know(&mut self, addr: usize, var: Var) {
        self.by_addr.insert(addr, var);
    }

    /// What keeps the attributes that were written on an existing class or function, by its address.
    pub fn holder(&self, addr: usize) -> Option<ObjId> {
        self.holders.get(&addr).copied()
    }

    /// Adds what keeps the attributes that are written on an existing class or function.
    pub fn hold(&mut self, addr: usize, state: ObjState) -> ObjId {
        let id = self.add(state);
        self.holders.insert(addr, id);
        id
    }

    /// Whether there is any such object.
    pub fn any_held(&self) -> bool {
        !self.holders.is_empty()
    }

    /// A global that was written here: `Some(None)` where it was deleted.
    pub fn global(&self, key: &GlobalKey) -> Option<Option<Var>> {
        self.globals
            .get(key)
            .map(|i| self.global_writes[*i as usize].value.clone())
    }

    /// Writes (or deletes) a global.
    pub fn write_global(&mut self, dict: &Obj, name: &Arc<str>, value: Option<Var>) {
        self.unchanged = 0;
        self.others += 1;
        let key = GlobalKey {
            dict: dict.as_ptr() as usize,
            name: name.clone(),
        };
        let known = self.globals.get(&key).map(|i| *i as usize);
        match known {
            // What was deleted and is set again comes last in its dict.
            Some(i) if value.is_none() || self.global_writes[i].value.is_some() => {
                self.global_writes[i].value = value;
            }
            _ => {
                self.globals.insert(key, self.global_writes.len() as u32);
                self.global_writes.push_back(GlobalWrite {
                    dict: dict.clone(),
                    name: name.clone(),
                    set_first: value.is_some(),
                    value,
                });
            }
        }
    }

    /// Appends to a list that nothing has looked into.
    pub fn append_blindly(&mut self, list: &Rc<LazyVar>, item: Var) {
        self.unchanged = 0;
        self.others += 1;
        match self.tails.iter().position(|t| t.list.obj.is(&list.obj)) {
            Some(i) => self.tails[i].items.push_back(item),
            None => self.tails.push_back(Tail {
                list: list.clone(),
                items: std::iter::once(item).collect(),
            }),
        }
    }

    /// What was appended so far to a list that is looked into now, which takes it over.
    pub fn take_tail(&mut self, list: &Obj) -> Option<Tail> {
        let i = self.tails.iter().position(|t| t.list.obj.is(list))?;
        Some(self.tails.remove(i))
    }

    /// A tensor's metadata now: in-place operations may have changed it.
    pub fn meta<'a>(&'a self, t: &'a TensorVar) -> &'a Rc<TensorMeta> {
        self.metas.get(&t.node.0).unwrap_or(&t.meta)
    }

    /// Whether all sizes of a tensor are constants.
    pub fn has_known_sizes(&self, v: &Var) -> bool {
        matches!(v, Var::Tensor(t) if self.meta(t).is_static())
    }

    /// The metadata of a node's tensor, where operations of the graph have changed it.
    pub fn changed_meta(&self, node: NodeId) -> Option<&TensorMeta> {
        self.metas.get(&node.0).map(|meta| &**meta)
    }

    /// Records that an in-place operation changed a tensor's metadata.
    pub fn set_meta(&mut self, node: NodeId, meta: Rc<TensorMeta>) {
        self.unchanged = 0;
        self.others += 1;
        self.metas.insert(node.0, meta);
    }
}
