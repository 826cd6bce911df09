"""A small GPT. Shapes in comments: B items, T tokens, C channels, H heads, V vocabulary."""

from __future__ import annotations

from torch import Tensor, nn

from reference_impl.config import Config
from reference_impl.data import CONTEXT, IGNORE, VOCABULARY


class Attention(nn.Module):
    """Causal self-attention: each token looks at itself and at what came before."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width, bias=False)  # a bias on keys would shift all scores alike
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        # Queries, keys and values, each (B, H, T, C/H)
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        y = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)  # (B, H, T, C/H)
        mixed: Tensor = self.out(y.transpose(1, 2).reshape(B, T, C))  # (B, T, C)
        return mixed


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each added to the residual stream."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop(self.attention(self.norm_1(x)))  # (B, T, C)
        hidden = nn.functional.gelu(self.up(self.norm_2(x)))  # (B, T, 4C)
        y: Tensor = x + self.drop(self.down(hidden))  # (B, T, C)
        return y


class GPT(nn.Module):
    """Token ids in; the loss or the logits out. The parameters are FP32 and stay so: autocast casts copies."""

    def __init__(self, width: int, layers: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.position = nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:  # a spread far wider than is usual for large models; at this size it learns faster
                nn.init.normal_(parameter, std=0.1)

    @classmethod
    def from_config(cls, cfg: Config) -> GPT:
        """Build the model that `cfg` describes, with weights drawn from torch's global generator."""
        return cls(cfg.width, cfg.layers, cfg.heads, cfg.dropout)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats over the targets that are not IGNORE; tokens and targets are (B, T)."""
        logits = self.logits(tokens).flatten(0, 1)  # (B*T, V)
        # A log of a sum of exponentials does not fit into half precision: the loss is float32 in every mode.
        return nn.functional.cross_entropy(logits.float(), targets.flatten(), ignore_index=IGNORE)

    def logits(self, tokens: Tensor) -> Tensor:
        """The scores (B, T, V) of the next token after each of the (B, T) tokens."""
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]  # (B, T, C)
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.head(self.norm(x))
        return scores
