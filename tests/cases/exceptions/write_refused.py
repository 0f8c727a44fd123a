"""A write that autograd or a tensor's memory refuses raises at its line, and finds its handler."""

import torch

GRAPHS = 14


def expanded(x):
    y = x.detach() * 2
    try:
        y.expand(3, 2).add_(1)
    except RuntimeError as error:
        return str(error)
    return y


def expanded_from_outside(x):
    rows = x.detach().expand(3, 2)
    try:
        rows += 1
    except RuntimeError:
        rows = rows + 1
    return rows


def overlaps(x):
    y = x.detach() * 3
    try:
        y[1:].copy_(y[:-1])
        y[1:].add_(y[:-1])
    except RuntimeError as error:
        return str(error), y
    return y


def view_of_a_leaf(x):
    try:
        x.view(-1).mul_(2)
    except RuntimeError as error:
        return str(error)
    return x


def leaf_made_here():
    weights = torch.ones(4, requires_grad=True)
    try:
        weights[:2].mul_(2)
        weights.add_(1)
    except RuntimeError as error:
        return str(error)
    return weights


def one_of_many(x):
    y = x * 2
    first, _ = y.unbind()
    try:
        first.zero_()
    except RuntimeError as error:
        return str(error)
    return y


def behind_a_write(x, table):
    table.add_(1)
    try:
        x[0] = table.sum()
    except RuntimeError as error:
        return str(error)
    return x + table


def view_is_written(x):
    y = x * 2
    try:
        y[0].mul_(3)
        y[:, None].add_(x[:1])
    except RuntimeError as error:
        return str(error)
    return y


def view_is_detached(x):
    y = x * 2
    try:
        y.view(-1).detach_()
    except RuntimeError as error:
        return str(error)
    return y


def item_is_set(x):
    try:
        x[0:1].__setitem__(0, 1)
    except RuntimeError as error:
        return str(error)
    return x


def into_shared_memory(x):
    y = x.detach() * 2
    try:
        torch.add(y[1:], 1, out=y[:-1])
        torch.add(y, 1, out=y[:1].expand(2))
    except RuntimeError as error:
        return str(error), y
    return y


def not_handled(x, raises):
    y = x * 2
    if raises:
        y = x.view(-1)
    y.mul_(3)
    return y


def fn(x, table, raises):
    return (
        expanded(x),
        expanded_from_outside(x),
        overlaps(x),
        view_of_a_leaf(x),
        leaf_made_here(),
        one_of_many(x),
        behind_a_write(x, table),
        view_is_written(x),
        view_is_detached(x),
        item_is_set(x),
        into_shared_memory(x),
        not_handled(x, raises),
    )


def calls():
    for raises in False, False, True:
        yield torch.ones(2, requires_grad=True), torch.ones(2), raises


COMPILED_WRONG = "AOTAutograd lets one of several views be written to"
