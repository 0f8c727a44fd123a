"""Which cases each rule gets: `cases(name)` yields (args, kwargs)."""

import create
import elementwise
import indexing
import library
import nn
import reduce
import spatial
import view

TABLE = {}
for module in (create, elementwise, indexing, library, nn, reduce, spatial, view):
    TABLE.update(module.TABLE)


def cases(name):
    """The cases of a rule; those of an in-place rule are its base's."""
    make = TABLE.get(name)
    if make is None and name.endswith("_"):
        make = TABLE.get(name[:-1])
    for case in make() if make else ():
        args, kwargs = (
            case
            if isinstance(case, tuple) and len(case) == 2 and isinstance(case[1], dict)
            else (case, {})
        )
        yield list(args), kwargs
