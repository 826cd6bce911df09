import torch
from torch.nn.parallel import DistributedDataParallel


def made_elsewhere(net, batches):
    net.half()  # expect: AMP401
    optimizer = make_optimizer(net)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        scaler.scale(net(inputs).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def make_optimizer(module):
    return torch.optim.SGD(module.parameters(), lr=0.1)


def wrapped(net, batches):
    net.half()  # expect: AMP401
    model = DistributedDataParallel(net)
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        scaler.scale(model(inputs).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def inside(model, batches):
    optimizer = torch.optim.SGD(params=model.parameters(), lr=0.1)
    net = model.module
    net.half()  # expect: AMP401
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        scaler.scale(model(inputs).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def evaluated_between(model, batches, held_out):
    model.half()  # expect: AMP401
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        model.train()
        optimizer.zero_grad()
        scaler.scale(model(inputs).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        model.eval()
        model(held_out)


def in_evaluation_mode(model, batches):
    model.half()  # expect: AMP401
    model.eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        scaler.scale(model(inputs).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def with_gradients(net, optimizer, batches):
    net.requires_grad_(True).half()  # expect: AMP401 likely
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        scaler.scale(net(inputs).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def in_both_modes(net, optimizer, batches, held_out):
    net.half()  # expect: AMP401 likely
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        net.train()
        optimizer.zero_grad()
        scaler.scale(net(inputs).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        net.eval()
        net(held_out)
