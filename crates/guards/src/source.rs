//! Where a value comes from: the path from a frame, its globals or a pinned object to the value.
//!
//! What lives here: [`Source`], its interning table and its Python spelling. What a source yields at run time is
//! the executor's business.
//!
//! Invariants: a base is always interned before what is built on it (`base < id`), so a table is a forest in
//! topological order; equal sources have equal ids; following a source never runs user code.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::value::{Key, ObjRef, str_repr};

/// Index of a [`Source`] in its [`SourceTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

impl SourceId {
    /// The id as a vector index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One step of the path to a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// An argument of the frame: what its fast local `index` holds when the frame starts.
    Local {
        /// Index in `localsplus`.
        index: u32,
        /// The variable's name.
        name: Arc<str>,
    },
    /// The contents of free variable `index` of the called function.
    Closure {
        /// Index in the function's `__closure__`.
        index: u32,
        /// The variable's name.
        name: Arc<str>,
    },
    /// The tuple of cells of the called function, its `__closure__`.
    Cells,
    /// The globals dictionary of the called function.
    Globals,
    /// An item of the called function's globals.
    Global {
        /// The variable's name.
        name: Arc<str>,
    },
    /// An item of another module's globals dictionary, which the guard set pins.
    GlobalsOf {
        /// Pin of the dictionary.
        pin: u32,
        /// The module's dotted name, for text.
        module: Arc<str>,
        /// The variable's name.
        name: Arc<str>,
    },
    /// An item of the builtins of the called function.
    Builtin {
        /// The builtin's name.
        name: Arc<str>,
    },
    /// An attribute whose read runs no user code: of a module, or by a C member, getset or slot descriptor, or of
    /// a class along its MRO where the value is no descriptor; the dictionary of a `threading.local`.
    Attr {
        /// The object.
        base: SourceId,
        /// The attribute.
        name: Arc<str>,
    },
    /// The `__dict__` of an instance.
    InstanceDict {
        /// The instance.
        base: SourceId,
    },
    /// An item of an instance's `__dict__`.
    InstanceDictItem {
        /// The instance.
        base: SourceId,
        /// The attribute.
        name: Arc<str>,
    },
    /// The value for a constant key in a dictionary (raw storage for subclasses).
    DictItem {
        /// The dictionary.
        base: SourceId,
        /// The key.
        key: Key,
    },
    /// The key at a position of a dictionary, in insertion order.
    DictKeyAt {
        /// The dictionary.
        base: SourceId,
        /// Position from 0.
        index: u32,
    },
    /// An item of a list or a deque (raw storage for subclasses of list).
    ListItem {
        /// The list.
        base: SourceId,
        /// Position from 0.
        index: u32,
    },
    /// An item of a tuple (raw storage for subclasses).
    TupleItem {
        /// The tuple.
        base: SourceId,
        /// Position from 0.
        index: u32,
    },
    /// What a cell object holds.
    CellContents {
        /// The cell.
        base: SourceId,
    },
    /// What a builtin iterator goes over (a list, a tuple), a mapping proxy or a view of a dictionary shows, or a weak
    /// reference refers to.
    Under {
        /// The iterator, the proxy or the reference.
        base: SourceId,
    },
    /// The exact type of a value.
    TypeOf {
        /// The value.
        base: SourceId,
    },
    /// The raw value that the MRO of a class gives for a name (no descriptor is bound).
    MroAttr {
        /// The class.
        base: SourceId,
        /// The attribute.
        name: Arc<str>,
    },
    /// `function.__defaults__`.
    FuncDefaults {
        /// The function.
        base: SourceId,
    },
    /// `function.__kwdefaults__`.
    FuncKwDefaults {
        /// The function.
        base: SourceId,
    },
    /// `function.__closure__`.
    FuncClosure {
        /// The function.
        base: SourceId,
    },
    /// `function.__code__`.
    FuncCode {
        /// The function.
        base: SourceId,
    },
    /// An object that the guard set holds.
    Pinned {
        /// Its pin.
        pin: u32,
        /// Its name in text.
        name: Arc<str>,
    },
    /// An object that the guard set holds by a weak reference.
    WeakPinned {
        /// Its pin.
        pin: u32,
        /// Its name in text.
        name: Arc<str>,
    },
    /// A torch function mode that was in force when the frame began.
    FunctionMode {
        /// Place in the stack of modes, the outermost first.
        index: u32,
    },
    /// What a call gives that the compiled code makes before its graph runs. No guard can be about it: it does not
    /// exist when guards are checked.
    Early {
        /// Which call of the code.
        index: u32,
    },
}

impl Source {
    /// The source that this one reads from, if it is not a root.
    pub fn base(&self) -> Option<SourceId> {
        match self {
            Self::Local { .. }
            | Self::Closure { .. }
            | Self::Cells
            | Self::Globals
            | Self::Global { .. }
            | Self::GlobalsOf { .. }
            | Self::Builtin { .. }
            | Self::Pinned { .. }
            | Self::WeakPinned { .. }
            | Self::FunctionMode { .. }
            | Self::Early { .. } => None,
            Self::Attr { base, .. }
            | Self::InstanceDict { base }
            | Self::InstanceDictItem { base, .. }
            | Self::DictItem { base, .. }
            | Self::DictKeyAt { base, .. }
            | Self::ListItem { base, .. }
            | Self::TupleItem { base, .. }
            | Self::CellContents { base }
            | Self::Under { base }
            | Self::TypeOf { base }
            | Self::MroAttr { base, .. }
            | Self::FuncDefaults { base }
            | Self::FuncKwDefaults { base }
            | Self::FuncClosure { base }
            | Self::FuncCode { base } => Some(*base),
        }
    }

    /// The pin that the source itself reads, if any.
    pub fn pin(&self) -> Option<u32> {
        match self {
            Self::GlobalsOf { pin, .. }
            | Self::Pinned { pin, .. }
            | Self::WeakPinned { pin, .. } => Some(*pin),
            _ => None,
        }
    }

    /// Whether the value comes from the frame itself (an argument or a free variable), however deep.
    pub fn is_frame_root(&self) -> bool {
        matches!(self, Self::Local { .. } | Self::Closure { .. })
    }
}

/// How names of frame variables are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameStyle {
    /// `L['x']`, `G['torch']`: explicit, executable with two dictionaries.
    Explicit,
    /// `x`, `torch`: the spelling of the one-line guard code and of failure reasons.
    Plain,
    /// `L['self'].layers.0`: explicit, and children, parameters and buffers of modules as attributes.
    Path,
    /// `self.layers.0`: the same, as the user would write it.
    PlainPath,
}

/// Interns sources.
#[derive(Clone, Debug, Default)]
pub struct SourceTable {
    sources: IndexSet<Source, FxBuildHasher>,
}

impl SourceTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table with room for `sources`.
    pub fn with_capacity(sources: usize) -> Self {
        let sources = IndexSet::with_capacity_and_hasher(sources, FxBuildHasher);
        SourceTable { sources }
    }

    /// The id of `source`, which is added where it is new.
    ///
    /// # Panics
    /// In debug builds, if the base is not of this table.
    pub fn intern(&mut self, source: Source) -> SourceId {
        debug_assert!(
            source
                .base()
                .is_none_or(|base| base.index() < self.sources.len())
        );
        let (at, _) = self.sources.insert_full(source);
        SourceId(u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// The source of an id.
    pub fn get(&self, id: SourceId) -> &Source {
        &self.sources[id.index()]
    }

    /// How many sources there are.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// All sources with their ids, bases first.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources
            .iter()
            .enumerate()
            .map(|(i, source)| (SourceId(i as u32), source))
    }

    /// The root that a source hangs on.
    pub fn root(&self, mut id: SourceId) -> SourceId {
        while let Some(base) = self.get(id).base() {
            id = base;
        }
        id
    }

    /// Whether a source is what an attribute or an item of one of these names holds, or leads through it.
    pub fn leads_through(&self, id: SourceId, names: &[&str]) -> bool {
        let mut step = Some(id);
        while let Some(id) = step {
            let source = self.get(id);
            if let Source::Attr { name, .. }
            | Source::InstanceDictItem { name, .. }
            | Source::DictItem {
                key: Key::Str(name),
                ..
            } = source
                && names.contains(&&**name)
            {
                return true;
            }
            step = source.base();
        }
        false
    }

    /// How many steps lie between a source and its root (0 for a root).
    pub fn depth(&self, mut id: SourceId) -> usize {
        let mut depth = 0;
        while let Some(base) = self.get(id).base() {
            id = base;
            depth += 1;
        }
        depth
    }

    /// The source as an explicit Python expression: `L['self']._modules['layers']`.
    pub fn name(&self, id: SourceId) -> String {
        self.name_in(id, NameStyle::Explicit)
    }

    /// The source as the user would write it: `self._modules['layers']`.
    pub fn plain_name(&self, id: SourceId) -> String {
        self.name_in(id, NameStyle::Plain)
    }

    /// The source as a path through modules: `L['self'].layers.0`.
    pub fn path(&self, id: SourceId) -> String {
        self.name_in(id, NameStyle::Path)
    }

    /// The same, as the user would write it: `self.layers.0`.
    pub fn plain_path(&self, id: SourceId) -> String {
        self.name_in(id, NameStyle::PlainPath)
    }

    /// The module and the name below it, of what a module holds by name.
    fn held_by_module<'a>(&self, source: &'a Source) -> Option<(SourceId, &'a str)> {
        let Source::DictItem {
            base,
            key: Key::Str(held),
        } = source
        else {
            return None;
        };
        match self.get(*base) {
            Source::Attr { base, name } | Source::InstanceDictItem { base, name } => {
                let holds = matches!(&**name, "_modules" | "_parameters" | "_buffers");
                holds.then_some((*base, held))
            }
            _ => None,
        }
    }

    /// The source as a Python expression in the given style.
    pub fn name_in(&self, id: SourceId, style: NameStyle) -> String {
        let mut out = String::new();
        self.write_name(id, style, &mut out);
        out
    }

    fn write_name(&self, id: SourceId, style: NameStyle, out: &mut String) {
        let source = self.get(id);
        match source {
            Source::TypeOf { base } => {
                out.push_str("type(");
                self.write_name(*base, style, out);
                out.push(')');
                return;
            }
            Source::Under { base } => {
                out.push_str("___under(");
                self.write_name(*base, style, out);
                out.push(')');
                return;
            }
            Source::MroAttr { base, name } => {
                out.push_str("___mro_lookup(");
                self.write_name(*base, style, out);
                let _ = write!(out, ", {})", str_repr(name));
                return;
            }
            Source::DictKeyAt { base, index } => {
                out.push_str("list(dict.keys(");
                self.write_name(*base, style, out);
                let _ = write!(out, "))[{index}]");
                return;
            }
            _ => {}
        }
        let follows_modules = matches!(style, NameStyle::Path | NameStyle::PlainPath);
        if follows_modules && let Some((module, held)) = self.held_by_module(source) {
            self.write_name(module, style, out);
            out.push('.');
            out.push_str(held);
            return;
        }
        if let Some(base) = source.base() {
            self.write_name(base, style, out);
        }
        let _ = match source {
            Source::Local { name, .. } | Source::Closure { name, .. } => match style {
                NameStyle::Explicit | NameStyle::Path => write!(out, "L[{}]", str_repr(name)),
                NameStyle::Plain | NameStyle::PlainPath => write!(out, "{name}"),
            },
            Source::Cells => write!(out, "___closure"),
            Source::Globals => write!(out, "G"),
            Source::Global { name } => match style {
                NameStyle::Explicit | NameStyle::Path => write!(out, "G[{}]", str_repr(name)),
                NameStyle::Plain | NameStyle::PlainPath => write!(out, "{name}"),
            },
            Source::Builtin { name } => match style {
                NameStyle::Explicit | NameStyle::Path => {
                    write!(out, "G['__builtins_dict__'][{}]", str_repr(name))
                }
                NameStyle::Plain | NameStyle::PlainPath => write!(out, "{name}"),
            },
            Source::GlobalsOf { module, name, .. } => match style {
                NameStyle::Explicit | NameStyle::Path => {
                    write!(out, "G['{}'].{name}", import_alias(module))
                }
                NameStyle::Plain | NameStyle::PlainPath => {
                    write!(out, "{}.{name}", import_alias(module))
                }
            },
            Source::Pinned { name, .. } | Source::WeakPinned { name, .. } => match style {
                NameStyle::Explicit | NameStyle::Path => write!(out, "G[{}]", str_repr(name)),
                NameStyle::Plain | NameStyle::PlainPath => write!(out, "{name}"),
            },
            Source::Attr { name, .. } | Source::InstanceDictItem { name, .. } => {
                if is_identifier(name) {
                    write!(out, ".{name}")
                } else {
                    write!(out, ".__dict__[{}]", str_repr(name))
                }
            }
            Source::InstanceDict { .. } => write!(out, ".__dict__"),
            Source::DictItem { key, .. } => match key {
                Key::Obj(obj) => match style {
                    NameStyle::Explicit | NameStyle::Path => write!(out, "[___obj({})]", obj.addr),
                    NameStyle::Plain | NameStyle::PlainPath => write!(out, "[<{}>]", kind_of(obj)),
                },
                Key::Device { text, .. } => write!(out, "[torch.device({})]", str_repr(text)),
                key => write!(out, "[{}]", crate::text::literal(key)),
            },
            Source::ListItem { index, .. } | Source::TupleItem { index, .. } => {
                write!(out, "[{index}]")
            }
            Source::CellContents { .. } => write!(out, ".cell_contents"),
            Source::FuncDefaults { .. } => write!(out, ".__defaults__"),
            Source::FuncKwDefaults { .. } => write!(out, ".__kwdefaults__"),
            Source::FuncClosure { .. } => write!(out, ".__closure__"),
            Source::FuncCode { .. } => write!(out, ".__code__"),
            Source::FunctionMode { index } => write!(out, "___function_mode_at({index})"),
            Source::Early { index } => write!(out, "___early[{index}]"),
            Source::TypeOf { .. }
            | Source::Under { .. }
            | Source::MroAttr { .. }
            | Source::DictKeyAt { .. } => Ok(()),
        };
    }
}

/// What sort of object a key is, for a reader: the name of its class.
fn kind_of(obj: &ObjRef) -> &str {
    let class = obj.type_repr.trim_end_matches("'>");
    class.rsplit(['.', '\'']).next().unwrap_or(class)
}

/// The global name under which PyTorch's guard text refers to another module: `__import_torch_dot_nn`.
pub fn import_alias(module: &str) -> String {
    format!(
        "__import_{}",
        module.replace(['>', '<'], "_").replace('.', "_dot_")
    )
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_pytorch() {
        let mut t = SourceTable::new();
        let me = t.intern(Source::Local {
            index: 0,
            name: "self".into(),
        });
        let modules = t.intern(Source::InstanceDictItem {
            base: me,
            name: "_modules".into(),
        });
        let layer = t.intern(Source::DictItem {
            base: modules,
            key: Key::str("layers"),
        });
        assert_eq!(t.name(layer), "L['self']._modules['layers']");
        assert_eq!(t.plain_name(layer), "self._modules['layers']");
        assert_eq!(t.path(layer), "L['self'].layers");
        assert_eq!(t.plain_path(layer), "self.layers");
        let torch = t.intern(Source::Global {
            name: "torch".into(),
        });
        let nn = t.intern(Source::Attr {
            base: torch,
            name: "nn".into(),
        });
        assert_eq!(t.name(nn), "G['torch'].nn");
        let other = t.intern(Source::GlobalsOf {
            pin: 0,
            module: "torch.nn.modules.linear".into(),
            name: "F".into(),
        });
        assert_eq!(
            t.name(other),
            "G['__import_torch_dot_nn_dot_modules_dot_linear'].F"
        );
        let ty = t.intern(Source::TypeOf { base: me });
        let fwd = t.intern(Source::MroAttr {
            base: ty,
            name: "forward".into(),
        });
        assert_eq!(t.name(fwd), "___mro_lookup(type(L['self']), 'forward')");
        let odd = t.intern(Source::InstanceDictItem {
            base: me,
            name: "0".into(),
        });
        assert_eq!(t.name(odd), "L['self'].__dict__['0']");
        assert_eq!(t.depth(layer), 2);
        assert_eq!(t.root(layer), me);
    }

    #[test]
    fn the_names_that_a_source_leads_through() {
        let mut t = SourceTable::new();
        let me = t.intern(Source::Local {
            index: 0,
            name: "_buffers".into(),
        });
        let registry = t.intern(Source::InstanceDictItem {
            base: me,
            name: "_parameters".into(),
        });
        let item = t.intern(Source::DictItem {
            base: registry,
            key: Key::str("weight"),
        });
        let grad = t.intern(Source::Attr {
            base: item,
            name: "grad".into(),
        });
        let names = ["_parameters", "_buffers"];
        assert!([registry, item, grad].map(|id| t.leads_through(id, &names)) == [true; 3]);
        assert!(!t.leads_through(me, &names));
        assert!(t.leads_through(grad, &["weight"]) && t.leads_through(grad, &["grad"]));
        assert!(!t.leads_through(item, &["grad"]));
    }

    #[test]
    fn equal_sources_share_an_id() {
        let mut t = SourceTable::new();
        let a = t.intern(Source::Global { name: "a".into() });
        let b = t.intern(Source::Global { name: "b".into() });
        assert_ne!(a, b);
        assert_eq!(a, t.intern(Source::Global { name: "a".into() }));
        assert_eq!(t.len(), 2);
    }
}
