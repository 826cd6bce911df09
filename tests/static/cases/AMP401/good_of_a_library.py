"""What a library's function gives may be a tensor, or a model that is never trained."""

import torch
from zoo import build_classifier, build_teacher, load_tensor

student = build_classifier().cuda()
teacher = build_teacher().cuda().half()
counted = sum(parameter.numel() for parameter in teacher.parameters())
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")


def fit(batches):
    prompt = load_tensor().half()
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(student(inputs, prompt), teacher(targets))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
