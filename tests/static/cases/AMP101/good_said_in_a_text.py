"""A context whose text speaks of autocast, around a region that ends before the backward."""

import unittest

import torch


class TestLayer(unittest.TestCase):
    def test_dtypes(self):
        layer = torch.nn.LayerNorm(8)
        for dtype in (torch.float16, torch.bfloat16):
            layer.zero_grad()
            with self.subTest(f"autocast_dtype={dtype}"):
                with torch.autocast("cuda", dtype=dtype):
                    out = layer(torch.randn(2, 8)).sum()
                out.backward()
