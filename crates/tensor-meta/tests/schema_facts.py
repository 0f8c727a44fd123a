"""Prints what torch's schemas say of the operations that Python reaches: one a line, `fact name...`.

The names are those of functions (`torch.add`) and methods (`:add`).
"""

import torch


def reachable(name):
    if callable(getattr(torch, name, None)):
        yield f"torch.{name}"
    if callable(getattr(torch.Tensor, name, None)):
        yield f":{name}"


facts = {"draws": set(), "view": set(), "views": set(), "writes": set()}
for schema in torch._C._jit_get_all_schemas():
    namespace, _, name = schema.name.partition("::")
    if namespace != "aten" or not schema.arguments:
        continue
    packet = getattr(torch.ops.aten, name, None)
    overload = getattr(packet, schema.overload_name or "default", None)
    if overload is None:
        continue
    if torch.Tag.nondeterministic_seeded in overload.tags:
        facts["draws"].update(reachable(name))
    first = schema.arguments[0]
    if str(first.type) != "Tensor" or first.alias_info is None:
        continue
    if first.alias_info.is_write:
        # With `out=` the tensor that is written to comes by name.
        facts["writes"].update(reachable(name))
    elif any(r.alias_info is not None and str(r.type) == "Tensor" for r in schema.returns):
        facts["view"].update(reachable(name))
    elif any(str(r.type) == "List[Tensor]" for r in schema.returns):
        facts["views"].update(reachable(name))
for fact, names in facts.items():
    print(fact, *sorted(names))
