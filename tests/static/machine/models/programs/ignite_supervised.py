import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = DataLoader(TensorDataset(torch.randn(32, 8), torch.randn(32, 2)), batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


def trained(**options):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return create_supervised_trainer(model, optimizer, nn.MSELoss(), device="cuda", **options), model


plain, _ = trained(gradient_accumulation_steps=2)
plain.run(data, max_epochs=1)
mixed, model = trained(amp_mode="amp", scaler=True, gradient_accumulation_steps=2)
evaluator = create_supervised_evaluator(model, device="cuda", amp_mode="amp")


@mixed.on(Events.ITERATION_COMPLETED(every=2))
def report(engine):
    torch.ones(engine.state.epoch).sum()


@mixed.on(Events.EPOCH_COMPLETED)
def evaluate():
    evaluator.run(data)


mixed.run(data, max_epochs=1)


def own_step(engine, batch):
    optimizer.zero_grad()
    x, y = batch
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


net = nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
own = Engine(own_step)
own.add_event_handler(Events.COMPLETED, lambda engine: net.weight.detach().norm())
own.run(data, max_epochs=1)
