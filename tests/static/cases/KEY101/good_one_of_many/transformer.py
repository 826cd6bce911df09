class Transformer:
    def __init__(self, body):
        self.body = body

    def features(self, x):
        tokens = self.body(x)
        return {"features": tokens[1:], "class_token": tokens[0]}
