"""What writes the checkpoint is given the scaler as well; what only shows states writes none."""

import torch


class Shelf:
    def __init__(self, path):
        self.path = path

    def put(self, turn, **parts):
        torch.save({"turn": turn, **{name: part.state_dict() for name, part in parts.items()}}, self.path)


def show(**parts):
    print({name: len(part.state_dict()) for name, part in parts.items()})


def train(net, rows, path, resume):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    shelf = Shelf(path)
    if resume:
        kept = torch.load(path)
        opt.load_state_dict(kept["opt"])
        scaler.load_state_dict(kept["scale"])
    for turn, row in enumerate(rows):
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(row).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        shelf.put(turn, net=net, opt=opt, scale=scaler)
        show(net=net, opt=opt)
