import collections
import ctypes
import gc
import itertools
import math
import struct
import weakref

import torch
import torch.utils._device as utils_device  # noqa: F401 (named by guard text)

___missing = object()


def ___check_type_id(value, type_id):
    return id(type(value)) == type_id


def ___check_obj_id(value, object_id):
    return id(value) == object_id


def ___check_code_id(value, code_id):
    return type(value) is type(___check_code_id) and id(value.__code__) == code_id


def ___obj(address):
    return ctypes.cast(address, ctypes.py_object).value


def ___mro_lookup(cls, name):
    for base in type.__dict__["__mro__"].__get__(cls):
        namespace = type.__dict__["__dict__"].__get__(base)
        if name in namespace:
            return namespace[name]
    return ___missing


def ___dict_class(mapping):
    return dict if isinstance(mapping, dict) else frozendict  # noqa: F821


def ___dict_contains(key, mapping):
    return ___dict_class(mapping).__contains__(mapping, key)


def ___dict_keys(mapping):
    if isinstance(mapping, collections.OrderedDict):
        return list(collections.OrderedDict.keys(mapping))
    return list(___dict_class(mapping).keys(mapping))


def ___set_items(items):
    return list((set if isinstance(items, set) else frozenset).__iter__(items))


def ___set_contains(key, items):
    return (set if isinstance(items, set) else frozenset).__contains__(items, key)


def __math_isnan(value):
    return math.isnan(value)


def ___exactly(value, wanted):
    if type(value) is not type(wanted):
        return False
    if type(value) in (tuple, list):
        return len(value) == len(wanted) and all(map(___exactly, value, wanted))
    if type(value) is float:
        return struct.pack("d", value) == struct.pack("d", wanted) or (
            value != value and wanted != wanted
        )
    if type(value) is complex:
        return ___exactly(value.real, wanted.real) and ___exactly(value.imag, wanted.imag)
    if type(value) in (int, bool, str, bytes, torch.Size, torch.device):
        return value == wanted
    return value is wanted


def ___under(holder):
    if type(holder) is weakref.ref:
        return holder()
    (found,) = gc.get_referents(holder)
    return found


def ___list_iterator_len(iterator):
    if type(iterator) is not type(iter([])):
        raise TypeError
    return iterator.__length_hint__()


def ___list_reverseiterator_len(iterator):
    if type(iterator) is not type(reversed([])):
        raise TypeError
    return iterator.__length_hint__()


def ___normalize_count_iter(iterator):
    if type(iterator) is not itertools.count:
        raise TypeError
    start, *step = repr(iterator)[6:-1].split(", ")
    return int(start), int(*step or [1])


def ___tuple_iterator_len(iterator):
    if type(iterator) is not type(iter(())):
        raise TypeError
    return iterator.__length_hint__()


def ___normalize_range_iter(iterator):
    if type(iterator) is not type(iter(range(0))):
        raise TypeError
    _, (remaining,), *state = iterator.__reduce__()
    skipped = state[0] if state and state[0] else 0
    return (
        remaining.start + skipped * remaining.step,
        remaining.start + len(remaining) * remaining.step,
        remaining.step,
    )


def ___namespace(mapping):
    class Namespace:
        def __getattribute__(self, name):
            return dict.__getitem__(mapping, name)

    return Namespace()


def ___applied_keys(tensor):
    keys = torch._C._dispatch_keys(tensor).raw_repr()
    keys |= torch._C._dispatch_tls_local_include_set().raw_repr()
    return keys & ~torch._C._dispatch_tls_local_exclude_set().raw_repr()


def ___fits(dims, wanted):
    return len(dims) == len(wanted) and all(w is None or d == w for d, w in zip(dims, wanted))


def ___check_tensors(*tensors):
    for tensor, spec in itertools.zip_longest(tensors, ___tensor_specs):
        type_id, keys, dtype, device, requires_grad, size, stride = spec
        if id(type(tensor)) != type_id:
            return False
        with torch._C.DisableTorchFunction():
            if (
                ___applied_keys(tensor) != keys
                or str(tensor.dtype) != dtype
                or str(tensor.device) != device
                or tensor.requires_grad != requires_grad
            ):
                return False
            if size is not None and not (
                ___fits(tensor.shape, size) and ___fits(tensor.stride(), stride)
            ):
                return False
    return True


def check_no_aliasing(*tensors):
    return len(set(map(id, tensors))) == len(tensors)


def ___addresses(tensor):
    if tensor.numel() == 0 or tensor.device.type == "meta":
        return set()
    start, item = tensor.data_ptr(), tensor.element_size()
    offsets = [0]
    for size, stride in zip(tensor.shape, tensor.stride()):
        offsets = [o + i * stride for o in offsets for i in range(size)]
    return {start + o * item + b for o in offsets for b in range(item)}


def check_overlapping(overlapping, non_overlapping):
    # NumPy arrays are looked at as tensors.
    overlapping = [t if isinstance(t, torch.Tensor) else torch.from_numpy(t) for t in overlapping]
    non_overlapping = [
        t if isinstance(t, torch.Tensor) else torch.from_numpy(t) for t in non_overlapping
    ]
    spans = [(True, ___addresses(t)) for t in overlapping] + [
        (False, ___addresses(t)) for t in non_overlapping
    ]
    for i, (wanted, span) in enumerate(spans):
        if any(span & other for j, (_, other) in enumerate(spans) if i != j) != wanted:
            return False
    return True


def ___check_global_state():
    included = torch._C._dispatch_tls_local_include_set().raw_repr()
    excluded = torch._C._dispatch_tls_local_exclude_set().raw_repr()
    autocast = [
        (device, str(torch.get_autocast_dtype(device)))
        for device in (
            "cpu",
            "cuda",
            "xla",
            "xpu",
            "mps",
            "hpu",
            "ipu",
            "mtia",
            "maia",
            "privateuseone",
        )
        if ___autocast_enabled(device)
    ]
    return ___global_state == (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        int(torch._C._get_torch_function_state()),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        str(torch.get_default_dtype()),
        autocast,
        not autocast or torch.is_autocast_cache_enabled(),
        torch.autograd.forward_ad._current_level >= 0,
        included,
        excluded,
    )


def ___autocast_enabled(device):
    try:
        return torch.is_autocast_enabled(device)
    except RuntimeError:
        return False


def ___mode_device(mode):
    device = getattr(mode, "__dict__", {}).get("device")
    return repr(device) if type(device) is torch.device else "None"


def ___function_mode_at(index):
    return torch._C._get_function_stack_at(index)


def ___check_torch_function_mode_stack():
    stack = [
        torch._C._get_function_stack_at(i) for i in range(torch._C._len_torch_function_stack())
    ]
    return ___mode_stack == [(id(type(mode)), ___mode_device(mode)) for mode in stack]
