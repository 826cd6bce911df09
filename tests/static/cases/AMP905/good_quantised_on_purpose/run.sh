python3 -m verl.trainer.main_ppo \
    actor_rollout_ref.model.path=org/model \
    actor_rollout_ref.rollout.quantization=fp8 \
    algorithm.rollout_correction.rollout_is=token
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=org/model actor_rollout_ref.rollout.dtype=$DTYPE
