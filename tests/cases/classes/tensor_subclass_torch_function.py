"""The `__torch_function__` of a tensor subclass is followed: what it logs, replaces and refuses."""

import torch
import torch.nn.functional as F

GRAPHS = 1
log = []


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        log.append((getattr(func, "__name__", "?"), [t.__name__ for t in types]))
        if func is torch.Tensor.add:
            args = (args[0], args[1] * 10)
        if func is torch.exp:
            return NotImplemented
        return super().__torch_function__(func, types, args, kwargs)


class Derived(Logged):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.sub:
            return "refused"
        return super().__torch_function__(func, types, args, kwargs)


class Unwrapping(torch.Tensor):
    @staticmethod
    def __new__(cls, data, *, tag=None):
        made = torch.as_tensor(data).as_subclass(cls)
        made.tag = tag
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            out = func(*args, **kwargs or {})
        if func in (torch.Tensor.clone, torch.Tensor.to):
            return cls(out, tag=args[0].tag)
        return out.as_subclass(torch.Tensor) if isinstance(out, cls) else out

    @property
    def shape(self):
        with torch._C.DisableTorchFunctionSubclass():
            return ("shape", *super().shape)

    @property
    def label(self):
        return self.tag

    @label.setter
    def label(self, label):
        self.tag = f"label {label}"


def fn(x, y, z, plain):
    global log
    log = []
    a = plain + x
    b = y + x
    c = torch.sub(x, y)
    d = F.softmax(x * 2.0, dim=-1)
    e = torch.stack([x, plain], dim=0).mean()
    f = z * 2
    g = z.clone()
    h = Unwrapping(plain, tag="new")
    h.label = "written"
    rows = [*x.view(3, 1)], list(x), tuple(x), [v * 2 for v in x]
    sizes = x.shape, x.ndim, z.shape, g.shape, f.shape
    kinds = [type(v).__name__ for v in (a, b, c, d, e, f, g, h)]
    return a, b, c, d, e, f, g, g.tag, h, h.label, rows, sizes, kinds, list(log)


def inputs():
    torch.manual_seed(0)
    x, y = torch.randn(3).as_subclass(Logged), torch.randn(3).as_subclass(Derived)
    return x, y, Unwrapping(torch.randn(3), tag="old"), torch.randn(3)
