# Compiled into sample-3.*.bin: `python3.x tests/python/dump_stdlib.py tests/data/sample.py`.
def arithmetic(a, b, *, c=1):
    total = 0
    for i in range(a):
        if i % 2 == 0 and b is not None:
            continue
        total += i * b - c
    return total if total > 0 else -total


def calls(f, x, *args, **kwargs):
    y = f(x, key=x.method(1), other=2)
    return f(*args, **kwargs) or y


def closure(n):
    def add(m):
        nonlocal n
        n += m
        return n

    return add


def handles(path):
    try:
        with open(path) as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise RuntimeError(f"{path!r:>10}") from error
    finally:
        print("done")


async def streams(source):
    async for item in source:
        yield await item


def matches(point):
    match point:
        case {"x": x, **rest}:
            return [k for k in rest], x[1:2]
        case [first, *_]:
            return first


class Base:
    size: int = 3

    def size_of(self):
        return super().size
