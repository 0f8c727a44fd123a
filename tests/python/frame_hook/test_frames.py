"""Frames that outlive their call, tools that watch frames, recursion, memory."""

import asyncio
import cProfile
import gc
import os
import pstats
import subprocess
import sys
import textwrap
import threading
import types

import pytest
from hook_core import Mode, compiled, core, testing, twin


def test_getframe_and_locals(mode):
    def f(a, b=2):
        c = a + b
        frame = sys._getframe()
        return dict(frame.f_locals) | {"frame": None}, frame.f_back.f_code.co_name, frame.f_lineno

    entry = compiled(f)
    locals_, caller, line = entry(1)
    assert {k: v for k, v in locals_.items() if k in "abc"} == {"a": 1, "b": 2, "c": 3}
    assert caller == "test_getframe_and_locals"
    assert line == f.__code__.co_firstlineno + 3


def test_frame_kept_after_return(mode):
    def f(a):
        b = [a]
        return sys._getframe()

    marker = object()
    before = sys.getrefcount(marker)
    frame = compiled(f)(marker)
    assert frame.f_locals["a"] is marker and frame.f_locals["b"] == [marker]
    assert frame.f_back is sys._getframe()
    assert frame.f_code.co_name == "f"
    gc.collect()
    frame.clear()
    del frame
    assert sys.getrefcount(marker) == before


def test_traceback_keeps_frames_alive(mode):
    def inner(x):
        held = [x]
        raise KeyError(held)

    def outer(x):
        kept = x
        return inner(x), kept

    marker = object()
    before = sys.getrefcount(marker)
    try:
        compiled(outer)(marker)
    except KeyError as error:
        trace = error.__traceback__
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    assert [f.f_code.co_name for f in frames[1:]] == ["outer", "inner"]
    assert frames[-1].f_locals["held"] == [marker]
    assert frames[-1].f_back is frames[-2]
    assert frames[1].f_locals["kept"] is marker
    del frames, trace
    gc.collect()
    assert sys.getrefcount(marker) == before


def test_locals_function(mode):
    def f(a):
        b = 1

        def inner():
            return a

        return {k: v for k, v in locals().items() if not k.startswith("_extra")}, inner

    locals_, _ = compiled(f)(5)
    assert locals_["a"] == 5 and locals_["b"] == 1


def test_generators(mode):
    def numbers(n):
        for i in range(n):
            got = yield i
            if got:
                yield ("got", got)

    entry = compiled(numbers)
    generator = entry(3)
    assert isinstance(generator, types.GeneratorType)
    assert next(generator) == 0
    assert generator.send("x") == ("got", "x")
    assert list(generator) == [1, 2]
    with pytest.raises(ZeroDivisionError):
        generator = entry(3)
        next(generator)
        generator.throw(ZeroDivisionError)

    def consume(n):
        return sum(numbers(n)) + sum(i * 2 for i in numbers(n)) + len([*numbers(n)])

    assert compiled(consume)(4) == consume(4)


def test_throw_into_a_generator_inside_a_region(mode):
    def generator():
        try:
            yield 1
        except ValueError as error:
            yield error.args

    def f():
        g = generator()
        return next(g), g.throw(ValueError(2)), g.close()

    assert compiled(f)() == (1, (2,), None)


def test_coroutines_and_async_generators(mode):
    async def leaf(x):
        await asyncio.sleep(0)
        return x

    async def numbers(n):
        for i in range(n):
            yield await leaf(i)

    async def main(n):
        return [await leaf(i) async for i in numbers(n)]

    assert asyncio.run(compiled(main)(4)) == [0, 1, 2, 3]

    def f():
        return asyncio.run(main(3))

    assert compiled(f)() == [0, 1, 2]


def plain_depth(f):
    depth = 0

    def recurse(n):
        nonlocal depth
        depth = n
        f(recurse, n + 1)

    with pytest.raises(RecursionError):
        f(recurse, 0)
    return depth


def through(g, n):
    g(n)


@pytest.mark.parametrize("limit", [400, 1000, 3000])
def test_recursion_depth_is_that_of_plain_python(mode, limit):
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        plain = plain_depth(through)
        ours = compiled(plain_depth)(through)
    finally:
        sys.setrecursionlimit(old)
    # The callback itself needs a few levels at the bottom of the recursion.
    assert abs(plain - ours) <= 12


def test_deep_recursion_uses_no_more_stack_than_plain(mode):
    def recurse(n):
        return n and 1 + recurse(n - 1)

    old = sys.getrecursionlimit()
    sys.setrecursionlimit(120_000)
    try:
        assert compiled(recurse)(100_000) == 100_000
    finally:
        sys.setrecursionlimit(old)
    assert compiled(recurse)(10) == 10


def test_deep_recursion_then_recursion_in_c():
    # In a process of its own: an overflow of the C stack ends the process.
    result = run_python(
        """
        from hook_core import Mode, compiled
        import functools
        sys.setrecursionlimit(10**6)
        def in_c(n):
            return functools.reduce(lambda total, _: in_c(n + 1), [0], n)
        def deep(n):
            if n:
                return deep(n - 1)
            try:
                return in_c(0) if sys.version_info >= (3, 12) else 0
            except RecursionError:
                return 0
        for name in ("pass", "twin", "detach", "skip"):
            with Mode(name).on():
                for depth in (0, 500, 3000, 50_000):
                    assert compiled(deep)(depth) == 0
                @compiled
                def by_entries(n):
                    return by_entries(n - 1) if n else deep(10)
                for depth in (0, 500, 1000, 5000, 20_000):
                    try:
                        by_entries(depth)
                    except RecursionError:
                        pass
        print("survived")
        """
    )
    assert (result.returncode, result.stdout.strip()) == (0, "survived"), result.stderr[-2000:]


def test_recursion_through_the_entry(mode):
    @compiled
    def recurse(n):
        return n and 1 + recurse(n - 1)

    assert recurse(700) == 700
    with pytest.raises(RecursionError):
        recurse(10**6)
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        with pytest.raises(RecursionError):
            recurse(10**6 // 2)
    finally:
        sys.setrecursionlimit(old)
    assert recurse(50) == 50


def watched(x):
    y = x + 1
    z = helper(y)
    return z


def helper(y):
    return y * 2


def test_settrace(mode):
    def record(f):
        events = []

        def trace(frame, event, arg):
            if frame.f_code.co_name in ("watched", "helper"):
                events.append((frame.f_code.co_name, event, frame.f_lineno))
                return trace
            return None

        sys.settrace(trace)
        try:
            f(3)
        finally:
            sys.settrace(None)
        return events

    assert record(compiled(watched)) == record(watched)


def test_setprofile(mode):
    def record(f):
        events = []

        def profile(frame, event, arg):
            if frame.f_code.co_name in ("watched", "helper"):
                events.append((frame.f_code.co_name, event))

        sys.setprofile(profile)
        try:
            f(3)
        finally:
            sys.setprofile(None)
        return events

    assert record(compiled(watched)) == record(watched)


def test_cprofile_counts_calls(mode):
    profile = cProfile.Profile()
    entry = compiled(watched)
    profile.enable()
    for i in range(10):
        entry(i)
    profile.disable()
    counts = {key[2]: value[0] for key, value in pstats.Stats(profile).stats.items()}
    assert counts["watched"] == counts["helper"] == 10


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_monitoring(mode):
    def record(f):
        monitoring = sys.monitoring
        tool = monitoring.DEBUGGER_ID
        events = []
        monitoring.use_tool_id(tool, "test")

        def on(name):
            def callback(code, *rest):
                if code.co_name in ("watched", "helper"):
                    events.append((name, code.co_name))

            return callback

        kinds = ("PY_START", "PY_RETURN", "LINE", "PY_UNWIND", "PY_THROW")
        for name in kinds:
            monitoring.register_callback(tool, getattr(monitoring.events, name), on(name))
        monitoring.set_events(tool, sum(getattr(monitoring.events, name) for name in kinds))
        try:
            f(3)
        finally:
            monitoring.set_events(tool, 0)
            for name in kinds:
                monitoring.register_callback(tool, getattr(monitoring.events, name), None)
            monitoring.free_tool_id(tool)
        return events

    assert record(compiled(watched)) == record(watched)


def test_finalizer_with_a_pending_exception(mode):
    log = []

    class Noisy:
        def __del__(self):
            log.append(entry_inner(1))

    def inner(x):
        try:
            raise KeyError
        except KeyError:
            return x

    entry_inner = compiled(inner)

    def f(x):
        noisy = Noisy()
        raise ValueError(x)

    with pytest.raises(ValueError):
        compiled(f)(3)
    gc.collect()
    assert log == [1]


def test_unraisable_in_a_finalizer(mode, monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: caught.append(info.exc_type))

    class Noisy:
        def __del__(self):
            raise OSError

    def f():
        Noisy()
        return 1

    assert compiled(f)() == 1
    assert caught == [OSError]


def big_function(locals_, name="big"):
    lines = [f"def {name}(x, depth):"]
    lines += [f"    v{i} = x + {i}" for i in range(locals_)]
    lines += [f"    if depth: return {name}(x, depth - 1)"]
    lines += ["    return " + " + ".join(f"v{i}" for i in range(locals_))]
    scope = {}
    exec("\n".join(lines), scope)
    return scope[name]


@pytest.mark.parametrize("size", [10, 150, 700, 2500])
def test_big_frames_over_chunk_borders(mode, size):
    f = big_function(size)
    for depth in (0, 1, 5, 40):
        assert compiled(f)(1, depth) == f(1, depth)


def test_replacement_much_bigger_than_the_room_left():
    def f(x, *rest, k, **named):
        return x

    scope = {}
    body = "\n".join(f"    v{i} = x" for i in range(3000))
    exec(f"def g(x, *rest, k, **named):\n{body}\n    return v0, v2999, rest, k, named", scope)
    testing.use_python_compiler(lambda code, _: scope["g"].__code__ if code is f.__code__ else None)

    def at_depth(n):
        return at_depth(n - 1) if n else f(1, 2, k=3, z=4)

    try:
        for depth in range(0, 200):
            assert compiled(at_depth)(depth) == (1, 1, (2,), 3, {"z": 4})
    finally:
        testing.use_python_compiler(None)


def test_threads(mode):
    def work(n):
        total = 0
        for i in range(n):
            total += helper(i)
        return total

    entry = compiled(work)
    results, errors = [], []

    def run():
        try:
            for _ in range(30):
                results.append(entry(100))
                results.append(work(100))
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
    assert set(results) == {work(100)}
    assert testing.hook_state() == (False, 0)


def test_other_threads_are_not_captured():
    seen = []
    inside, done = threading.Event(), threading.Event()

    def bystander():
        inside.wait(5)
        for _ in range(10):
            helper(1)
        done.set()

    def f():
        inside.set()
        done.wait(5)
        return watched(1)

    testing.use_python_compiler(lambda code, _: seen.append(code.co_name))
    thread = threading.Thread(target=bystander)
    thread.start()
    try:
        assert compiled(f)() == 4
    finally:
        testing.use_python_compiler(None)
        thread.join()
    assert seen.count("helper") == 1


def test_hook_only_while_a_region_runs():
    states = []

    def f():
        states.append(testing.hook_state())
        return inner()

    @compiled
    def inner():
        states.append(testing.hook_state())

    assert testing.hook_state() == (False, 0)
    # A compiler that takes nothing: the real one would capture `inner` with its caller.
    testing.use_python_compiler(lambda code, _: None)
    try:
        compiled(f)()
    finally:
        testing.use_python_compiler(None)
    assert states == [(True, 1), (True, 2)]
    assert testing.hook_state() == (False, 0)


def test_keyboard_interrupt(mode):
    import signal

    def f():
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**7):
            pass

    with pytest.raises(KeyboardInterrupt):
        compiled(f)()
    assert testing.hook_state() == (False, 0)


def test_million_calls_do_not_grow(mode):
    calls = {"pass": 100_000, "twin": 100_000, "detach": 60_000, "skip": 1_000_000}[mode.name]

    def f(x, y=1, *rest, **named):
        return x

    entry = compiled(f)
    marker = object()
    mode.callback = None
    replacement = {"twin": twin(f.__code__), "detach": twin(f.__code__), "skip": False}.get(
        mode.name
    )
    testing.use_python_compiler(lambda code, _: replacement)

    def run(n):
        for _ in range(n):
            entry(marker)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    run(2000)
    gc.collect()
    counted = [marker, f, f.__code__, twin(f.__code__), entry, None]
    references = [sys.getrefcount(o) for o in counted]
    grown = []
    # What grows with the calls grows each time; pages of other parts of the process come once.
    while not grown or (grown[-1] >= 2 << 20 and len(grown) < 3):
        blocks, memory = sys.getallocatedblocks(), resident()
        run(calls)
        gc.collect()
        assert [sys.getrefcount(o) for o in counted] == references
        assert abs(sys.getallocatedblocks() - blocks) < 200
        grown.append(resident() - memory)
    assert grown[-1] < 2 << 20, grown


def test_million_replaced_calls_do_not_grow():
    def f(x):
        return x

    def g(x):
        a = b = x
        return [a, b][0]

    entry = compiled(f)
    marker = object()
    for direct in (True, False):
        testing.use_constant_compiler(g, direct)
        try:
            for _ in range(1000):
                entry(marker)
            gc.collect()
            counted = [marker, f, f.__code__, g, g.__code__, entry]
            references = [sys.getrefcount(o) for o in counted]
            blocks = sys.getallocatedblocks()
            for _ in range(1_000_000):
                entry(marker)
            gc.collect()
            assert [sys.getrefcount(o) for o in counted] == references
            assert abs(sys.getallocatedblocks() - blocks) < 100
        finally:
            testing.use_python_compiler(None)


def test_code_state_dies_with_its_code():
    scope = {}

    def once(i):
        exec(f"def f(x): return x + {i}", scope)
        assert compiled(scope["f"])(1) == 1 + i

    testing.use_python_compiler(lambda code, _: False)
    try:
        for i in range(200):
            once(i)
        gc.collect()
        blocks = sys.getallocatedblocks()
        for i in range(5000):
            once(i)
        gc.collect()
        assert abs(sys.getallocatedblocks() - blocks) < 200
    finally:
        testing.use_python_compiler(None)


def test_gc_at_every_allocation(mode):
    def f(x):
        y = [x]
        z = {"k": y}
        y.append(z)
        return helper(x), len(y), (lambda: z)()["k"][0]

    entry = compiled(f)
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(300):
            assert entry(i) == (2 * i, 2, i)
    finally:
        gc.set_threshold(*threshold)


def run_python(source, **environment):
    prelude = "import sys\nsys.path.insert(0, %r)\n" % os.path.dirname(__file__)
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", prelude + textwrap.dedent(source)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_debug_allocator():
    result = run_python(
        """
        from hook_core import Mode, compiled, testing
        import gc
        gc.set_threshold(1)
        def leaf(x, *rest, k=1, **named):
            held = [x, rest, named]
            return lambda: held
        def fails(x):
            raise ValueError([x])
        def f(x):
            try:
                fails(x)
            except ValueError as error:
                kept = error.__traceback__
            def deep(n):
                return deep(n - 1) if n else leaf(x, 1, k=2, z=3)
            return [deep(n) for n in range(30)], kept
        for name in ("pass", "twin", "detach", "skip"):
            with Mode(name).on():
                for i in range(20):
                    assert compiled(f)(i)[0][3]() == [i, (1,), {"z": 3}]
        print("fine", testing.hook_state())
        """,
        PYTHONMALLOC="debug",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "fine (False, 0)"


def test_exit_inside_a_region():
    result = run_python(
        """
        from hook_core import compiled, testing
        testing.use_python_compiler(lambda code, arguments: None)
        kept = []
        @compiled
        def f():
            import atexit
            atexit.register(compiled(lambda: print("at exit")))
            kept.append(f)
            sys.exit(3)
        f()
        """
    )
    assert (result.returncode, result.stdout.strip(), result.stderr) == (3, "at exit", "")


def test_calls_while_the_interpreter_shuts_down():
    result = run_python(
        """
        from hook_core import compiled, core, testing
        testing.use_python_compiler(lambda code, arguments: None)
        def leaf(x):
            return x + 1
        class Late:
            entry = compiled(leaf)
            bound = core.make_disabled(leaf)
            def __del__(self, write=sys.__stdout__.write, leaf=leaf):
                write(f"late {self.entry.__wrapped__(1)} {type(self).entry(2)} "
                      f"{type(self).bound(3)} {type(self).entry.__name__}\\n")
        # Freed with the modules, after the interpreter has begun to finalise.
        sys.modules["kept"] = type(sys)("kept")
        sys.modules["kept"].late = Late()
        sys.late = Late()
        """
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "late 2 3 4 leaf\n" * 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(mode):
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    hold = threading.Event()
    ready = threading.Event()

    @compiled
    def in_thread():
        ready.set()
        hold.wait(20)

    thread = threading.Thread(target=in_thread)
    thread.start()
    ready.wait(5)

    def f():
        pid = os.fork()
        if pid == 0:
            ok = watched(1) == 4 and testing.hook_state() == (True, 1)
            os._exit(7 if ok else 1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    try:
        assert compiled(f)() == 7
        pid = os.fork()
        if pid == 0:
            os._exit(7 if testing.hook_state() == (False, 0) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    finally:
        hold.set()
        thread.join()


def test_wrong_python_is_a_named_import_error():
    assert issubclass(core.UnsupportedPythonError, ImportError)
    result = run_python(
        """
        sys.gettotalrefcount = lambda: 0
        try:
            import hook_core
        except ImportError as error:
            print(type(error).__name__, error)
        """
    )
    assert "UnsupportedPythonError" in result.stdout, result.stderr
    assert "debug builds" in result.stdout
    assert sys.version.split()[0] in result.stdout


def test_interpreter_state_of_mode_fixture():
    # The fixture restores what it changes, so that tests do not see each other.
    with Mode("twin").on() as mode:
        compiled(helper)(1)
    count = len(mode.seen)
    compiled(helper)(1)
    assert len(mode.seen) == count == 1
