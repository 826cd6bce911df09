import torch
from torch import nn


class Agent:
    def __init__(self):
        self.actor, self.critic = nn.Linear(5, 2), nn.Linear(7, 1)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=0.01)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=0.01)
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=0.01)
        self.scaler = torch.amp.GradScaler("cuda")

    def _minimise(self, optim, loss, params):
        optim.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optim)
        nn.utils.clip_grad_norm_(params, 1.0)
        self.scaler.step(optim)

    def update(self, state, reward):
        with torch.autocast("cuda", dtype=torch.float16):
            action = self.actor(state).detach()
            value = self.critic(torch.cat([state, action], 1))
            critic_loss = nn.functional.mse_loss(value, reward)
        self._minimise(self.critic_optim, critic_loss, list(self.critic.parameters()))
        with torch.autocast("cuda", dtype=torch.float16):
            action = self.actor(state)
            entropy = action.float().pow(2).mean()
            actor_loss = -self.critic(torch.cat([state, action], 1)).float().mean()
            actor_loss = actor_loss + self.log_alpha.exp().detach().squeeze() * entropy
        self._minimise(self.actor_optim, actor_loss, list(self.actor.parameters()))
        alpha_loss = (self.log_alpha.exp() * (entropy.detach() - 1.0)).mean()
        self._minimise(self.alpha_optim, alpha_loss, [self.log_alpha])
        self.scaler.update()


def main():
    agent = Agent()
    for _ in range(5):
        agent.update(torch.randn(8, 5), torch.randn(8, 1))


if __name__ == "__main__":
    main()
