"""An operation raises because of the values of its tensors, in code captured with others."""

import torch
import torch.nn.functional as F

GRAPHS = 5

weight = torch.arange(12.0).reshape(4, 3)
log = []


class Counter:
    count = 0


class Noted:
    def __enter__(self):
        log.append("enter")

    def __exit__(self, kind, *rest):
        log.append(kind and kind.__name__)


def rows(i, *more, counter, **named):
    counter.count += 1
    with Noted(), torch.no_grad():
        log.append(len(more))
        scaled = weight * 2
        scaled += named["shift"]
        found = scaled[i]
        counter.count += 1
    return found


def fn(i, counter, strict):
    kept = counter.count
    log.append("start")
    try:
        y = rows(i, 1, counter=counter, shift=1)
    except IndexError as e:
        if strict:
            raise KeyError(kept) from e
        return str(e), lambda: kept
    finally:
        log.append("end")
    log.append(counter.count)
    return y, F.embedding(i + 1, weight)


def calls():
    counter = Counter()
    indices = [0, 1], [0, 9], [1, 2], [3, 3]
    made = [(torch.tensor(i), counter, False) for i in indices]
    return [*made, (torch.tensor([4]), counter, False)]
