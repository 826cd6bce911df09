import torch


def save(path, net, optimizer, epoch):
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
