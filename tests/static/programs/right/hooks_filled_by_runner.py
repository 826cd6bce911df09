import torch
from torch import nn


class Hook:
    def before_batch(self, runner): ...

    def after_backward(self, runner): ...

    def finish(self, runner): ...


class Zero(Hook):
    def before_batch(self, runner):
        runner.optimizer.zero_grad()


class Limit(Hook):
    def __init__(self, most):
        self.most = most

    def after_backward(self, runner):
        runner.amp.unscale_(runner.optimizer)
        nn.utils.clip_grad_norm_(runner.net.parameters(), self.most)


class Step(Hook):
    def finish(self, runner):
        runner.amp.step(runner.optimizer)
        runner.amp.update()


class Runner:
    stages = ("after_backward", "finish")

    def __init__(self, net, most=None):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        self.amp = torch.amp.GradScaler("cuda")
        self.hooks = [Zero()]
        if most is not None:
            self.hooks.append(Limit(most))
        self.hooks.append(Step())

    def run(self, batches):
        for x, y in batches:
            for hook in self.hooks:
                hook.before_batch(self)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(self.net(x), y)
            self.amp.scale(loss).backward()
            for stage in self.stages:
                for hook in self.hooks:
                    getattr(hook, stage)(self)


def main():
    batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(6)]
    Runner(nn.Linear(6, 3), most=0.5).run(batches)


if __name__ == "__main__":
    main()
