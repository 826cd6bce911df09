class Metric:
    def completed(self, engine, name):
        engine.state.metrics[name] = self.compute()

    def compute(self):
        return 0.0

    def attach(self, engine, name):
        engine.add_handler(self.completed, name)
