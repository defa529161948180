"""`g2d2 prior`: which priors there are, where they live, and how to get, check and convert them."""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from g2d2.priors.catalog import CATALOG, Home, KnownPrior, conversion_hint, packaged_folder
from g2d2.priors.families import find_family, recognise
from g2d2.priors.hub import cached_folder, fetch_from_hub
from g2d2.priors.locating import LocatedPrior, is_hub_id, locate_prior
from g2d2.priors.own_priors import is_own
from g2d2.priors.sized_sources import split_size
from operators.errors import InputError
from operators.local_paths import local_path
from operators.validation import did_you_mean
from pipelines.commands import prior_conversion, prior_training
from pipelines.console.actions import Action, add_actions
from pipelines.console.text_table import text_table

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
    columns = ("name", "family", "home", "installed", "size", "shape", "licence", "digest")
    print(text_table([[_cell(row[column]) for column in columns] for row in rows], columns))
    print(
        "\n`g2d2 prior info NAME` prints more; any folder or hub id of one of these families is a prior too, and so is "
        "module:Thing of your own."
    )
    return 0


def _row(known: KnownPrior) -> dict[str, Any]:
    """Digests of packaged priors are computed; hashing gigabytes is left to `info`."""
    located = _installed(known)
    packaged = located is not None and known.home is Home.PACKAGED
    return {
        "name": known.name,
        "family": known.family,
        "home": str(known.home),
        "location": known.location,
        "installed": located is not None,
        "size": known.size,
        "shape": known.shape,
        "licence": known.licence.partition(" (")[0],
        "digest": located.digest()[:12] if packaged and located else known.digest,
    }


def _cell(value: Any) -> str:
    return {True: "yes", False: "no", None: "-"}.get(value, str(value))


def _installed(known: KnownPrior) -> LocatedPrior | None:
    """The prior, if this machine has it already."""
    family = find_family(known.family)
    if known.home is Home.HUB:
        folder = cached_folder(known.location, family=family, revision=known.revision)
    else:
        folder = known.folder
    return None if folder is None else LocatedPrior(known.name, family, folder)


def _configure_info(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prior", metavar="NAME_OR_FOLDER", help="known name, folder, hub id or module:Thing")
    _add_json(parser)


def _info(args: argparse.Namespace) -> int:
    known = CATALOG.get(args.prior)
    located = _installed(known) if known else _given(args.prior)
    facts: dict[str, Any] = {"name": args.prior}
    if known:
        facts |= {
            "home": f"{known.home}: {known.location}",
            "revision": known.revision,
            "licence": known.licence,
            "expected size": known.size,
            "expected shape": known.shape,
            "notes": known.notes,
            "citation": known.citation,
        }
    if located is not None:
        facts |= _of_files(located)
    elif known:
        digest = known.digest or f"unknown: {known.digest_reason}"
        facts |= {"family": known.family, "folder": "not installed", "digest": digest}
    facts = {key: value for key, value in facts.items() if value is not None}
    if args.json:
        print(json.dumps({key.replace(" ", "_"): value for key, value in facts.items()}, indent=1))
    else:
        print(text_table([[key, str(value)] for key, value in facts.items()]))
    return 0


def _of_files(located: LocatedPrior) -> dict[str, Any]:
    """What a prior's own files, or its class, say of it."""
    facts: dict[str, Any] = {"family": located.family.name}
    if located.folder is not None:
        facts |= {"folder": str(located.folder), "size": _megabytes(located.size())}
    return facts | located.describe() | {"digest": located.digest()}


def _given(text: str) -> LocatedPrior:
    source, size = split_size(text)
    if local_path(text, "prior").is_dir() or is_own(source):
        return locate_prior(text)
    if size is not None:
        return locate_prior(text, download=False)
    if is_hub_id(text) and (folder := cached_folder(text)) is not None:
        return LocatedPrior(text, recognise(folder), folder)
    raise InputError(
        f"prior: {text!r}{did_you_mean(text, CATALOG)} is neither a folder here, a known name "
        f"({', '.join(CATALOG)}), module:Thing of your own nor a hub id in the local cache."
    )


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
    family = find_family(known.family) if known else None
    if known and known.home is Home.PACKAGED:
        folder = packaged_folder(known)
        if args.to is not None:
            folder = Path(shutil.copytree(folder, args.to, dirs_exist_ok=True))
    else:
        repository = known.location if known else args.prior
        revision = known.revision if known else None
        family, folder = fetch_from_hub(repository, family=family, revision=revision, to=args.to)
    located = LocatedPrior(args.prior, family or recognise(folder), folder)
    shape = located.check(known)
    print(f"{folder}\n{shape}, {_megabytes(located.size())}, all files whole")
    return 0


def _configure_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a prior, or module:Thing of your own")
    parser.add_argument("--as", dest="known", choices=CATALOG, help="compare with what this prior's publisher states")
    parser.add_argument("--run", dest="trial", action="store_true", help="ask its network too what is known beforehand")


def _check(args: argparse.Namespace) -> int:
    """1 if the files are good and the network is not."""
    folder = local_path(args.folder, "prior").absolute()
    if not is_own(args.folder) or folder.is_dir():
        located = LocatedPrior(args.folder, recognise(folder), folder)
    else:
        located = locate_prior(args.folder)
    shape = located.check(CATALOG.get(args.known))
    prior = located.load()  # only the networks themselves know which tensors they need
    print(f"{args.folder}: all files whole and fitting\n{shape}\ndigest {located.digest()}")
    if not args.trial:
        return 0
    from g2d2.priors.trial import try_prior

    trial = try_prior(prior)
    print(trial.warning or trial.words)
    return 1 if trial.warning else 0


# A further action, such as training one, is one line here.
ACTIONS = {
    "list": Action("show the priors known by name", "g2d2 prior list", _add_json, _list),
    "info": Action("show all about one prior", "g2d2 prior info ithq", _configure_info, _info),
    "fetch": Action("download a prior once", "g2d2 prior fetch ithq --to priors/ithq", _configure_fetch, _fetch),
    "check": Action("check a folder's files", "g2d2 prior check priors/ithq --as ithq", _configure_check, _check),
    "convert": Action(
        "convert an original checkpoint", prior_conversion.EXAMPLE, prior_conversion.configure, prior_conversion.run
    ),
    "train": Action(
        "train a small prior of a family", prior_training.EXAMPLE, prior_training.configure, prior_training.run
    ),
}
