"""What names suggest, on a word list: a false alarm that comes from a name is mended in one place, and shows here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate import naming

WORDS: dict[str, tuple[str, str]] = {
    "names_a_loss": (
        "loss total_loss loss_fn lossG Loss loss_dict self.loss_value closs glossary lossy BCELoss",
        "criterion los cost objective cross_entropy l1 perplexity",
    ),
    "names_a_loss_or_criterion": (
        "loss total_loss criterion crit criterion_mlm cross_entropy crossentropy F.cross_entropy Criterion closs",
        "critic critics cost objective mse entropy cross_attention",
    ),
    "names_a_loss_function": (
        (
            "loss losses loss_fn loss_func loss_function loss_2 criterion criterions crit criterion_cls DiceLoss "
            "compute_loss total_loss"
        ),
        "log_loss_values loss_scale lossy loss_dict critic lossG print_losses_now loss_fns",
    ),
    "names_a_loss_module": (
        "BCELoss Loss torch.nn.CrossEntropyLoss DiceLossWithLogits loss",
        "CrossAttention Model cross_attn Critic Net",
    ),
    "reports_a_loss": ("log_loss LossMeter print_loss scale_loss track_loss loss_tracker", "loss loss_fn criterion"),
    "names_a_model": (
        (
            "model net netG model_ema student teacher unet vae encoder text_encoder decoder backbone generator "
            "discriminator net_d classifier MODEL models networks"
        ),
        (
            "load_model save_net build_model get_encoder model_loss remodel supernet critic transformer module "
            "modeling_loss init_net cabinet"
        ),
    ),
    "names_a_whole_model": (
        "model net my_net network encoder decoder backbone generator critic Model",
        "model_outputs nets encoder_out supernet student unet models",
    ),
    "names_a_model_or_tensor": (
        "model module net input inputs outputs images tensor logits x x1 batch_images",
        "device config args cfg self trainer modeling",
    ),
    "speaks_of_a_model": ("encode_net decoder_step forward run_head network critics", "item detach mean size"),
    "names_a_model_to_train": ("model my_model net student encoder module Net model_ema", "netG models remodel unet"),
    "names_an_optimizer": (
        "optimizer optim opt opts opt_g g_opt optims optimizer_d opt2 Optimizer optimizers optimG self_optim",
        "option opted adopt adopter lr_scheduler lr_optimizer_warmup opt_scheduler copter",
    ),
    "names_a_scheduler": (
        "scheduler sched lr_scheduler warmup lr_schedule warmup_cosine lr_policy noise_scheduler",
        "lr rate optimizer step cosine plr",
    ),
    "names_a_schedule": ("scheduler sched lr_schedule Scheduler", "lr_finder warmup lr"),
    "names_a_scheduler_class": ("CosineLR NoamScheduler WarmupPoly StepLR sched", "Cosine Adam poly"),
    "names_a_scaler": (
        "scaler grad_scaler amp_scaler scaler_g amp_scalar loss_scalar gradscalar StandardScaler Scaler",
        "scalar scale rescale scalars loss_scale",
    ),
    "speaks_of_a_scale": ("loss_scale scaler scaling Scale scalar", "weight factor sale"),
    "speaks_of_a_scaler": ("scaler self.scaler.step GradScaler StandardScaler", "scalar scale"),
    "speaks_of_an_optimizer": ("optimizer_state Optim optimal", "opt adam"),
    "speaks_of_a_step": ("scaler.step(optimizer) opt.step() self.optim.step()", "scheduler.step() adopt.step()"),
    "names_a_loader": (
        (
            "loader train_loader dataloader val_loaders data_loader batches train_batches dl dl_train my_dl train_iter "
            "valid_queue test_iter trainloader loader_val"
        ),
        "loaded load dataset data_loading preloaders_x handler dlib iterator",
    ),
    "names_a_counter": (
        "step global_step i batch_idx it iter iters iteration count epoch step_count num_iter idx",
        "stepper item steps iterator x ids discount counts epochs",
    ),
    "speaks_of_a_window": ("i%accum is_last sync_gradients accum_boundary should_update step", "verbose debug amp"),
    "speaks_of_a_skip": ("grad_norm total_norm skipped skip_update", "loss scale step finite"),
    "names_an_evaluation": (
        "validate eval evaluate test test_epoch inference predict sample generate demo run_validation latest",
        "train fit train_step training_loop",
    ),
}
"""Predicate -> the names that it holds for, and those it does not. Some are wrong and say so: `glossary`, `optimal`."""


@pytest.mark.parametrize("predicate", WORDS)
def test_what_a_name_suggests(predicate: str) -> None:
    holds: Callable[[str], bool] = getattr(naming, predicate)
    yes, no = (words.split() for words in WORDS[predicate])
    assert [word for word in yes if not holds(word)] == []
    assert [word for word in no if holds(word)] == []


def test_every_predicate_is_on_the_list() -> None:
    named = {name for name in vars(naming) if name.startswith(("names_", "speaks_", "reports_"))}
    assert named == WORDS.keys()
