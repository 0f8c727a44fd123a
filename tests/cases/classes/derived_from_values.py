"""Classes that derive from int, float, str and bytes: instances made inside, and from outside."""

import torch

GRAPHS = 2
REFERENCE_WRONG = "the attribute that __init__ sets is lost, bytes are not joined"
SNAPSHOT = False


class Count(int):
    def twice(self):
        return Count(self * 2)


class Tagged(int):
    def __new__(cls, value, tag):
        made = super().__new__(cls, value)
        made.tag = tag
        return made


class Own(int):
    def __add__(self, other):
        return Own(int(other) * 10 + super().__add__(1))

    def __repr__(self):
        return f"Own<{int.__repr__(self)}>"

    def __bool__(self):
        return False


class Odd(int):
    def __eq__(self, other):
        return other % 2 == 1

    def __hash__(self):
        return 3


class Name(str):
    def loud(self):
        return self.upper() + "!"


class Shouted(str):
    def __str__(self):
        return "shouted"

    def __len__(self):
        return 99


class Rate(float):
    __slots__ = ()


class Raw(bytes):
    pass


class Initialised(int):
    def __init__(self, value):
        self.half = value // 2


def numbers(x, n):
    made = Count(3)
    found = [made + 1, 1 + made, made * 2, -made, made > 2, made == n, n == made, bool(made)]
    found += [made.twice(), type(made.twice()).__name__, type(made + 1).__name__, made // 2]
    found += [range(5)[made], [1, 2, 3, 4][made], (5, 6, 7, 8)[made], list(range(made))]
    found += [{made: "a"}[3], {3: "b"}[made], made in (1, 2, 3), max(made, 2), sum([made, n])]
    found += [made.bit_length(), made.real, divmod(made, 2), f"{made:03d}", f"{made}", repr(made)]
    found += [int(made), type(int(made)).__name__, isinstance(made, int), hash(made)]
    return x.sum(made - 3) + made + n, found, made


def with_attributes(x, tagged):
    mine = Tagged(4, "mine")
    mine.more = x + 1
    first = Initialised(9)
    found = [tagged.tag, tagged + 0, mine.tag, mine * 2, first + first.half, vars(first)]
    return x * mine + tagged, found, mine, mine.more


def replaced(x):
    own, odd = Own(4), Odd(2)
    found = [own + 5, 5 + own, repr(own), str(own), f"{own}", 1 if own else 2, own * 2]
    found += [odd == 7, 7 == odd, odd == 8, hash(odd), odd in [9], odd + 1]
    shouted = Shouted("abc")
    found += [
        str(shouted),
        len(shouted),
        shouted + "d",
        shouted.upper(),
        f"{shouted}",
        shouted == "abc",
    ]
    return x + len(found), found


def texts(x, name):
    made = Name("ab")
    found = [made + "c", "c" + made, made.loud(), name.loud(), made == "ab", made < "b", len(made)]
    found += [made[0], made[::-1], list(made), "a" in made, made.join(["1", "2"]), ",".join([made])]
    found += [{made: 1}["ab"], {"ab": 2}[made], f"<{made:>4}>", made.startswith("a"), made * 2]
    found += [getattr(x, Name("shape")), "%s" % made, made.split("b"), name == made, str(made)]
    raw, rate = Raw(b"xy"), Rate(2.5)
    found += [raw[0], raw + b"z", list(raw), rate * 2, rate == 2.5, rate.is_integer(), -rate]
    found += [type(rate + 1).__name__, round(rate), repr(rate)]
    return x * rate + len(name), found, made, rate


def fn(x, n, tagged, name):
    kept = [numbers(x, n), with_attributes(x, tagged), replaced(x), texts(x, name)]
    return kept, n, tagged is kept


def calls():
    x = torch.ones(2, 3)
    one = (x, Count(5), Tagged(7, "t"), Name("name"))
    return [
        one,
        (x, Count(5), Tagged(7, "t"), Name("name")),
        (x, Count(6), Tagged(7, "t"), Name("b")),
    ]
