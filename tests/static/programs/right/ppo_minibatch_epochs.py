import torch
from torch import nn


def minibatches(data, size):
    order = torch.randperm(len(data[0]))
    for start in range(0, len(order), size):
        yield tuple(each[order[start : start + size]] for each in data)


def main():
    policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([{"params": policy.parameters()}, {"params": value.parameters(), "lr": 0.02}], lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(2):
        rollout = (torch.randn(32, 4), torch.randint(0, 2, (32,)), torch.randn(32, 1))
        for _ in range(2):
            for states, actions, returns in minibatches(rollout, 8):
                with torch.autocast("cuda", dtype=torch.float16):
                    logp = policy(states).float().log_softmax(-1).gather(1, actions[:, None])
                    values = value(states)
                    loss = -(logp * returns).mean() + 0.5 * nn.functional.mse_loss(values, returns)
                optimizer.zero_grad(set_to_none=True)
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_([*policy.parameters(), *value.parameters()], 0.5)
                scaler.step(optimizer)
                scaler.update()


if __name__ == "__main__":
    main()
