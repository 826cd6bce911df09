import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_fine():
    assert True


@pytest.mark.anyio
async def test_step():
    assert 1 == 2
