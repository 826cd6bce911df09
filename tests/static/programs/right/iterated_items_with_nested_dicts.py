import torch
from torch import nn


def main():
    parts = {}
    for name, width in (("small", 3), ("large", 9)):
        net = nn.Sequential(nn.Linear(5, width), nn.Linear(width, 1))
        parts[name] = {"net": net, "opt": torch.optim.SGD(net.parameters(), lr=0.1), "amp": torch.amp.GradScaler("cuda")}
    for _ in range(4):
        x, y = torch.randn(8, 5), torch.randn(8, 1)
        for name, part in parts.items():
            part["opt"].zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                part["loss"] = nn.functional.mse_loss(part["net"](x), y)
            part["amp"].scale(part["loss"]).backward()
        for part in parts.values():
            part["amp"].unscale_(part["opt"])
            nn.utils.clip_grad_norm_(part["net"].parameters(), 1.0)
            part["amp"].step(part["opt"])
            part["amp"].update()


if __name__ == "__main__":
    main()
