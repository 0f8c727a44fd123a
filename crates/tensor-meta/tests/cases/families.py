"""Which cases each rule gets: `cases(name)` yields (args, kwargs)."""

import complex  # noqa: F401
import create  # noqa: F401
import decompose  # noqa: F401
import elementwise  # noqa: F401
import indexing  # noqa: F401
import library  # noqa: F401
import loss  # noqa: F401
import nn  # noqa: F401
import reduce  # noqa: F401
import scatter  # noqa: F401
import spatial  # noqa: F401
import view  # noqa: F401
from spec import TABLE


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
