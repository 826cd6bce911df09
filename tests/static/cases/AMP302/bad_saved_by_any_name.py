"""What writes the checkpoint is known by what it does, whatever it is called, also where it is a method."""

import torch


class Shelf:
    def __init__(self, path):
        self.path = path

    def put(self, turn, **parts):
        torch.save({"turn": turn, **{name: part.state_dict() for name, part in parts.items()}}, self.path)


def lay_down(path, **parts):
    torch.save({name: part.state_dict() for name, part in parts.items()}, path)


def train(net, rows, path, resume):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    shelf = Shelf(path)
    if resume:
        opt.load_state_dict(torch.load(path)["opt"])
    for turn, row in enumerate(rows):
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(row).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        shelf.put(turn, net=net, opt=opt)  # expect: AMP302
        lay_down(path, net=net, opt=opt)  # expect: AMP302
