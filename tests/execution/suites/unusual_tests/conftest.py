"""Runs a test that failed once more within the same process, as plugins for flaky tests do."""

import pytest
from _pytest.runner import runtestprotocol

TRIES = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if "test_method" not in item.name:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(2):
        item._initrequest() if hasattr(item, "_initrequest") else None
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
