class Hook:
    def after_train_step(self, algorithm):
        pass


class UpdateHook(Hook):
    def after_train_step(self, algorithm):
        algorithm.scaler.scale(algorithm.loss).backward()
        algorithm.scaler.step(algorithm.optimizer)
        algorithm.scaler.update()
        algorithm.scheduler.step()  # expect: AMP213 likely
        algorithm.optimizer.zero_grad()


class CountingUpdateHook(UpdateHook):
    def after_train_step(self, algorithm):
        algorithm.scaler.scale(algorithm.loss).backward()
        algorithm.scaler.step(algorithm.optimizer)
        algorithm.scaler.update()
        algorithm.steps += 1
        algorithm.scheduler.step()  # expect: AMP213 likely
        algorithm.optimizer.zero_grad()
