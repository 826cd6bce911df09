import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)


def test_in_a_file_that_is_skipped():
    assert torch.ones(2).cuda().sum().item() == 2
