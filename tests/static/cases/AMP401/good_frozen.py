import copy

import torch
from torch.nn.functional import cross_entropy, mse_loss


def of_another_model(student, teacher, batches):
    teacher = teacher.half().cuda()
    optimizer = torch.optim.SGD([{"params": student.parameters(), "lr": 0.1}])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = student(inputs)
            loss = cross_entropy(outputs, targets) + mse_loss(outputs, teacher(inputs).detach())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def unpacked(student, teacher, batches):
    student, teacher = student.cuda(), teacher.half().cuda()
    parameters = [each for each in student.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(parameters)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        scaler.scale(cross_entropy(student(inputs), targets) + teacher(inputs).mean()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


def evaluated_only(unet, text_encoder, optimizer, batches):
    text_encoder.eval()
    text_encoder.to("cuda", dtype=torch.float16)
    scaler = torch.amp.GradScaler("cuda")
    for latents, tokens in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = unet(latents, text_encoder(tokens)).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


def without_gradients(model, encoder, batches):
    encoder.requires_grad_(False).half()
    optimizer = make_optimizer(model)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        scaler.scale(model(encoder(inputs)).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def make_optimizer(module):
    return torch.optim.SGD(module.parameters(), lr=0.1)


def a_half_copy(net, batches):
    teacher_net = copy.deepcopy(net)
    teacher_net.half()
    optimizer = make_optimizer(net)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        scaler.scale((net(inputs) - teacher_net(inputs.half()).detach()).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
