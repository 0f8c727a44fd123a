"""A comprehension that breaks: the function goes on in a graph behind it."""

import torch

BREAKS = ["Skip calling `disable`d function `case_behind_a_comprehension.say`"]


@torch.compiler.disable
def say(value):
    print(type(value).__name__)
    return value


class Base:
    def scaled(self, x):
        return x * 2


class Derived(Base):
    def scaled(self, x):
        sizes = [say(len(self.__dict__)) for _ in range(2)]
        return super().scaled(x) + len(sizes)


def hidden(x):
    i = 5
    made = {say(i): x + i for i in range(2)}
    return made[0] * made[1] + i


def walrus(x):
    made = [say(last := x + i) for i in range(3)]
    return made[0] * last


def nested(x):
    made = [[say(x * i + j) for i in range(2)] for j in range(2) if j + 1]
    return made[0][1] + made[1][0]


def cells(x):
    k = 3

    def scale(y):
        return y * k + n

    n = 1
    made = [say(scale(x) + i) for i in range(3)]
    n = 2
    return scale(made[0]) + made[2]


def values_below(x):
    return torch.cat([say(x + i) for i in range(3)] + [x * say(i) for i in range(2)]) * 2


def in_blocks(x):
    with torch.no_grad():
        made = [say(x + i) for i in range(3)]
        y = made[0] * 2
    try:
        made = [1 // say(1 - i) for i in range(3)]
    except ZeroDivisionError:
        return y + x
    return y


def in_a_handler(x):
    try:
        raise ValueError
    except ValueError:
        made = [say(x + i) for i in range(3)]
        return made[0] * 2


def in_a_loop(x):
    out = 0
    for _ in range(2):
        made = [say(x + i) for i in range(2)]
        out = out + made[1]
    return out


def unbound(x):
    if say(0):
        maybe = 1
    made = [say(x + i) for i in range(3)]
    try:
        return made[0] + maybe
    except UnboundLocalError:
        return made[0] * 7


def generator(x):
    def items():
        yield x
        yield x + 1

    it = items()
    first = next(it)
    made = [say(first + i) for i in range(3)]
    return next(it) + made[1]


def fn(x):
    functions = (
        hidden,
        walrus,
        nested,
        cells,
        values_below,
        in_blocks,
        in_a_handler,
        in_a_loop,
        unbound,
        generator,
    )
    out = [f(x) for f in functions]
    out.append(Derived().scaled(x))
    return out


def inputs():
    return (torch.ones(2, requires_grad=True),)
