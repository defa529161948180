"""`g2d2 prior`: which priors there are, where they live, and how to get, check and convert them."""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from g2d2.priors.catalog import CATALOG, Home, KnownPrior, conversion_hint, packaged_folder
from g2d2.priors.checking import check_folder
from g2d2.priors.digest import prior_digest
from g2d2.priors.layout import folder_bytes, read_shape
from operators.errors import InputError
from operators.local_paths import local_path
from operators.validation import did_you_mean
from pipelines.actions import Action, add_actions
from pipelines.commands import prior_training

EXAMPLE = "g2d2 prior list"


def configure(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, ACTIONS)


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action].run(args)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _list(args: argparse.Namespace) -> int:
    rows = [_row(known) for known in CATALOG.values()]
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    columns = ("name", "home", "installed", "size", "shape", "licence", "digest")
    table = [columns, *(tuple(_cell(row[column]) for column in columns) for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print("\n`g2d2 prior info NAME` tells more; any folder or hub id in diffusers' VQ-Diffusion layout is a prior too.")
    return 0


def _row(known: KnownPrior) -> dict[str, Any]:
    """Digests of packaged priors are computed; hashing gigabytes is left to `info`."""
    folder = _local(known)
    packaged = folder is not None and known.home is Home.PACKAGED
    return {
        "name": known.name,
        "home": str(known.home),
        "location": known.location,
        "installed": folder is not None,
        "size": known.size,
        "shape": f"{known.image_size}x{known.image_size}, {known.token_side}x{known.token_side} of {known.codes}",
        "licence": known.licence.partition(" (")[0],
        "digest": prior_digest(folder)[:12] if packaged and folder else known.digest,
    }


def _cell(value: Any) -> str:
    return {True: "yes", False: "no", None: "-"}.get(value, str(value))


def _local(known: KnownPrior) -> Path | None:
    """The folder, if this machine has it already."""
    if known.home is not Home.HUB:
        return known.folder
    return _cached(known.location, known.revision)


def _cached(repository: str, revision: str | None) -> Path | None:
    import huggingface_hub

    # the files that are fetched last: with them the rest is there too
    for ending in ("safetensors", "bin"):
        file = f"transformer/diffusion_pytorch_model.{ending}"
        try:
            cached = huggingface_hub.try_to_load_from_cache(repository, file, revision=revision)
        except ValueError:  # no name of the hub's
            return None
        if isinstance(cached, str):
            return Path(cached).parents[1]
    return None


def _configure_info(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prior", metavar="NAME_OR_FOLDER", help="known name, folder or hub id")
    _add_json(parser)


def _info(args: argparse.Namespace) -> int:
    known = CATALOG.get(args.prior)
    folder = _local(known) if known else _given(args.prior)
    facts: dict[str, Any] = {"name": args.prior}
    if known:
        facts |= {
            "home": f"{known.home}: {known.location}",
            "revision": known.revision,
            "licence": known.licence,
            "expected size": known.size,
            "expected shape": f"{known.image_size}x{known.image_size} pixels, "
            f"{known.token_side}x{known.token_side} tokens, {known.codes} codes",
            "notes": known.notes,
            "citation": known.citation,
        }
    facts["folder"] = "not installed" if folder is None else str(folder)
    if folder is not None:
        shape = read_shape(folder)
        facts |= {
            "shape": str(shape),
            "transformer": f"{shape.layers} layers, {shape.train_steps} training steps, text width {shape.text_width}",
            "size": _megabytes(folder_bytes(folder)),
            "digest": prior_digest(folder),
        }
    elif known:
        facts["digest"] = known.digest or f"unknown: {known.digest_reason}"
    facts = {key: value for key, value in facts.items() if value is not None}
    if args.json:
        print(json.dumps({key.replace(" ", "_"): value for key, value in facts.items()}, indent=1))
    else:
        width = max(map(len, facts))
        print("\n".join(f"{key.ljust(width)}  {value}" for key, value in facts.items()))
    return 0


def _given(text: str) -> Path:
    folder = local_path(text, "prior")
    if folder.is_dir():
        return folder
    cached = _cached(text, None) if text.count("/") == 1 and not text.startswith((".", "/", "~")) else None
    if cached is None:
        raise InputError(
            f"prior: {text!r}{did_you_mean(text, CATALOG)} is neither a folder here, a known name "
            f"({', '.join(CATALOG)}) nor a hub id in the local cache."
        )
    return cached


def _megabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _configure_fetch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prior", metavar="NAME", help="known name or hub id")
    parser.add_argument("--to", type=Path, metavar="DIR", help="write the files here instead of the hub's cache")


def _fetch(args: argparse.Namespace) -> int:
    known = CATALOG.get(args.prior)
    if known and known.home is Home.CONVERTED:
        raise InputError(conversion_hint(known))
    if args.to is not None and args.to.exists() and (not args.to.is_dir() or any(args.to.iterdir())):
        raise InputError(f"to: {args.to} exists already; give a new folder.")
    if known and known.home is Home.PACKAGED:
        folder = packaged_folder(known)
        if args.to is not None:
            folder = Path(shutil.copytree(folder, args.to, dirs_exist_ok=True))
    else:
        from g2d2.priors.locating import fetch_from_hub

        repository = known.location if known else args.prior
        folder = fetch_from_hub(repository, revision=known.revision if known else None, to=args.to)
    shape = check_folder(folder, known)
    print(f"{folder}\n{shape}, {_megabytes(folder_bytes(folder))}, all files whole")
    return 0


def _configure_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a prior in diffusers' layout")
    parser.add_argument("--as", dest="known", choices=CATALOG, help="compare with what this prior's publisher states")
    parser.add_argument(
        "--run", dest="trial", action="store_true", help="ask it too what it says of tokens that are not masked"
    )


def _check(args: argparse.Namespace) -> int:
    """1 if the files are good and the network is not."""
    shape = check_folder(args.folder, CATALOG.get(args.known))
    from g2d2.priors.loading import load_prior
    from g2d2.priors.trial import try_prior

    prior = load_prior(
        local_path(args.folder, "prior").absolute()
    )  # only the networks themselves know which tensors they need
    print(f"{args.folder}: all files whole and fitting\n{shape}\ndigest {prior_digest(args.folder)}")
    if not args.trial:
        return 0
    trial = try_prior(prior)
    print(trial.warning or f"tokens that are not masked are kept with p = {trial.kept:.3f}")
    return 1 if trial.warning else 0


def _configure_convert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, help="the diffusion model's .pth or .pt file")
    parser.add_argument("--config", type=Path, required=True, metavar="YAML", help="its configuration")
    parser.add_argument("--vqvae", type=Path, metavar="CKPT", help="the VQGAN's file (default: inside the checkpoint)")
    parser.add_argument("--vqvae-config", type=Path, required=True, metavar="YAML", help="the VQGAN's configuration")
    parser.add_argument(
        "--text-encoder",
        default="openai/clip-vit-base-patch32",
        metavar="FOLDER_OR_ID",
        help="the CLIP model it was trained with (default: %(default)s)",
    )
    parser.add_argument("--weights", default="ema", choices=["ema", "model"], help="averaged or last (default: ema)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the new folder")


def _convert(args: argparse.Namespace) -> int:
    from g2d2.priors.conversion import Sources, convert

    sources = Sources(args.checkpoint, args.config, args.vqvae_config, args.vqvae, args.text_encoder, args.weights)
    folder = convert(sources, args.out)
    print(f"{folder}: {check_folder(folder)}\ndigest {prior_digest(folder)}")
    return 0


CONVERT_EXAMPLE = (
    "g2d2 prior convert clipvq_ffhq.pt --config ffhq_finetune.yaml --vqvae ffhq_vqgan_99epoch.ckpt "
    "--vqvae-config taming_f16_4096_ffhq.yaml --out cvqdiff-ffhq/"
)

# A further action, such as training one, is one line here.
ACTIONS = {
    "list": Action("show the priors known by name", "g2d2 prior list", _add_json, _list),
    "info": Action("tell all about one prior", "g2d2 prior info ithq", _configure_info, _info),
    "fetch": Action("download a prior once", "g2d2 prior fetch ithq --to priors/ithq", _configure_fetch, _fetch),
    "check": Action("check a folder's files", "g2d2 prior check priors/ithq --as ithq", _configure_check, _check),
    "convert": Action("convert an original checkpoint", CONVERT_EXAMPLE, _configure_convert, _convert),
    "train": Action(
        "train the embedded prior again", prior_training.EXAMPLE, prior_training.configure, prior_training.run
    ),
}
