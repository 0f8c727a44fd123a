"""An attribute that is deleted and set again comes last; one set and deleted is gone."""

import torch

GRAPHS = 2


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def fn(thing, other, x):
    del thing.a
    thing.a = 1
    delattr(thing, "b")
    thing.new = x
    thing.b = x + 1
    # Whether it was there nobody asks.
    other.a = None
    del other.a
    other.b = 1
    del other.b
    other.b = 2
    own = Thing(a=1, b=2)
    del own.a
    own.a = 3
    return own, list(vars(own)), list(vars(thing))


def calls():
    return [
        (Thing(a=5, b=6, c=7), Thing(c=3), torch.ones(2)),
        (Thing(a=5, b=6, c=7), Thing(a=1, b=2, c=3), torch.ones(2)),
        (Thing(c=5, b=6, a=7), Thing(b=1, c=3), torch.ones(2)),
    ]
