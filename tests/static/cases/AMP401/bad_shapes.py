import torch


def statement(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    model.cuda()
    model.half()  # expect: AMP401
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def assigned(net, optimizer, batches):
    net = net.to("cuda", dtype=torch.float16)  # expect: AMP401
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(net(batch)).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
