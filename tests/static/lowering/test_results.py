"""What the calls of a function return, and what the iterations of a loop are about, as nodes of the graph tell it."""

from __future__ import annotations

from verifygate.static.lowering.event_graph import Assign, Backward, Branch, Graph, Iterate
from verifygate.static.lowering.lower import Lowering
from verifygate.static.lowering.reachability import Reachability

HEAD = "import torch\noptimizer = torch.optim.SGD(params)\n\n"


def assigned(graph: Graph) -> list[Assign]:
    return [node.payload for node in graph.nodes if isinstance(node.payload, Assign)]


def test_a_backward_is_on_what_the_call_in_it_returns(lowered):
    graph = lowered("""
        def scaled(loss):
            optimizer.zero_grad()
            return scaler.scale(loss)

        def train(loss):
            scaled(loss).backward()
    """)
    (backward,) = (node.payload for node in graph.nodes if isinstance(node.payload, Backward))
    assert [each.target for each in assigned(graph) if each.scaled and each.target in backward.roots]


def test_each_inlined_call_has_a_result_of_its_own(analysed):
    """The call of a closure is made up; the next one made up may stand where it stood in memory."""
    steps = "\n".join(["    optimizer.step(closure)"] * 40)
    seen = analysed(
        f"{HEAD}def train(loss):\n    def closure():\n        loss.backward()\n        return loss\n{steps}\n"
    )
    (root,) = (function for function in seen.functions if function.symbol == "train")
    lowering = Lowering(root, seen.roles, Reachability(seen.roles))
    lowering.lower()
    assert len(lowering._context.results) == 40


def test_the_first_iteration_sets_a_flag_that_its_end_clears(lowered):
    graph = lowered("""
        def train(batches):
            for i, batch in enumerate(batches):
                if i == 0:
                    optimizer.zero_grad()
                optimizer.step()
    """)
    flags = [each for each in assigned(graph) if str(each.target).startswith("first ")]
    assert [each.truth for each in flags] == [True, False]


def test_the_last_iteration_is_the_one_that_leaves_the_loop(lowered):
    graph = lowered("""
        def train(batches):
            for i, batch in enumerate(batches):
                optimizer.zero_grad()
                if i + 1 == len(batches):
                    optimizer.step()
            scaler.update()
    """)
    inside, end = (node for node in graph.nodes if isinstance(node.payload, Branch))
    assert inside.payload.atom == end.payload.atom
    (leaving,) = (successor for successor, (_, outcome) in end.successors if outcome)
    assert getattr(graph.nodes[leaving].payload, "event", None) == "update"


def test_an_iteration_is_about_the_tracked_element_or_another(lowered):
    graph = lowered("""
        def train(optimizers):
            for each in optimizers:
                scaler.step(each)
            scaler.update()
    """)
    parts = [node.payload.part.name for node in graph.nodes if isinstance(node.payload, Iterate)]
    assert parts == ["ENTER", "TRACKED", "OTHER", "LEAVE"]


def test_a_loop_over_selected_elements_may_go_without_the_tracked_one(lowered):
    graph = lowered("""
        def train(optimizers, due):
            for name in [each for each in optimizers if each in due]:
                scaler.step(optimizers[name])
            scaler.update()
    """)
    parts = [node.payload.part.name for node in graph.nodes if isinstance(node.payload, Iterate)]
    assert parts == ["ENTER", "ENTER_WITHOUT", "TRACKED", "OTHER", "LEAVE"]
