from apex.optimizers import FusedAdam
from torch.cuda import amp


def train(model, batches):
    optimizer = FusedAdam(model.parameters())
    scaler = amp.GradScaler()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
