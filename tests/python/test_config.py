"""ferrodyn.config: names, types, patches."""

from __future__ import annotations

import os
import threading

import forked
import harness
import pytest

if not harness.REFERENCE:
    from ferrodyn import config, exc
pytestmark = pytest.mark.own


@pytest.fixture(autouse=True)
def _restore():
    saved = config.to_dict()
    yield
    config.load_config(saved)


@pytest.mark.once
@pytest.mark.parametrize(("setting", "on"), [({}, True), ({"FERRODYN_CACHE": "0"}, False)])
def test_results_are_kept_but_where_the_environment_says_not(setting, on):
    env = {name: value for name, value in os.environ.items() if name != "FERRODYN_CACHE"}
    ask = "import ferrodyn; print(ferrodyn.config.cache)"
    done = forked.run(["-c", ask], env=env | setting, check=True)
    assert done.stdout == f"{on}\n"


def test_defaults():
    assert config.recompile_limit == 8
    assert config.automatic_dynamic_shapes is True
    assert config.assume_static_by_default is True
    assert config.accumulated_recompile_limit == 256
    assert config.error_on_recompile is False
    assert config.suppress_errors is False
    assert config.verbose is False
    assert config.fail_on_recompile_limit_hit is False


def test_set_and_read():
    config.recompile_limit = 3
    assert config.recompile_limit == 3 and config.to_dict()["recompile_limit"] == 3


def test_unknown_names_suggest():
    with pytest.raises(AttributeError, match="Did you mean 'recompile_limit'"):
        _ = config.recompile_limt
    with pytest.raises(AttributeError, match="Did you mean 'recompile_limit'"):
        config.recompile_limits = 2
    with pytest.raises(AttributeError, match="recompile_limit"):
        config.patch(zzzzzz=1)
    assert not hasattr(config, "zzzzzz")


def test_the_names_that_torch_keeps_for_an_option():
    config.cache_size_limit = 3
    assert config.recompile_limit == 3 and config.cache_size_limit == 3
    with config.patch(accumulated_cache_size_limit=7, fail_on_cache_limit_hit=True):
        assert config.accumulated_recompile_limit == 7 and config.fail_on_recompile_limit_hit
    assert config.accumulated_recompile_limit == 256 and not config.fail_on_cache_limit_hit
    with pytest.raises(exc.ConfigError, match="recompile_limit"):
        config.patch(cache_size_limit=-1)
    assert "cache_size_limit" not in config.to_dict()


@pytest.mark.parametrize("value", [True, "8", 8.0, None, -1])
def test_wrong_types_change_nothing(value):
    with pytest.raises(exc.ConfigError, match="recompile_limit"):
        config.recompile_limit = value
    assert config.recompile_limit == 8


def test_patch_in_every_form_nested_and_with_an_exception():
    with config.patch(recompile_limit=2):
        assert config.recompile_limit == 2
        with config.patch({"recompile_limit": 3, "verbose": True}):
            assert (config.recompile_limit, config.verbose) == (3, True)
            with pytest.raises(KeyError), config.patch("recompile_limit", 4):
                assert config.recompile_limit == 4
                raise KeyError
            assert config.recompile_limit == 3
        assert (config.recompile_limit, config.verbose) == (2, False)
    assert config.recompile_limit == 8
    with pytest.raises(exc.ConfigError):
        config.patch()


def test_patch_as_a_decorator_and_entered_twice():
    patch = config.patch(recompile_limit=5)

    @patch
    def depth(n):
        assert config.recompile_limit == 5
        return depth(n - 1) if n else config.recompile_limit

    assert depth(3) == 5 and config.recompile_limit == 8
    with patch, patch:
        assert config.recompile_limit == 5
    assert config.recompile_limit == 8


def test_all_threads_see_the_same():
    seen = []
    with config.patch(recompile_limit=6):
        thread = threading.Thread(target=lambda: seen.append(config.recompile_limit))
        thread.start()
        thread.join()
    assert seen == [6]


def test_dir_lists_options():
    assert {"recompile_limit", "patch"} <= set(dir(config))
