"""Export to ONNX: mean pooling and normalisation inside, weights as int8."""

from __future__ import annotations

import logging
import shutil
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from .network import Network, base_folder, pooled

__all__ = ["MODEL", "export"]

MODEL = Path(__file__).parent.parent / "src" / "hikidashi_encoder" / "model"


class _Pooled(nn.Module):
    """What the exported graph computes: ids and mask to normalised vectors."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.bert: Any = network.whole()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return pooled(hidden, attention_mask)


@contextmanager
def _quiet() -> Generator[None]:
    """Warnings of tracing, whose branches are the same for every text, and advice on quantization are not shown."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.setLevel(level)


def export(network: Network, folder: Path = MODEL) -> Path:
    """Write `model.onnx` (int8) and `tokenizer.json` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = torch.ones((2, 8), dtype=torch.long)
    names = {0: "texts", 1: "tokens"}
    with tempfile.TemporaryDirectory() as scratch, _quiet():
        whole = Path(scratch) / "float.onnx"
        torch.onnx.export(
            _Pooled(network).eval(),
            (ids, torch.ones_like(ids)),
            str(whole),
            input_names=["input_ids", "attention_mask"],
            output_names=["vectors"],
            dynamic_axes={"input_ids": names, "attention_mask": names, "vectors": {0: "texts"}},
            opset_version=17,
            dynamo=False,
        )
        # Seven bits: on processors without VNNI, sums of products of eight bits overflow.
        quantize_dynamic(whole, folder / "model.onnx", weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    shutil.copyfile(base_folder() / "tokenizer.json", folder / "tokenizer.json")
    return folder / "model.onnx"
