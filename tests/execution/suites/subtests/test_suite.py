import unittest


class TestPrecisions(unittest.TestCase):
    def test_all(self):
        for precision in ("fp16", "bf16"):
            with self.subTest(precision):
                self.assertEqual(precision, "fp16")

    @unittest.expectedFailure
    def test_known(self):
        self.fail("known")

    @unittest.skip("CUDA not available")
    def test_skipped(self):
        self.fail("not here")
