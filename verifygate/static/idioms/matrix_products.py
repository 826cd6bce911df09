"""Recognise matrix products in functions that run where autocast does not reach, and casts before them."""

from __future__ import annotations

import ast
import re

from verifygate.static.analysis import Analysis
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import FunctionValue

CASTS = r"custom_[fb]wd|\.float\(|\.to\(|\.type\(|\.type_as\(|\.half\(|\.double\(|float32|float16|autocast"
"""What the source of a function says that is written for more than one dtype."""
CAST_METHODS = frozenset({"to", "float", "half", "type", "type_as", "double", "bfloat16"})
_PRODUCTS = r"^(matmul|mm|bmm|addmm|addbmm|baddbmm|mv|einsum|linear|bilinear|conv(_transpose)?[123]d\w*)$"


def multiplies(function: Function) -> bool:
    """Whether a function multiplies matrices, or convolves, by operations of torch."""
    return any(isinstance(node.op, ast.MatMult) for node in function.of_kind(ast.BinOp)) or any(
        re.match(_PRODUCTS, last_name(call.func)) for call in function.calls
    )


def launches_products(function: Function, analysis: Analysis) -> bool:
    """Whether a function, or one that it calls, launches a Triton kernel with `tl.dot` on operands as they are loaded.

    Of two dtypes that raises when the kernel is compiled.
    """
    callees = (callee for call in function.calls for callee in analysis.call_graph.callees(call, function))
    for part in dict.fromkeys((function, *callees)):
        for launch in part.calls:
            if not isinstance(launch.func, ast.Subscript):
                continue
            frame = analysis.evaluator.root_frame(part)
            for value in analysis.evaluator.values(_kernel(launch.func.value), frame):
                if isinstance(value, FunctionValue) and _is_product_kernel(value.function, analysis):
                    return True
    return False


def _kernel(launched: ast.expr) -> ast.expr:
    """What is launched: `torch.library.wrap_triton(kernel)[grid](...)` launches the kernel."""
    match launched:
        case ast.Call(func=func, args=[kernel]) if last_name(func) == "wrap_triton":
            return kernel
    return launched


def _is_product_kernel(kernel: Function, analysis: Analysis) -> bool:
    """Whether a function is compiled by Triton, multiplies with `dot`, and casts nothing."""
    home = analysis.evaluator.module_frame(kernel.module)
    decorators = [
        each.func if isinstance(each, ast.Call) else each for each in getattr(kernel.node, "decorator_list", ())
    ]
    compiled = any(
        (name := analysis.roles.known_name(each, home)).startswith("triton") and name.endswith(".jit")
        for each in decorators
    )
    called = {last_name(call.func) for call in kernel.calls}
    return compiled and "dot" in called and not called & (CAST_METHODS | {"cast"})
