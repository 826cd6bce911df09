"""What the command line may set anew is no constant: the scaler that the default leaves off may be on."""

import torch

model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.AdamW(model.parameters())
dtype = "bfloat16"
parts = 5 * 8
exec(open("options.py").read())

precisions = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
region = torch.autocast("cuda", dtype=precisions[dtype])
scaler = torch.amp.GradScaler("cuda", enabled=(dtype == "float16"))

while True:
    for _ in range(parts):
        with region:
            loss = model(torch.randn(8, 4, device="cuda")).mean()
        scaler.scale(loss).backward()  # expect: AMP216 likely
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
