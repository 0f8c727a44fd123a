"""The entry object stands for what it wraps."""

import copy
import functools
import gc
import inspect
import pickle
import sys
import weakref

import pytest
from hook_core import CONTEXT, compiled, core, testing


@compiled
def module_level(x, y=1):
    """Adds."""
    return x + y


module_level.counter = 0


class Holder:
    @compiled
    def method(self, x=1):
        """A method."""
        return self, x

    @classmethod
    @compiled
    def of_class(cls, x):
        return cls, x

    @staticmethod
    @compiled
    def static(x):
        return x

    @compiled
    @classmethod
    def of_class_outside(cls, x):
        return cls, x

    @compiled
    @staticmethod
    def static_outside(x):
        return x

    @property
    @compiled
    def value(self):
        return self

    @compiled
    def __call__(self, x):
        return self, x


def test_names_and_docs():
    original = module_level.__wrapped__
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        assert getattr(module_level, name) == getattr(original, name)
    assert module_level.__code__ is original.__code__
    assert module_level.__defaults__ == (1,)
    assert "ferrodyn.compile of <function module_level" in repr(module_level)
    assert callable(module_level)
    assert inspect.unwrap(module_level) is original
    assert inspect.getsource(module_level).startswith("@compiled")
    with pytest.raises(AttributeError, match="nothing_here"):
        module_level.nothing_here


def test_attributes_are_the_entrys_own():
    def f():
        pass

    f.read = "through"
    entry = compiled(f)
    assert entry.read == "through"
    entry.mine = 1
    entry.read = "own"
    assert (entry.mine, entry.read, f.read, hasattr(f, "mine")) == (1, "own", "through", False)
    assert entry.__dict__ == {"mine": 1, "read": "own"}
    del entry.read
    assert entry.read == "through"
    with pytest.raises(AttributeError):
        del entry.read
    entry.__doc__ = "doc"
    assert entry.__doc__ == "doc" and f.__doc__ is None
    assert entry.__dict__["__doc__"] == "doc"
    with pytest.raises(TypeError):
        entry.__dict__ = 3


def test_defaults_are_the_functions():
    def f(x=1, *, k=2):
        return x, k

    entry = compiled(f)
    entry.__defaults__ = (10,)
    entry.__kwdefaults__ = {"k": 20}
    assert entry() == f() == (10, 20)


def test_wraps_both_ways():
    def f(x: int) -> int:
        """Doc."""
        return x

    @functools.wraps(compiled(f))
    def outer(*args):
        return None

    assert (outer.__name__, outer.__doc__) == ("f", "Doc.")
    assert inspect.signature(outer) == inspect.signature(f)

    entry = compiled(lambda *a: a)
    functools.update_wrapper(entry, f)
    assert (entry.__name__, entry.__doc__) == ("f", "Doc.")
    assert entry.__wrapped__ is f
    assert entry(1) == (1,)


def test_methods_of_all_kinds(mode):
    holder = Holder()
    assert holder.method(2) == (holder, 2)
    assert Holder.method(holder) == (holder, 1)
    bound = holder.method
    assert inspect.ismethod(bound) and bound.__self__ is holder and bound(x=3) == (holder, 3)
    assert inspect.signature(bound) == inspect.Signature(
        [inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=1)]
    )
    assert holder.of_class(1) == Holder.of_class(1) == (Holder, 1)
    assert holder.of_class_outside(1) == Holder.of_class_outside(1) == (Holder, 1)
    assert holder.static(1) == Holder.static(1) == 1
    assert holder.static_outside(1) == Holder.static_outside(1) == 1
    assert holder.value is holder
    assert holder(4) == (holder, 4)
    assert Holder.method.__doc__ == "A method."


def test_bound_method_entry(mode):
    holder = Holder()

    class Plain:
        def method(self, x):
            return self, x

    plain = Plain()
    entry = compiled(plain.method)
    assert entry(1) == (plain, 1)
    assert entry.__self__ is plain
    assert inspect.signature(entry) == inspect.signature(plain.method)
    holder.attribute = entry
    assert holder.attribute(2) == (plain, 2)
    if mode.name != "skip":
        assert "method" in mode.seen


def test_callable_object_entry(mode):
    class Callable:
        attribute = 5

        def __call__(self, x):
            return x + self.attribute

    entry = compiled(Callable())
    assert entry(1) == 6
    assert entry.attribute == 5
    assert "__call__" in mode.seen

    class Owner:
        field = entry

    assert Owner().field(1) == 6


def test_partials_builtins_and_classes(mode):
    def f(a, b, c):
        return a, b, c

    assert compiled(functools.partial(f, 1, c=3))(2) == (1, 2, 3)
    assert compiled(len)([1, 2]) == 2

    class Thing:
        def __init__(self, x):
            self.x = x

    thing = compiled(Thing)(3)
    assert type(thing) is Thing and thing.x == 3

    class Owner:
        length = compiled(len)

    assert Owner().length("abc") == 3


def test_not_callable_is_a_type_error():
    with pytest.raises(TypeError, match="not int"):
        compiled(3)
    with pytest.raises(TypeError):
        core.make_entry(len, None)
    with pytest.raises(TypeError):
        type(module_level)()


def test_compiling_an_entry_again_wraps_the_function_once():
    other = core.Context("other")
    again = core.make_entry(module_level, other)
    assert again.__wrapped__ is module_level.__wrapped__
    assert core.entry_context(again) is other
    assert core.entry_context(compiled(len, CONTEXT)) is CONTEXT
    assert core.entry_context(core.make_disabled(len)) is None
    assert core.is_entry(again) and not core.is_entry(len)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_is_by_reference(protocol):
    assert pickle.loads(pickle.dumps(module_level, protocol)) is module_level
    if protocol >= 4:
        assert pickle.loads(pickle.dumps(Holder.method, protocol)) is Holder.method
    holder_method = pickle.dumps([module_level, module_level], protocol)
    assert pickle.loads(holder_method) == [module_level, module_level]


def test_pickling_a_local_entry_fails_as_for_functions():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(compiled(lambda: 1))


def test_copies_are_the_entry():
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy([module_level])[0] is module_level


def test_weakrefs_and_cycles():
    def f():
        pass

    entry = compiled(f)
    reference = weakref.ref(entry)
    assert reference() is entry
    del entry
    assert reference() is None

    entry = compiled(f)
    entry.itself = entry
    f.entry = entry
    reference = weakref.ref(entry)
    of_function = weakref.ref(f)
    del entry, f
    gc.collect()
    assert reference() is None and of_function() is None


def test_context_cycles_are_collected():
    class Backend:
        def __call__(self, graph, inputs):
            return graph

    backend = Backend()
    backend.entry = core.make_entry(lambda: 1, core.Context(backend))
    reference = weakref.ref(backend)
    del backend
    gc.collect()
    assert reference() is None


def test_hash_and_equality_are_identity():
    def f():
        pass

    a, b = compiled(f), compiled(f)
    assert a != b and a == a and len({a, b, a}) == 2


def test_reference_counts():
    marker = object()

    def f(x, y=None):
        return x

    entry = compiled(f, CONTEXT)
    counted = [marker, f, entry, CONTEXT]
    before = [sys.getrefcount(o) for o in counted]
    for _ in range(1000):
        entry(marker)
        entry(marker, y=marker)
        entry.missing = marker
        del entry.missing
        repr(entry), entry.__name__, entry.__wrapped__, entry.__dict__
    assert [sys.getrefcount(o) for o in counted] == before


def test_coroutine_functions_stay_known():
    async def f():
        return 1

    entry = compiled(f)
    if sys.version_info >= (3, 12):
        assert inspect.iscoroutinefunction(entry)
    coroutine = entry()
    with pytest.raises(StopIteration) as caught:
        coroutine.send(None)
    assert caught.value.value == 1


def test_context_object():
    context = core.Context("b", fullgraph=True, dynamic=False, options={"a": 1})
    assert (context.backend, context.fullgraph, context.dynamic) == ("b", True, False)
    assert context.options == {"a": 1}
    assert context.id != CONTEXT.id
    with pytest.raises(AttributeError):
        context.backend = 3


def test_entry_dies_during_its_own_call(mode):
    cell = []

    def f(x):
        cell.clear()
        gc.collect()
        return x

    cell.append(compiled(f))
    assert cell[0](3) == 3
    assert testing.hook_state()[1] == 0
