"""The prompt side: a tokenizer with a tiny BPE vocabulary of the class prompts, and a small CLIP encoder."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from g2d2.training.vq_diffusion.vq_recipe import TransformerSettings

BOS, EOS = "<|startoftext|>", "<|endoftext|>"
_END = "</w>"


def learn_merges(words: list[str]) -> list[tuple[str, str]]:
    """Byte-pair merges, most frequent first, until every word is one token."""
    pieces = [[*word[:-1], word[-1] + _END] for word in words]
    merges = []
    while any(len(piece) > 1 for piece in pieces):
        pairs = Counter(pair for piece in pieces for pair in pairwise(piece))
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        pieces = [_merge(piece, best) for piece in pieces]
    return merges


def _merge(piece: list[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for symbol in piece:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def byte_symbols() -> list[str]:
    """The 256 printable stand-ins of byte-level BPE: printable Latin-1 stays, the rest moves above 255."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in sorted(printable)] + [chr(256 + n) for n in range(len(others))]


def vocabulary(prompts: tuple[str, ...]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges: any text can be written, and each word of the prompts is one token."""
    merges = learn_merges(sorted({word for prompt in prompts for word in prompt.split()}))
    symbols = byte_symbols()
    entries = [
        *symbols,
        *(symbol + _END for symbol in symbols),
        *("".join(pair) for pair in merges),
        BOS,
        EOS,
    ]
    return {entry: index for index, entry in enumerate(dict.fromkeys(entries))}, merges


def build_tokenizer(prompts: tuple[str, ...], length: int) -> CLIPTokenizer:
    """A `CLIPTokenizer` over the vocabulary of the prompts."""
    vocab, merges = vocabulary(prompts)
    return CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=length)


def save_tokenizer(tokenizer: CLIPTokenizer, prompts: tuple[str, ...], folder: Path) -> None:
    """Write the tokenizer, also as vocab.json and merges.txt, which older transformers read."""
    tokenizer.save_pretrained(folder)
    vocab, merges = vocabulary(prompts)
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def build_text_encoder(settings: TransformerSettings, tokenizer: CLIPTokenizer) -> CLIPTextModel:
    """A randomly initialised `CLIPTextModel` that fits the tokenizer."""
    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.text_width,
            intermediate_size=2 * settings.text_width,
            num_hidden_layers=settings.text_layers,
            num_attention_heads=max(1, settings.text_width // 32),
            max_position_embeddings=settings.text_length,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def encode_ids(encoder: CLIPTextModel, ids: Tensor) -> Tensor:
    """Prompt embeddings of unit norm, as `VQDiffusionPipeline` makes them. (B, L) -> (B, L, W)"""
    hidden: Tensor = encoder(ids)[0]
    return nn.functional.normalize(hidden, dim=-1)


def prompt_ids(tokenizer: CLIPTokenizer, prompts: tuple[str, ...]) -> Tensor:
    """Padded token ids, (N, L)."""
    length = tokenizer.model_max_length
    batch = tokenizer(list(prompts), padding="max_length", max_length=length, truncation=True)
    return torch.tensor(batch["input_ids"])
