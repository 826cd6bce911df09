"""An option says both in which dtype the region computes and whether there is a scaler; `exec` may set it anew."""

import torch

model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.AdamW(model.parameters())
dtype = "bfloat16"
exec(open("options.py").read())

precision = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
region = torch.autocast("cuda", dtype=precision)
scaler = torch.amp.GradScaler("cuda", enabled=(dtype == "float16"))

while True:
    with region:
        loss = model(torch.randn(8, 4, device="cuda")).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
