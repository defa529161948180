"""`g2d2 site`: several sweeps and nights as a folder of static pages."""

import argparse
import json

from operators.plurals import counted
from pipelines.site import build_site

EXAMPLE = "g2d2 site out/eta out/gamma --nights out/nightly --out site/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sweeps", nargs="*", metavar="SWEEP", help="folders or s3:// URLs of sweeps, or of nightly evaluations"
    )
    parser.add_argument("--out", required=True, metavar="URL", help="folder or s3:// URL for the pages")
    parser.add_argument("--nights", nargs="+", default=[], metavar="URL", help="outputs of nightly evaluations")
    parser.add_argument(
        "--baseline", metavar="NAME", help="the sweep, or the arm as shown, to hold others against (default: the first)"
    )
    parser.add_argument("--last", type=int, default=30, metavar="N", help="nights shown of each (default: 30)")
    parser.add_argument("--name", default="Sweeps", help="what the index is called (default: Sweeps)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 everything is whole, 1 some sweep is not and the site says so, 2 there is no site."""
    site = build_site(args.sweeps, args.out, nights=args.nights, baseline=args.baseline, last=args.last, name=args.name)
    files = site.files
    if args.json:
        sweeps = [{"name": one.name, "url": one.url, "page": one.page, "problem": one.sentence} for one in site.sweeps]
        nights = [
            {"name": one.name, "url": one.url, "pages": one.pages, "problem": one.sentence} for one in site.nights
        ]
        changes = {"written": files.written, "unchanged": files.unchanged, "removed": files.removed}
        print(json.dumps({"index": site.index, "sweeps": sweeps, "nights": nights, **changes}))
    else:
        for sentence in site.sentences:
            print(f"warning: {sentence}")
        print(site.index)
        pages = f"{counted(len(files.written), 'page')} written, {len(files.unchanged)} unchanged"
        print(f"{pages}, {len(files.removed)} removed" if files.removed else pages)
    return 1 if site.sentences else 0
