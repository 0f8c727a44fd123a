"""Metaclasses, descriptors, functions and deletions are left to Python."""

import torch

GRAPHS = 5

log = []
REFERENCE_WRONG = "ignores metaclasses"


class Meta(type):
    def __setattr__(cls, name, value):
        log.append((name, value))
        super().__setattr__(name, value)

    @property
    def twice(cls):
        return cls.value * 2


class Class(metaclass=Meta):
    value = 1

    @property
    def constant(self):
        return 5

    def method(self):
        return 6


class Plain:
    value = 1

    def method(self):
        return 6


class Descriptor:
    def __get__(self, instance, owner):
        return 42


descriptor = Descriptor()
instance, plain = Class(), Plain()


def fn(x):
    Class.value += 1
    Class.constant = instance.constant + 1
    try:
        Class.twice = 3
    except AttributeError:
        x = x + 1
    Plain.method = lambda self: 8
    Plain.found = descriptor
    before = vars(Plain)
    Plain.value += 1
    x = x + Plain.value
    Plain.gone = 1
    del Plain.gone
    try:
        int.value = 1
    except TypeError as error:
        x = x + len(str(error))
    found = before["value"], "gone" in vars(Plain), Plain.__dict__["value"]
    return x + plain.method() + plain.found, Class.twice, Class.constant, found, list(log)


def calls():
    return [(torch.ones(2),)] * 2
