"""docs/compatibility.md has a row for every name of torch's, and its refusals are said."""

from __future__ import annotations

import logging

import compatibility
import ferrodyn
import pytest
import torch
import torch._dynamo
from ferrodyn import _install, _torch_options, logs

pytestmark = [pytest.mark.own, pytest.mark.once]


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (compatibility.keywords, compatibility.KEYWORDS),
        (compatibility.compiler_names, compatibility.COMPILER),
        (compatibility.stances, compatibility.STANCES),
        (compatibility.dynamo_names, compatibility.dynamo_rows()),
        (compatibility.log_names, compatibility.log_rows()),
    ],
    ids=["keywords", "compiler", "stances", "dynamo", "logs"],
)
def test_every_name_has_a_row(names, rows):
    assert sorted(names()) == sorted(rows)


@pytest.mark.parametrize("module", compatibility.option_names())
def test_every_option_has_a_row(module):
    same = set(ferrodyn.config.to_dict())
    others = set(compatibility.option_names()[module]) - same
    assert others == set(_torch_options.OPTIONS[module])


def test_the_page_is_what_the_tables_say(request):
    text = compatibility.page()
    if request.config.getoption("--bless"):
        compatibility.PAGE.write_text(text)
    assert compatibility.PAGE.read_text() == text


def test_every_refused_option_is_told(caplog):
    for module, options in _torch_options.OPTIONS.items():
        for name, option in options.items():
            caplog.clear()
            _torch_options.tell(module, name, object())
            expected = 0 if option.is_torchs or option.is_dead else 1
            assert len(caplog.records) == expected, name
            for value in option.always:
                caplog.clear()
                _torch_options.tell(module, name, value)
                assert not caplog.records, (name, value)


def test_an_option_without_effect_is_told_once_where_it_is_set(caplog):
    compiled = ferrodyn.compile(lambda x, n: x + len(n), backend="eager")
    x = torch.ones(2)
    with torch._dynamo.config.patch(numpy_default_float="float32"):
        compiled(x, "a")
        compiled(x, "ab")
    (told,) = caplog.messages
    assert "numpy_default_float = 'float32' has no effect on Ferrodyn: arrays have" in told


def test_functions_without_effect_say_so(caplog):
    with ferrodyn.install():
        for name in _install.WITHOUT_EFFECT:
            caplog.clear()
            function = getattr(torch._dynamo, name)
            for _ in range(2):
                function(type("C", (), {})) if name == "allow_c_slot" else function()
            (told,) = caplog.messages
            assert told.startswith(f"torch._dynamo.{name} has no effect on Ferrodyn")
        with pytest.raises(NotImplementedError, match="mark_dynamic"):
            torch.compiler.set_enable_guard_collectives(True)
        assert torch.compiler.set_enable_guard_collectives(False) is False


def test_logs_by_torchs_names(caplog):
    levels = {name: logging.getLogger(f"ferrodyn.{name}").level for name in logs.KINDS}
    try:
        with ferrodyn.install():
            torch._logging.set_logs(dynamo=logging.DEBUG)
            assert "Ferrodyn has no log 'dynamo'" in caplog.text
            torch._logging.set_logs(graph_breaks=True, recompiles_verbose=True)
            for name in ("graph_breaks", "recompiles"):
                assert logging.getLogger(f"ferrodyn.{name}").isEnabledFor(logging.DEBUG)
        logs.set_logs(guards=True)
        assert not logging.getLogger("ferrodyn.recompiles").isEnabledFor(logging.DEBUG)
        with pytest.raises(ferrodyn.exc.LogOptionError):
            logs.set_logs(gaurds=True)
    finally:
        torch._logging.set_logs()
        logs.set_logs("")
        for name, level in levels.items():
            logging.getLogger(f"ferrodyn.{name}").setLevel(level)
