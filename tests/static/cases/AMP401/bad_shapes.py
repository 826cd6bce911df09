import torch


def statement(model, batches):
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.cuda()
    model.half()  # expect: AMP401
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def assigned(net, optimizer, batches):
    net = net.to("cuda", dtype=torch.float16)  # expect: AMP401 likely
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(net(batch)).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


def optimizer_not_known(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    model.half()  # expect: AMP401 likely
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


class Signed(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data.sub_(parameter.grad.sign())


def own_optimizer(model, batches):
    scaler = torch.amp.GradScaler("cuda")
    optimizer = Signed(model.parameters())
    model.half()  # expect: AMP401
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def moved_and_cast(model, batches, criterion):
    model = model.cuda().half()  # expect: AMP401
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        scaler.scale(criterion(model(inputs.half()), targets)).backward()
        scaler.step(optimizer)
        scaler.update()


def made_half(batches, criterion):
    net = torch.nn.Linear(8, 8).to(torch.float16).cuda()  # expect: AMP401
    optimizer = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        scaler.scale(criterion(net(inputs.half()), targets)).backward()
        scaler.step(optimizer)
        scaler.update()


def a_second_name(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    fast = model.half()  # expect: AMP401 likely
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(fast(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
