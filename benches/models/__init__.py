"""Models as users run them: torchvision, timm, transformers and plain `torch.nn`.

Nothing is downloaded: weights are random, transformers models are made from small
configurations. Libraries are imported when a model is built, so to import this costs nothing.

`CASES` maps a name to a :class:`Case`; building one twice gives equal models, and equal
inputs for equal batch sizes.
"""

from . import vision, language, plain  # noqa: F401, I001 (in the order of the table)
from .case import CASES, Case

__all__ = ["CASES", "Case"]
