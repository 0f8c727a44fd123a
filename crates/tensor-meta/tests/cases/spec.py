"""Descriptions of arguments, and their text form (read by tests/against_torch.rs)."""

import os

import torch

#: Where the operations run; `cpu` unless the environment says otherwise.
DEVICE = torch.device(os.environ.get("FERRODYN_DEVICE", "cpu"))

#: Where tensors are built, last.
HERE = [DEVICE]

DTYPES = {
    "f2": torch.float16,
    "bf": torch.bfloat16,
    "f4": torch.float32,
    "f8": torch.float64,
    "c4": torch.complex64,
    "c8": torch.complex128,
    "b": torch.bool,
    "u1": torch.uint8,
    "i1": torch.int8,
    "i2": torch.int16,
    "i4": torch.int32,
    "i8": torch.int64,
    "qi8": torch.qint8,
    "qu8": torch.quint8,
    "qi4": torch.qint32,
}

#: The cases of each rule, by its name: a function that yields `args`, or `args, kwargs`.
TABLE = {}


def rule(*names):
    """A decorator: the function gives the cases of these rules."""

    def add(fn):
        for name in names:
            TABLE[name] = fn
        return fn

    return add


class T:
    """A tensor to build: shape, dtype, layout, values below `high`, requires_grad (2: not a leaf)."""

    def __init__(self, *shape, d="f4", l="c", high=None, rg=0, v=None):
        self.shape, self.d, self.l, self.high, self.rg, self.v = shape, d, l, high, rg, v

    def but(self, **kw):
        new = T(*self.shape, d=self.d, l=self.l, high=self.high, rg=self.rg, v=self.v)
        new.__dict__.update(kw)
        return new

    def differentiable(self):
        return self.d[0] in "fc" or self.d == "bf"

    def plain(self, shape):
        return self.on_cpu(shape).to(HERE[-1])

    def on_cpu(self, shape):
        dtype = DTYPES[self.d]
        if self.v is not None:
            return torch.tensor(self.v, dtype=dtype)
        if self.d[0] == "q":
            return torch.quantize_per_tensor(torch.rand(shape), 0.1, 0, dtype)
        if self.d == "b":
            return (
                torch.arange(max(1, int(torch.Size(shape).numel())))
                .remainder(2)[: torch.Size(shape).numel()]
                .bool()
                .reshape(shape)
            )
        if self.differentiable():
            return (torch.rand(shape, dtype=torch.float64) * 0.8 + 0.1).to(dtype)
        return torch.randint(0 if self.high else 1, self.high or 4, shape).to(dtype)

    def make(self):
        shape, l, n = list(self.shape), self.l, len(self.shape)
        if self.v is not None:
            t = self.plain(None)
        elif l == "c" or n == 0:
            t = self.plain(shape)
        elif l == "cl":
            fmt = torch.channels_last if n == 4 else torch.channels_last_3d
            t = self.plain(shape).contiguous(memory_format=fmt)
        elif l == "t" and n >= 2:
            t = self.plain(shape[:-2] + [shape[-1], shape[-2]]).transpose(-1, -2)
        elif l == "r":
            t = self.plain(shape[::-1]).permute(*range(n)[::-1])
        elif l == "p":
            order = [(i + 1) % n for i in range(n)]
            back = [order.index(i) for i in range(n)]
            t = self.plain([shape[i] for i in order]).permute(back)
        elif l == "h" and n == 4:
            t = self.plain([shape[0], shape[2], shape[1], shape[3]]).transpose(1, 2)
        elif l == "s":
            t = self.plain(shape[:-1] + [shape[-1] * 2])[..., ::2]
        elif l == "o":
            t = self.plain([shape[0] + 1] + shape[1:])[1:]
        elif l == "e":
            t = self.plain([1] + shape[1:]).expand(shape)
        elif l == "el":
            t = self.plain(shape[:-1] + [1]).expand(shape)
        else:
            t = self.plain(shape)
        if self.rg:
            t = t.detach().requires_grad_()
            if self.rg == 2:
                t = t * 1
        return t


def tensors_of(value):
    if isinstance(value, T):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_of(v)]
    if isinstance(value, dict):
        return tensors_of(list(value.values()))
    return []


def build(value):
    if isinstance(value, T):
        return value.make()
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(build(v) for v in value)
    if isinstance(value, dict):
        return {k: build(v) for k, v in value.items()}
    return value


def dims(xs):
    return ",".join(map(str, xs))


def encode_tensor(t, alias="?"):
    flags = f"{int(t.requires_grad)};{int(t.is_leaf)};{int(t.is_conj())};{int(t.is_neg())}"
    layout = f"{dims(t.shape)};{dims(t.stride())};{t.storage_offset()};{str(t.dtype)[6:]}"
    return f"T({layout};{flags};{alias};{t.device})"


def encode(v, alias=None):
    if isinstance(v, torch.Tensor):
        return encode_tensor(v, alias(v) if alias else "?")
    if v is None:
        return "N"
    if isinstance(v, bool):
        return f"b{int(v)}"
    if isinstance(v, int):
        return f"i{v}"
    if isinstance(v, float):
        return f"f{v!r}"
    if isinstance(v, complex):
        return f"c{v.real!r},{v.imag!r}"
    if isinstance(v, str):
        return f's"{v}"'
    if isinstance(v, torch.dtype):
        return "d" + str(v)[6:]
    if isinstance(v, torch.device):
        return f"D{v}"
    if isinstance(v, torch.memory_format):
        return "M" + str(v)[6:]
    if v is torch.strided:
        return "L"
    if v is Ellipsis:
        return "E"
    if isinstance(v, slice):
        return f"S( {encode(v.start)} {encode(v.stop)} {encode(v.step)} )"
    if isinstance(v, torch.Size):
        return "Z( " + "".join(encode(x) + " " for x in v) + ")"
    if isinstance(v, tuple) and type(v).__module__ == "torch.return_types":
        return f"n{type(v).__name__}( " + "".join(encode(x, alias) + " " for x in v) + ")"
    if isinstance(v, tuple):
        return "{ " + "".join(encode(x, alias) + " " for x in v) + "}"
    if isinstance(v, list):
        return "[ " + "".join(encode(x, alias) + " " for x in v) + "]"
    if isinstance(v, dict):
        return "".join(f"{k}={encode(x)} " for k, x in v.items())
    raise TypeError(type(v))


def flat_tensors(v):
    if isinstance(v, torch.Tensor):
        return [v]
    if isinstance(v, (list, tuple)):
        return [t for x in v for t in flat_tensors(x)]
    if isinstance(v, dict):
        return flat_tensors(list(v.values()))
    return []


def encode_result(result, args, kwargs):
    inputs = flat_tensors(args) + flat_tensors(kwargs)

    def alias(t):
        if any(t is i for i in inputs):
            return "i"
        ptr = t.untyped_storage().data_ptr()
        if ptr == 0:
            return "?"
        return "v" if any(i.untyped_storage().data_ptr() == ptr for i in inputs) else "f"

    return encode(result, alias)
