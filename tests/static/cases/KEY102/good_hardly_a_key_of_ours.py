"""What is read to start from may be anybody's checkpoint; so may one with hardly a key of ours."""

import torch


def main(args, model, optimizer, loader):
    if args.pretrained:
        state = torch.load(args.weights)
        model.load_state_dict(state["model"])
        print(state["epoch"], state["optimizer"])
    if args.resume:
        state = torch.load(args.weights)
        print(state["weights"], state["step"], state["model"])
    for inputs in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(inputs).mean()
        loss.backward()
        optimizer.step()
    torch.save({"model": model.state_dict(), "arch": args.arch}, f"{args.folder}/model.ckpt")
