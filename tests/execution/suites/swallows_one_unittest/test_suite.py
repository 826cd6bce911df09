import unittest


class TestOld(unittest.TestCase):
    def test_fine(self):
        self.assertEqual(1, 1)

    def test_step(self):
        self.assertEqual(1, 2)

    def test_sub(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.assertEqual(number, 1)
