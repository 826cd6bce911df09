"""Ids and reasons with control codes, markup, paths of this machine, and addresses."""

import pathlib

import pytest


@pytest.mark.parametrize("value", ["|`<b>`", "a\nb", "x" * 5000, "\u202eevil"])
def test_ids(value):
    assert value


def test_path(tmp_path):
    pytest.skip(f"nothing at {tmp_path}/data, {pathlib.Path(__file__).parent}/data or /opt/machine/data: {object()!r}")
