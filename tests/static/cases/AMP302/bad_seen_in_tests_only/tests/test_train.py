import torch
from train import main


def test_the_scale_is_kept(tmp_path, model, optimizer):
    main(model, optimizer, [], tmp_path / "last.pt")
    assert torch.load(tmp_path / "last.pt")["scaler"]["scale"] == 65536.0
