"""The optimizer is stepped by a helper, without a scaler; the file of which a class is imported has one of its own."""

import torch
from train_reward import Reward


def policy_step(policy, reward, inputs, optimizer):
    loss = -reward(policy(inputs)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def one_epoch(policy, reward, loader, opt):
    for inputs in loader:
        policy_step(policy, reward, inputs, optimizer=opt)


def main(policy, loader):
    reward = Reward(3, 1)
    optimizer = torch.optim.AdamW(policy.parameters())
    saved = torch.load("best.pth")
    optimizer.load_state_dict(saved["optimizer"])
    for epoch in range(3):
        one_epoch(policy, reward, loader, optimizer)
        torch.save({"model": policy.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "best.pth")
