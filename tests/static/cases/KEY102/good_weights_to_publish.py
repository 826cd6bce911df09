"""A checkpoint without an optimizer's state is for using the model, not for resuming; nor is one of another shape."""

import torch


def keep(state, path):
    torch.save(state, path)


def train(model, critic, optimizer, critic_optimizer, batches, folder, args):
    turn = 0
    if args.resume:
        kept = torch.load(args.resume, map_location="cpu")
        model.load_state_dict(kept["weights"])
        optimizer.load_state_dict(kept["optimizer"])
        turn, best = kept["turn"], kept["best"]
        print(kept.get("note"), kept["note"] if "note" in kept else "")
    for inputs, targets in batches:
        loss = (model(inputs) - targets).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        turn += 1
        keep({"turn": turn, "weights": model.state_dict(), "best": best}, folder + "/weights.pt")
    keep({"critic": critic.state_dict(), "critic_optimizer": critic_optimizer.state_dict()}, folder + "/critic.pt")
    state = {"turn": turn, "best": best, "weights": model.state_dict(), "optimizer": optimizer.state_dict()}
    keep({**state, "note": "end"}, folder + "/end.pt")
    keep(state, folder + "/last.pt")
