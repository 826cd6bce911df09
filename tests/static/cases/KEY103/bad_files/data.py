from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, files, masks=None):
        self.files, self.masks = files, masks

    def __len__(self):
        return len(self.files)

    def __getitem__(self, at):
        sample = {"image": self.files[at], "index": at}
        if self.masks is not None:
            sample["mask"] = self.masks[at]
        return sample


def pad(samples):
    return {"images": [each["image"] for each in samples], "count": len(samples)}


def loader(files):
    return DataLoader(Images(files), batch_size=4, num_workers=2)
