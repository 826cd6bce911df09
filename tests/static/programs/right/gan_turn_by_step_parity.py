import torch
from torch import nn


def main():
    nets = {"gen": nn.Linear(4, 6), "disc": nn.Linear(6, 1)}
    opts = {k: torch.optim.SGD(v.parameters(), lr=0.05) for k, v in nets.items()}
    scaler = torch.amp.GradScaler("cuda")
    for step in range(8):
        key = "disc" if step % 2 == 0 else "gen"
        real, noise = torch.randn(8, 6), torch.randn(8, 4)
        for net in nets.values():
            net.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            fake = nets["gen"](noise)
            if key == "disc":
                loss = nets["disc"](fake.detach()).float().mean() - nets["disc"](real).float().mean()
            else:
                loss = -nets["disc"](fake).float().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opts[key])
        nn.utils.clip_grad_value_(nets[key].parameters(), 0.1)
        scaler.step(opts[key])
        scaler.update()


if __name__ == "__main__":
    main()
