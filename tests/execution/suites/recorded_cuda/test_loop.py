import pytest
import torch

from loop import train


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_train():
    train(torch.nn.Linear(4, 1).cuda(), 2)
