"""finally blocks run on return, break, continue and exceptions."""

import torch

GRAPHS = 1


def fn(x, log):
    for i in range(4):
        try:
            if i == 0:
                continue
            if i == 2:
                break
            x = x + i
        finally:
            log.append(i)
    try:
        return x * 2
    finally:
        log.append("end")


def calls():
    return [(torch.ones(2), []), (torch.ones(2), [])]
