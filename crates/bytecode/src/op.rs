//! The one normalised instruction set that the rest of Ferrodyn sees.
//!
//! Every opcode of CPython 3.11 to 3.15 decodes to one or more [`Op`]s. Differences of
//! encoding (caches, extended arguments, superinstructions, flag bits in an argument, the position
//! of `NULL` beside a callable) are resolved here; what an `Op` does is the same on each version.
//! No Python object is named: constants, names and locals are indices into the code object.

/// Index into `co_consts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstIdx(pub u32);
/// Index into `co_names`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameIdx(pub u32);
/// Index into `co_localsplusnames` (locals, then cells, then free variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalIdx(pub u32);
/// Index of the target instruction in the decoded instruction list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// Arithmetic of `UNARY_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `+x` (3.12 and later: `CALL_INTRINSIC_1 5`)
    Positive,
    /// `-x`
    Negative,
    /// `not x`
    Not,
    /// `~x`
    Invert,
}

/// Operator of `BINARY_OP`; in-place forms are flagged in [`Op::Binary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `&`
    And,
    /// `//`
    FloorDivide,
    /// `<<`
    Lshift,
    /// `@`
    MatrixMultiply,
    /// `*`
    Multiply,
    /// `%`
    Remainder,
    /// `|`
    Or,
    /// `**`
    Power,
    /// `>>`
    Rshift,
    /// `-`
    Subtract,
    /// `/`
    TrueDivide,
    /// `^`
    Xor,
}

/// Operator of `COMPARE_OP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CompareOp {
    /// All of them.
    pub const ALL: [CompareOp; 6] = [
        CompareOp::Lt,
        CompareOp::Le,
        CompareOp::Eq,
        CompareOp::Ne,
        CompareOp::Gt,
        CompareOp::Ge,
    ];
}

/// `!s`, `!r`, `!a` of an f-string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// `str()`
    Str,
    /// `repr()`
    Repr,
    /// `ascii()`
    Ascii,
}

/// What a conditional jump tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JumpCond {
    /// jump where the value is false
    False,
    /// jump where the value is true
    True,
    /// jump where the value is `None`
    None,
    /// jump where the value is not `None`
    NotNone,
}

/// One part of a function that `MAKE_FUNCTION` / `SET_FUNCTION_ATTRIBUTE` sets; also a bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FuncAttr(pub u8);
impl FuncAttr {
    /// positional defaults (a tuple)
    pub const DEFAULTS: u8 = 1;
    /// keyword-only defaults (a dict)
    pub const KWDEFAULTS: u8 = 2;
    /// annotations
    pub const ANNOTATIONS: u8 = 4;
    /// closure (a tuple of cells)
    pub const CLOSURE: u8 = 8;
    /// the function that makes the annotations (3.14+)
    pub const ANNOTATE: u8 = 16;
    /// all of them
    pub const ALL: u8 = 31;
}

/// What `LOAD_COMMON_CONSTANT` loads (3.14+; 3.14 has the first five).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommonConst {
    /// `AssertionError` (before 3.14: `LOAD_ASSERTION_ERROR`)
    AssertionError,
    /// `NotImplementedError`
    NotImplementedError,
    /// `tuple`
    Tuple,
    /// `all`
    All,
    /// `any`
    Any,
    /// `list`
    List,
    /// `set`
    Set,
    /// `None`
    None,
    /// `''`
    EmptyStr,
    /// `True`
    True,
    /// `False`
    False,
    /// `-1`
    MinusOne,
}

/// A method that `LOAD_SPECIAL` looks up on the type (3.14+).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `__enter__`
    Enter,
    /// `__exit__`
    Exit,
    /// `__aenter__`
    AsyncEnter,
    /// `__aexit__`
    AsyncExit,
}

/// When the module of an `import` is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportTime {
    /// at once: before 3.15 always, later wherever the statement can't be lazy
    Now,
    /// when its name is first used: `lazy import` (3.15)
    Lazy,
    /// as the interpreter's setting says (3.15, code of a module that is not in a `try`)
    Setting,
}

/// Unary intrinsics of 3.12 and later (`CALL_INTRINSIC_1`) and their 3.11 opcodes. `+x` and
/// list-to-tuple have ops of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intrinsic1 {
    /// print at the interactive prompt (3.11 `PRINT_EXPR`)
    Print,
    /// `from m import *` (3.11 `IMPORT_STAR`)
    ImportStar,
    /// a `StopIteration` that leaves a generator becomes a `RuntimeError`
    StopIterationError,
    /// wrap a value yielded by an async generator
    AsyncGenWrap,
    /// PEP 695 `TypeVar`
    TypeVar,
    /// PEP 695 `ParamSpec`
    ParamSpec,
    /// PEP 695 `TypeVarTuple`
    TypeVarTuple,
    /// `Generic[...]`
    SubscriptGeneric,
    /// PEP 695 type alias
    TypeAlias,
}

/// Binary intrinsics (`CALL_INTRINSIC_2`); `PREP_RERAISE_STAR` on 3.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intrinsic2 {
    /// merge what `except*` clauses left
    PrepReraiseStar,
    /// PEP 695
    TypeVarWithBound,
    /// PEP 695
    TypeVarWithConstraints,
    /// PEP 695
    SetFunctionTypeParams,
    /// PEP 696
    SetTypeparamDefault,
}

/// A normalised instruction. Stack effects are written `before -- after`, top at the right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// does nothing
    Nop,
    /// function entry and `await`/`yield` resumption point; the raw argument
    Resume(u32),
    /// `x --`
    PopTop,
    /// `-- NULL`
    PushNull,
    /// `x ... -- x ... x`, the `n`th from the top, 1 is the top
    Copy(u32),
    /// swaps the top with the `n`th from the top (2 is the one below)
    Swap(u32),

    /// `-- const`
    LoadConst(ConstIdx),
    /// `-- int`, of 0 to 255 (3.14+ `LOAD_SMALL_INT`)
    LoadSmallInt(u8),
    /// `-- constant` that is none of the code object's
    LoadCommon(CommonConst),
    /// `-- value`; `check`: the local may be unbound (3.12 `LOAD_FAST_CHECK`; on 3.11 every load)
    LoadFast {
        /// which local
        local: LocalIdx,
        /// whether CPython checks for an unbound local
        check: bool,
    },
    /// `-- value or NULL`, and unbinds the local (comprehensions of 3.12+)
    LoadFastAndClear(LocalIdx),
    /// `value --`
    StoreFast(LocalIdx),
    /// unbinds a local
    DeleteFast(LocalIdx),
    /// creates the cell of a local, holding its argument value if there is one
    MakeCell(LocalIdx),
    /// copies the closure's cells into the last `n` locals
    CopyFreeVars(u32),
    /// `-- cell`
    LoadClosure(LocalIdx),
    /// `-- contents`
    LoadDeref(LocalIdx),
    /// `value --`
    StoreDeref(LocalIdx),
    /// empties a cell
    DeleteDeref(LocalIdx),
    /// `-- value` in a class body: class namespace, else cell (3.11 `LOAD_CLASSDEREF`)
    LoadClassDeref(LocalIdx),
    /// `namespace -- value` (3.12+)
    LoadFromDictOrDeref(LocalIdx),
    /// `namespace -- value` (3.12+)
    LoadFromDictOrGlobals(NameIdx),
    /// `-- locals()` of a class body (3.12+)
    LoadLocals,
    /// `-- value`; the `NULL` of `LOAD_GLOBAL`'s low bit is a [`Op::PushNull`] of its own
    LoadGlobal(NameIdx),
    /// `value --`
    StoreGlobal(NameIdx),
    /// deletes a global
    DeleteGlobal(NameIdx),
    /// `-- value` (module and class bodies)
    LoadName(NameIdx),
    /// `value --`
    StoreName(NameIdx),
    /// deletes a name
    DeleteName(NameIdx),
    /// `-- builtins.__build_class__`
    LoadBuildClass,

    /// `obj -- attr`
    LoadAttr(NameIdx),
    /// `obj -- method self`, or where there is no method to bind: `NULL attr` if `null_first`
    /// (3.11, 3.12), else `attr NULL` (3.13)
    LoadMethod {
        /// the attribute
        name: NameIdx,
        /// where the `NULL` stands
        null_first: bool,
    },
    /// `super class self -- attr` (3.12+ `LOAD_SUPER_ATTR`); `two_arg` is its second flag bit.
    /// `method`: as [`Op::LoadMethod`]
    LoadSuperAttr {
        /// the attribute
        name: NameIdx,
        /// whether a method pair is pushed
        method: bool,
        /// `super(class, self)` was written with its arguments
        two_arg: bool,
        /// where the `NULL` stands
        null_first: bool,
    },
    /// `obj -- method self`, or `attr NULL` where there is no method to bind; looked up on the type
    /// (3.14+)
    LoadSpecial(Special),
    /// `value obj --`
    StoreAttr(NameIdx),
    /// `obj --`
    DeleteAttr(NameIdx),

    /// `x -- op x`
    Unary(UnaryOp),
    /// `a b -- a op b`
    Binary {
        /// operator
        op: BinaryOp,
        /// `+=` and the like
        inplace: bool,
    },
    /// `a b -- a op b`; `to_bool`: the result is converted with `bool` (3.13)
    Compare {
        /// operator
        op: CompareOp,
        /// 3.13's flag bit
        to_bool: bool,
    },
    /// `a b -- a is b`
    Is {
        /// `is not`
        invert: bool,
    },
    /// `a b -- a in b`
    Contains {
        /// `not in`
        invert: bool,
    },
    /// `x -- bool(x)` (3.13)
    ToBool,
    /// `obj key -- obj[key]`
    BinarySubscr,
    /// `value obj key --`
    StoreSubscr,
    /// `obj key --`
    DeleteSubscr,
    /// `obj start stop -- obj[start:stop]` (3.12+)
    BinarySlice,
    /// `value obj start stop --` (3.12+)
    StoreSlice,

    /// `x*n -- tuple`
    BuildTuple(u32),
    /// `x*n -- list`
    BuildList(u32),
    /// `x*n -- set`
    BuildSet(u32),
    /// `(k v)*n -- dict`
    BuildMap(u32),
    /// `v*n keys -- dict`
    BuildConstKeyMap(u32),
    /// `s*n -- str`
    BuildString(u32),
    /// `start stop [step] -- slice`, of 2 or 3
    BuildSlice(u32),
    /// `list -- tuple`
    ListToTuple,
    /// `... list ... x -- ... list ...`, the list is `n`th from the top once `x` is popped
    ListAppend(u32),
    /// as `ListAppend`
    SetAdd(u32),
    /// `... dict ... k v --`
    MapAdd(u32),
    /// `... list ... iterable --`
    ListExtend(u32),
    /// `... set ... iterable --`
    SetUpdate(u32),
    /// `... dict ... mapping --`
    DictUpdate(u32),
    /// as `DictUpdate`, duplicate keys raise (call keywords)
    DictMerge(u32),
    /// `seq -- x*n` reversed, so that the first is on top
    UnpackSequence(u32),
    /// `seq -- after*, rest, before*` reversed
    UnpackEx {
        /// items before the starred target
        before: u32,
        /// items after it
        after: u32,
    },

    /// `value -- str`; `spec`: a format spec is on top of the value; `conv`: `!r` and the like.
    /// 3.13 has a separate conversion instruction, which decodes to [`Op::ConvertValue`]
    FormatValue {
        /// conversion before formatting (3.11, 3.12)
        conv: Option<Conversion>,
        /// whether a format spec is on the stack
        spec: bool,
    },
    /// `value -- str` (3.13 `CONVERT_VALUE`)
    ConvertValue(Conversion),
    /// `value text [spec] -- interpolation`, `text` is the expression's source (3.14+)
    BuildInterpolation {
        /// `!r` and the like
        conv: Option<Conversion>,
        /// whether a format spec is on the stack
        spec: bool,
    },
    /// `strings interpolations -- template`, both are tuples (3.14+)
    BuildTemplate,

    /// unconditional
    Jump {
        /// target
        to: Label,
        /// encoded as `JUMP_BACKWARD_NO_INTERRUPT`
        no_interrupt: bool,
    },
    /// `x --`
    PopJump {
        /// when to jump
        cond: JumpCond,
        /// target
        to: Label,
    },
    /// `x -- x` and jump, or `x --` (3.11 only)
    JumpIfOrPop {
        /// jump where truthy (else: where falsy)
        when: bool,
        /// target
        to: Label,
    },
    /// `x -- iter(x)`. On 3.15 an iterator on the stack has a slot above it, in this and in the
    /// instructions below: `NULL`, or an index where `x` itself stands for its iterator
    /// ([`Version::iterator_slots`](crate::Version::iterator_slots))
    GetIter,
    /// `x -- iter(x)` for `yield from`; raw argument (3.15: whether a coroutine is refused)
    GetYieldFromIter(u32),
    /// `iter -- iter value`, or jump. Where exhausted 3.11 pops the iterator and continues at
    /// `to`; 3.12 and later leave `iter value-slot` to the [`Op::EndFor`] at `to`: the interpreter
    /// of `Op`s pops the iterator and continues behind what ends the loop
    /// ([`Version::loop_end`](crate::Version::loop_end))
    ForIter {
        /// where to go when exhausted
        to: Label,
    },
    /// end of a `for` loop (3.12: pops 2, later: pops 1 and the iterator is popped by the next)
    EndFor,
    /// `iter --` (3.14+)
    PopIter,
    /// `receiver value -- value` (3.12+)
    EndSend,
    /// `receiver v -- receiver result`, or jump when the receiver returned
    Send {
        /// where to go when it returned
        to: Label,
    },
    /// `value -- sent`; raw argument
    YieldValue(u32),
    /// makes the generator and returns it
    ReturnGenerator,
    /// `x -- awaitable`; raw argument
    GetAwaitable(u32),
    /// `x -- aiter(x)`
    GetAiter,
    /// `x -- x anext(x)`
    GetAnext,
    /// end of `async for`
    EndAsyncFor {
        /// behind the [`Op::Send`] of the loop: what `sys.monitoring` takes the loop's exit to branch
        /// from (3.14+). Control does not go there
        from: Option<Label>,
    },
    /// 3.12+
    CleanupThrow,

    /// `callable self-or-NULL args* -- result` (or `NULL callable args*`, see [`Op::LoadMethod`]);
    /// with `kw_names` the last `len(kw_names)` arguments are keywords and `kw_names` is a tuple
    /// constant (3.11, 3.12 `KW_NAMES`). `argc` counts all arguments and not self
    Call {
        /// number of arguments, keywords included
        argc: u32,
        /// names of the last arguments
        kw_names: Option<ConstIdx>,
    },
    /// as [`Op::Call`], the tuple of keyword names is on top of the stack (3.13 `CALL_KW`)
    CallKw {
        /// number of arguments, keywords included
        argc: u32,
    },
    /// `NULL callable args [kwargs]` (3.11, 3.12) or `callable NULL args [kwargs]` (later)
    CallEx {
        /// whether a mapping of keywords is on top. From 3.14 on there always is a slot for it, which
        /// may hold `NULL`
        kwargs: bool,
    },
    /// `[parts] code -- function` (3.11, 3.12: `parts` per [`FuncAttr`] bit, lowest bit deepest)
    MakeFunction(FuncAttr),
    /// `part function -- function` (3.13)
    SetFunctionAttribute(FuncAttr),
    /// `x --` and leaves the frame
    ReturnValue,
    /// leaves the frame with a constant (3.12+)
    ReturnConst(ConstIdx),

    /// `level fromlist -- module`
    ImportName {
        /// the module
        name: NameIdx,
        /// when it is loaded
        when: ImportTime,
    },
    /// `module -- module attr`
    ImportFrom(NameIdx),
    /// `x -- result`
    CallIntrinsic1(Intrinsic1),
    /// `a b -- result`
    CallIntrinsic2(Intrinsic2),
    /// makes `__annotations__`
    SetupAnnotations,

    /// `cm -- __exit__ cm.__enter__()` (before 3.14)
    BeforeWith,
    /// async form
    BeforeAsyncWith,
    /// `exit lasti prev exc -- exit lasti prev exc result`; from 3.14 on `exit` is two values, as
    /// [`Op::LoadSpecial`] leaves them
    WithExceptStart,
    /// `exc -- prev exc`
    PushExcInfo,
    /// `exc type -- exc bool`
    CheckExcMatch,
    /// `exc types -- rest match`
    CheckEgMatch,
    /// `exc --`, restores the previous one
    PopExcept,
    /// `[exc [cause]] --`
    RaiseVarargs(u32),
    /// `exc --`; `lasti`: how deep the saved instruction offset is, 0 where there is none
    Reraise(u32),

    /// `x -- x len(x)`
    GetLen,
    /// `x -- x bool`
    MatchMapping,
    /// `x -- x bool`
    MatchSequence,
    /// `subject keys -- subject keys values-or-None`
    MatchKeys,
    /// `subject type names -- attrs-or-None`
    MatchClass(u32),

    /// an opcode with no meaning in a function body (`INTERPRETER_EXIT`, instrumented forms);
    /// the raw opcode and argument
    Other {
        /// opcode number
        opcode: u8,
        /// argument
        arg: u32,
    },
}
