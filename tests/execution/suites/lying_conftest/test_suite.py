import unittest


def test_fails():
    assert 1 == 2


class TestOld(unittest.TestCase):
    def test_fails_too(self):
        self.assertEqual(1, 2)
