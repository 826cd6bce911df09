import torch


def write(net, folder):
    torch.save({"net": net.state_dict(), "scaler": torch.amp.GradScaler("cuda").state_dict()}, f"{folder}/model.pt")
