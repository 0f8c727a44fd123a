"""What libraries read of annotations: the members of unions and of generic aliases are fixed."""

import typing
from dataclasses import dataclass

import torch

SNAPSHOT = False
GRAPHS = 1

OPTIONAL = int | None

EXPRESSIONS = [
    int | None,
    typing.Optional[int],
    typing.Union[int, str],
    list[int],
    typing.List[int],
    dict[str, int | None],
]


@dataclass
class Settings:
    size: int | None = 2
    names: list[str] | None = None


def fn(x):
    for expression in EXPRESSIONS:
        x = x + len(typing.get_args(expression)) + len(expression.__args__)
        if hasattr(expression, "__parameters__") and expression.__parameters__ == ():
            x = x * 2
    if hasattr(OPTIONAL, "__args__") and type(None) in OPTIONAL.__args__:
        x = x - 1
    settings = Settings()
    for name, hint in Settings.__annotations__.items():
        if type(None) in typing.get_args(hint):
            x = x + len(name)
        if isinstance(
            getattr(settings, name), hint.__args__[0].__origin__ if name == "names" else hint
        ):
            x = x * 3
    return x


def inputs():
    return (torch.ones(3),)
