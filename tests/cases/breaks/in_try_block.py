"""A break inside try, with an exception after it."""

import torch


def fn(x, fail):
    y = x + 1
    try:
        print("trying")
        if fail:
            raise ValueError("no")
        y = y * 2
    except ValueError as e:
        y = y - 1
        print(e)
    finally:
        y = y + 100
    return y


def calls():
    return [(torch.ones(2), False), (torch.ones(2), True)]
