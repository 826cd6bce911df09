import torch
from torch import nn


def main():
    table, net = nn.Embedding(10, 4), nn.Linear(4, 3)
    sparse = torch.optim.SGD(table.parameters(), lr=0.5)
    dense = torch.optim.Adam(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        ids, y = torch.randint(0, 10, (8,)), torch.randint(0, 3, (8,))
        sparse.zero_grad()
        nn.functional.cosine_embedding_loss(table(ids), table(ids.flip(0)), torch.ones(8)).backward()
        sparse.step()
        dense.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(table(ids).detach()), y)
        scaler.scale(loss).backward()
        scaler.step(dense)
        scaler.update()


if __name__ == "__main__":
    main()
