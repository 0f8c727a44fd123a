"""`__context__` of exceptions that were raised while others were handled, in one graph."""

import torch

GRAPHS = 1
SNAPSHOT = False


def chain(error):
    names = []
    while error is not None and len(names) < 8:
        names.append(str(error))
        error = error.__context__
    return names


def lookup():
    return {}["key"]


def doubly():
    try:
        raise ValueError("inner")
    except ValueError:
        raise KeyError("outer")


def generated():
    try:
        yield 1
    except ValueError:
        raise TypeError("in the generator")


def in_handler():
    try:
        raise OSError("first")
    except OSError:
        try:
            doubly()
        except KeyError as error:
            return chain(error)


def by_python():
    try:
        raise ValueError("a")
    except ValueError:
        try:
            lookup()
        except KeyError as error:
            return chain(error)


def from_a_finally():
    try:
        try:
            raise ValueError("tried")
        finally:
            raise KeyError("finally")
    except KeyError as error:
        return chain(error)


def raised_again():
    try:
        raise ValueError("a")
    except ValueError as a:
        try:
            raise KeyError("b")
        except KeyError as b:
            try:
                raise a
            except ValueError as again:
                return chain(again), chain(b)


def re_raised():
    try:
        try:
            raise ValueError("a")
        except ValueError:
            try:
                raise KeyError("b")
            except KeyError:
                raise
    except KeyError as error:
        return chain(error)


def behind_a_handler():
    try:
        raise ValueError("a")
    except ValueError:
        pass
    try:
        raise KeyError("b")
    except KeyError as error:
        return chain(error)


def thrown():
    steps = generated()
    next(steps)
    try:
        steps.throw(ValueError("thrown"))
    except TypeError as error:
        return chain(error)


def ended():
    def steps():
        yield 1
        raise StopIteration(5)

    try:
        list(steps())
    except RuntimeError as error:
        return chain(error), str(error.__cause__)


def never_raised():
    error = ValueError("new")
    return error.__context__, error.__traceback__


def without_a_traceback():
    try:
        raise ValueError("a")
    except ValueError as error:
        kept = error.__traceback__
        found = [error.with_traceback(None) is error, error.__traceback__]
        found.append(error.with_traceback(kept).__traceback__ is kept)
        try:
            raise error.with_traceback(None)
        except ValueError as again:
            found.append(again.__traceback__ is None)
    return found


def fn(x):
    found = [
        in_handler(),
        by_python(),
        from_a_finally(),
        raised_again(),
        re_raised(),
        behind_a_handler(),
        thrown(),
        ended(),
        never_raised(),
    ]
    try:
        raise ValueError
    except ValueError as error:
        has = error.__traceback__ is not None
        same = error.__traceback__ is error.__traceback__
    return x + 1, found, has, same, without_a_traceback()


def inputs():
    return (torch.ones(2),)
