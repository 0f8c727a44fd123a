"""What a function lets go of behind a graph break goes at once, in an inlined function too."""

import gc
import weakref

import torch

GRAPHS = 2
SNAPSHOT = False


class Thing:
    pass


def deleted():
    thing = Thing()
    ref = weakref.ref(thing)
    del thing
    gc.collect(0)
    return ref() is None


def deeper():
    return deleted()


def argument(thing):
    ref = weakref.ref(thing)
    torch._dynamo.graph_break()
    del thing
    gc.collect(0)
    return ref() is None


def emptied(box):
    torch._dynamo.graph_break()
    ref = weakref.ref(box[0])
    box.clear()
    gc.collect(0)
    return ref() is None


@torch._dynamo.disable
def plain(box):
    return emptied(box)


def raised(thing):
    ref = weakref.ref(thing)
    del thing
    try:
        raise ValueError(gc.collect(0))
    except ValueError:
        return ref() is None


def held():
    thing = Thing()
    ref = weakref.ref(thing)
    gc.collect(0)
    return ref() is None


def tensor(x):
    t = x + 1
    ref = weakref.ref(t)
    gc.collect(0)
    held = ref() is not None
    del t
    gc.collect(0)
    return held, ref() is None


def in_a_loop():
    gone = []
    for data in (b"a", bytearray(b"b")):
        view = memoryview(data)
        ref = weakref.ref(view)
        del view
        gc.collect(0)
        gone.append(ref() is None)
    return gone


def fn(x):
    twice = Thing()
    box, other = [twice, twice], [twice, twice]
    del twice
    gone = deleted(), deeper(), argument(Thing()), emptied([Thing()]), raised(Thing()), held()
    other.clear()
    return x + 1, gone, emptied(box), plain([Thing()]), tensor(x), in_a_loop()


def inputs():
    return (torch.ones(2),)
