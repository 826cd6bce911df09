import torch
from network import Network


def train(batches, loss_fn):
    model = Network(3).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for points, drag in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(points), drag)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    train([], torch.nn.MSELoss())
