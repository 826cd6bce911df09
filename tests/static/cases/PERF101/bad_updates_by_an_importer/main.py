import agent


def run(net, episodes, updates):
    learner = agent.Agent(net)
    told = []
    for _ in range(updates):
        told.append(learner.learn(next(episodes)))
    return told
