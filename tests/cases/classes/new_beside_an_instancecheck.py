"""`__init__` follows a `__new__` by the class of what it gives: no `__instancecheck__` is asked."""

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "makes the second object without its __init__"


class ByTag(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Base) and instance.tag == cls.wanted


class Base:
    def __init__(self, tag="plain"):
        self.tag = tag


class Special(Base, metaclass=ByTag):
    wanted = "special"

    def __new__(cls):
        return Base("special")


class Derived(Base):
    def __new__(cls, tag):
        return super().__new__(Further)


class Further(Derived):
    def __init__(self, tag):
        super().__init__(tag * 2)


def fn(x):
    made, further = Special(), Derived("ab")
    return x + len(made.tag), made.tag, further.tag, isinstance(made, Special)


def inputs():
    return (torch.randn(3),)
