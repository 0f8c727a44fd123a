"""Log records: order, level, text, and the place that they name."""

import functools
import logging

import torch

SNAPSHOT = False

GRAPHS = 1
REFERENCE_GRAPHS = None

logger = logging.getLogger("case_logging")
logger.setLevel(logging.INFO)
adapter = logging.LoggerAdapter(logger, {"who": "me"})


@functools.lru_cache(None)
def once(self, *args):
    self.warning(*args)


logging.Logger.warning_once_for_cases = once


def helper(x):
    logger.info("in the helper: %s", x.shape)
    logger.warning("level up", stacklevel=2)
    return x + 1


class Model:
    def __call__(self, x):
        logger.warning_once_for_cases("only once")
        logger.warning_once_for_cases("only once for %s", "two")
        return helper(x)


model = Model()


def fn(x):
    logger.debug("not shown %d", 1)
    logger.info("shape %s", tuple(x.shape))
    y = model(x)
    print("between")
    if logger.isEnabledFor(logging.DEBUG):
        y = y * 100
    if logger.getEffectiveLevel() == logging.INFO:
        y = y * 2
    logging.getLogger("case_logging").error(f"failed {y.ndim}")
    logger.log(logging.CRITICAL, "sum %s", y.sum())
    adapter.warning("adapted")
    logging.warning("of the root")
    return y - 1


def inputs():
    return (torch.ones(2),)
