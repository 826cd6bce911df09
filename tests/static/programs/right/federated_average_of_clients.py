import torch
from torch import nn


import copy


def client_update(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in data:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return model


def main():
    server = nn.Linear(6, 3)
    server_opt = torch.optim.Adam(server.parameters(), lr=0.01)
    for _ in range(3):
        clients = []
        for _ in range(2):
            data = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(3)]
            clients.append(client_update(copy.deepcopy(server), data))
        server_opt.zero_grad()
        for p, *others in zip(server.parameters(), *(c.parameters() for c in clients)):
            p.grad = p.detach() - torch.stack([o.detach() for o in others]).mean(0)
        nn.utils.clip_grad_norm_(server.parameters(), 1.0)
        server_opt.step()


if __name__ == "__main__":
    main()
