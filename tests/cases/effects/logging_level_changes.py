"""A logger's level and handlers may change between the calls, and in the program."""

import logging

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 2
BREAKS = [
    "Attempted to call function marked as skipped",
    "Output redirected in the compiled function",
]
SNAPSHOT = False

logger = logging.getLogger("case_levels")
parent = logging.getLogger("case_levels_parent")
child = logging.getLogger("case_levels_parent.child")


def before(i):
    logger.setLevel([logging.ERROR, logging.DEBUG, logging.INFO][i])
    parent.setLevel([logging.INFO, logging.ERROR, logging.INFO][i])


def fn(x):
    logger.info("info %s", x)
    if logger.isEnabledFor(logging.INFO):
        x = x + 1
    if child.isEnabledFor(logging.INFO):
        x = x * 10
    logger.setLevel(logging.DEBUG)
    logger.debug("debug")
    logger.disabled = True
    logger.debug("disabled")
    logger.disabled = False
    return x


def calls():
    return [(torch.ones(2),), (torch.ones(2),), (torch.ones(2),)]
