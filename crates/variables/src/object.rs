//! Mutable objects: identity, origin and present contents.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::BinaryOp;
pub use cpython_abi::objects::DictView;
use fx_graph::NodeId;
use guards::SourceId;

use crate::attr_map::AttrMap;
use crate::dict::OrderedMap;
use crate::float::FloatVar;
use crate::state::GeneratorState;
use crate::var::{Obj, TensorVar, Var};

/// Identity of a mutable object during one translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjId(pub u32);

/// Where a mutable object comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// made while translating: rebuilt by residual bytecode where it is still needed
    New,
    /// existed before: changes are replayed on it
    Source {
        /// the real object
        obj: Obj,
        /// how the frame reaches it
        source: SourceId,
    },
    /// the cell of one of the root frame's own cell variables (localsplus index)
    RootCell(u32),
}

/// What a mutable object holds.
#[derive(Clone, Debug)]
pub enum Body {
    /// attributes only
    Plain,
    /// `list` or a subclass
    List(im::Vector<Var>),
    /// `collections.deque`, with its `maxlen`
    Deque(im::Vector<Var>, Option<usize>),
    /// `dict`, `OrderedDict`, `defaultdict` or a subclass
    Dict(OrderedMap),
    /// `set` (values are ignored)
    Set(OrderedMap),
    /// an instance of a class that derives from `int`, `float`, `str` or `bytes`: the constant that it is to the
    /// functions of that class
    Value(Obj),
    /// a closure cell
    Cell(Option<Var>),
    /// an iterator
    Iter(IterBody),
    /// a read-only view of a mapping
    MappingProxy(Var),
    /// a live view of a tracked dict: `d.keys()` and the like
    DictView(ObjId, DictView),
    /// `id()` of a value that has no address yet: an `int` that is good as a key only
    Address(Var),
    /// `data_ptr()` of a tensor: an `int` that is good for comparisons with others only
    DataPointer(Var),
    /// the size of the rows of a tensor, which differ in length, by its dimension: a `torch.SymInt` that is no number
    RaggedSize(Var, usize),
    /// what a call gives of which nothing is known but its class; made where it is needed
    Result(Rc<CallResult>),
    /// a NumPy array, or a number of NumPy's, that the graph has as a tensor
    Array(Rc<ArrayBody>),
    /// what a node of the graph gives that is no tensor: it stays in the graph
    OfNode(NodeId),
    /// a generator: its suspended frame
    Generator(Rc<GeneratorState>),
}

/// See [`Body::Array`].
#[derive(Clone, Debug)]
pub struct ArrayBody {
    /// the tensor, on the same memory
    pub tensor: Rc<TensorVar>,
    /// what makes the array or number of it
    pub make: Obj,
    /// whether the program may write to it
    pub writeable: bool,
    /// the strides that NumPy gives it, in bytes, where the tensor has others
    pub strides: Option<Rc<[i64]>>,
    /// set where the tensor is a copy and the array is none
    pub copied: Option<CopiedArray>,
    /// what it holds, where it was made of constants, and [`crate::Effects::array_writes`] at that time
    pub known: Option<(Obj, u32)>,
    /// the float that a number of NumPy's was made of
    pub float: Option<Rc<FloatVar>>,
    /// the operation of integers that gave a number of NumPy's
    pub of_ints: Option<Rc<IntOperation>>,
}

/// An operation of two integers, NumPy's or Python's.
#[derive(Debug)]
pub struct IntOperation {
    /// which one
    pub op: BinaryOp,
    /// its operands
    pub operands: [Var; 2],
}

/// How an array whose tensor is a copy lies in the memory of another.
#[derive(Clone, Debug)]
pub struct CopiedArray {
    /// [`crate::Effects::writes`] when the copy was made: it holds what the array holds as long as that is the same
    pub writes: u32,
    /// the call that gives the array, which reads no items; `None`: it existed before
    pub view: Option<CallResult>,
}

/// A call without effects, which may be made later than the program makes it.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// what is called
    pub function: Obj,
    /// positional arguments
    pub pos: Vec<Var>,
    /// keywords
    pub kw: Vec<(Arc<str>, Var)>,
}

/// A builtin iterator at its present position.
#[derive(Clone, Debug)]
pub enum IterBody {
    /// over fixed items (tuple, range, str, dict views of unchanging dicts, ...), next index
    Items(Rc<Vec<Var>>, usize),
    /// over a tracked list: sees later changes, next index; `None` once exhausted
    List(ObjId, Option<usize>),
    /// over a tracked dict
    Dict(DictWalk),
    /// `enumerate`: inner iterator and next count
    Enumerate(Var, Var),
    /// `zip`: inner iterators, `strict`
    Zip(Vec<Var>, bool),
    /// `map`: function and inner iterators, `strict` (3.14+)
    Map(Var, Vec<Var>, bool),
    /// `filter`: function or `None`, inner iterator
    Filter(Var, Var),
    /// `itertools.chain`: outer iterator, current inner one
    Chain(Var, Option<Var>),
    /// `itertools.repeat`: value, how many are left
    Repeat(Var, Option<usize>),
    /// `itertools.count`: next value, step
    Count(Var, Var),
    /// `reversed` of a tracked list: next index; `None` once exhausted
    ListReverse(ObjId, Option<usize>),
    /// over a tracked deque
    Deque(DequeWalk),
    /// over a tracked set: its items when it began, next index, [`OrderedMap::changes`] when it
    /// began
    Set(ObjId, Rc<Vec<Var>>, usize, u64),
    /// `reversed` of a tracked dict or view: its keys when it began; the slot is how many are left
    DictReverse(DictWalk, Rc<Vec<Var>>),
    /// `iter(callable, sentinel)`
    Call(Var, Var),
    /// the sequence protocol: `obj[0]`, `obj[1]`, ... until `IndexError`; next index
    Sequence(Var, i64),
    /// `reversed` by the sequence protocol: next index, below 0 once exhausted
    SequenceReverse(Var, i64),
    /// `itertools.islice`: inner iterator, items taken from it, index of the next item to yield,
    /// stop, step
    Islice(Var, usize, usize, Option<usize>, usize),
    /// `itertools.starmap`: function, iterator of argument tuples
    Starmap(Var, Var),
    /// `itertools.takewhile`: predicate, inner iterator
    TakeWhile(Var, Var),
    /// `itertools.dropwhile`: predicate, inner iterator, whether it has started to yield
    DropWhile(Var, Var, bool),
    /// `itertools.filterfalse`: predicate or `None`, inner iterator
    FilterFalse(Var, Var),
    /// `itertools.compress`: data, selectors
    Compress(Var, Var),
    /// `itertools.accumulate`: inner iterator, function or `None`, total so far, initial value not
    /// yet yielded
    Accumulate(Var, Var, Option<Var>, Option<Var>),
    /// `itertools.zip_longest`: inner iterators (`None` once exhausted), fill value
    ZipLongest(Vec<Option<Var>>, Var),
    /// `itertools.cycle`: inner iterator (`None` once exhausted), items saved, next index
    Cycle(Option<Var>, im::Vector<Var>, usize),
    /// `itertools.pairwise`: inner iterator, previous item
    Pairwise(Var, Option<Var>),
    /// `itertools.batched` (3.12+): inner iterator, size, `strict` (3.13+)
    Batched(Var, usize, bool),
    /// one of `itertools.tee`'s iterators: the source iterator, the tracked list of items taken from
    /// it so far, next index
    Tee(Var, ObjId, usize),
    /// `itertools.groupby`: inner iterator, key function or `None`, state
    GroupBy(Var, Var, Rc<GroupState>),
    /// a group of `itertools.groupby`: the groupby object, the group's key, which group it is
    Group(ObjId, Var, u64),
    /// `itertools.product`, `permutations` and the like: what it yields, next index
    Arranged(Rc<Arrangements>, usize),
    /// an iterator from outside whose position is not known: advancing it breaks the graph
    Opaque,
}

/// What an iterator over arrangements of items yields, and what it was made of.
#[derive(Debug)]
pub struct Arrangements {
    /// all that it yields
    pub items: Vec<Var>,
    /// what it takes items from
    pub pools: Vec<Vec<Var>>,
    /// how many it takes from the one pool; `None` for `product`
    pub length: Option<i64>,
}

/// Where an iterator over a tracked dict stands.
#[derive(Clone, Copy, Debug)]
pub struct DictWalk {
    /// the dict
    pub dict: ObjId,
    /// what to yield
    pub view: DictView,
    /// next slot, see [`OrderedMap::next_from`] and [`OrderedMap::rank`]
    pub slot: usize,
    /// size of the dict when it began; none that a dict can have after it was found changed
    pub size: usize,
    /// [`OrderedMap::changes`] when it began
    pub changes: u64,
}

/// Where an iterator over a tracked deque stands.
#[derive(Clone, Copy, Debug)]
pub struct DequeWalk {
    /// the deque
    pub deque: ObjId,
    /// whether it comes from `reversed`
    pub reverse: bool,
    /// how many items it has yielded
    pub taken: usize,
    /// how many items there were when it began
    pub size: usize,
    /// [`ObjState::changes`] when it began
    pub changes: u64,
}

/// Where an `itertools.groupby` stands.
#[derive(Clone, Debug, Default)]
pub struct GroupState {
    /// key of the group that was yielded last
    pub target: Option<Var>,
    /// the item read ahead, with its key
    pub current: Option<(Var, Var)>,
    /// number of the group that was yielded last: an earlier group is exhausted
    pub serial: u64,
}

/// A mutable object's state; see [`crate::Effects`].
#[derive(Clone, Debug)]
pub struct ObjState {
    /// where it comes from
    pub origin: Origin,
    /// its class
    pub class: Obj,
    /// what it holds
    pub body: Body,
    /// whether `body` differs from what the real object held at the start
    pub body_dirty: bool,
    /// how often [`crate::Effects::items_mut`] was called
    pub changes: u64,
    /// attributes written (or deleted: `None`) in the instance dict since the start
    pub attrs: AttrMap,
    /// the order of the keys of `attrs`
    pub attr_order: im::Vector<Arc<str>>,
    /// the keys of `attrs` that were written more than once
    pub rewritten: im::Vector<Arc<str>>,
    /// the keys of `attrs` that were deleted and set again, which puts them behind all others
    pub moved: im::Vector<Arc<str>>,
    /// attributes read so far from the real object's instance dict (`None`: absent)
    pub seen: AttrMap,
    /// its instance dict, once the program has it as a value: attributes are in there from then on,
    /// and `attrs` and `seen` are of C-level attributes only
    pub dict: Option<ObjId>,
    /// of an instance dict: the object whose attributes it holds
    pub dict_of: Option<Var>,
    /// made while translating in place of one that a function's cache holds: it is looked into, but
    /// neither changed nor handed out
    pub shared: bool,
}

impl ObjState {
    /// A new object without attributes.
    pub fn new(class: Obj, body: Body) -> ObjState {
        ObjState {
            origin: Origin::New,
            class,
            body,
            body_dirty: false,
            changes: 0,
            attrs: AttrMap::new(),
            attr_order: im::Vector::new(),
            rewritten: im::Vector::new(),
            moved: im::Vector::new(),
            seen: AttrMap::new(),
            dict: None,
            dict_of: None,
            shared: false,
        }
    }

    /// An object from outside.
    pub fn existing(class: Obj, body: Body, obj: Obj, source: SourceId) -> ObjState {
        ObjState {
            origin: Origin::Source { obj, source },
            ..ObjState::new(class, body)
        }
    }

    /// Whether it was made while translating.
    pub fn is_new(&self) -> bool {
        matches!(self.origin, Origin::New)
    }

    /// Whether anything has to be replayed on the real object.
    pub fn is_dirty(&self) -> bool {
        self.body_dirty || !self.attrs.is_empty()
    }

    /// Records a write (`Some`) or deletion (`None`) of an instance attribute.
    pub fn write_attr(&mut self, name: &Arc<str>, value: Option<Var>) {
        if !self.attrs.contains_key(name) {
            self.attr_order.push_back(name.clone());
        } else if !self.rewritten.contains(name) {
            self.rewritten.push_back(name.clone());
        }
        if value.is_some() && matches!(self.attrs.get(name), Some(None)) {
            self.attr_order.retain(|other| other != name);
            self.attr_order.push_back(name.clone());
            if !self.moved.contains(name) {
                self.moved.push_back(name.clone());
            }
        }
        self.attrs.insert(name.clone(), value);
    }
}
