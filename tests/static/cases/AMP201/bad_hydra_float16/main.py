import hydra
from omegaconf import DictConfig

from autoencoder import Autoencoder


@hydra.main(version_base=None, config_path="conf", config_name="experiment")
def main(cfg: DictConfig):
    trainer = hydra.utils.instantiate(cfg.trainer)
    trainer.fit(Autoencoder(8))


if __name__ == "__main__":
    main()
