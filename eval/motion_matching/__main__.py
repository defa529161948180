"""`python -m eval.motion_matching`: train a matching network on captured clips, or measure one, on people held out."""

import argparse
import sys
from pathlib import Path

from eval.motion_matching.matching_recipe import MatchingRecipe
from eval.motion_matching.matching_training import measure_matching, train_matching
from operators.errors import InputError
from operators.validation import validate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m eval.motion_matching", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Parquet file of joints, or its folder")
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--out", type=Path, help="folder of checkpoint, curve and the exported network")
    choice.add_argument("--measure", type=Path, metavar="FOLDER", help="measure this exported network and train none")
    parser.add_argument("--seed", type=int, default=0, help="decides weights, batches and dropped words (default: 0)")
    parser.add_argument("--threads", type=int, help="torch threads on CPU")
    args = vars(parser.parse_args())
    try:
        if folder := args.pop("measure"):
            measure_matching(folder, args["data"])
            return 0
        train_matching(validate(MatchingRecipe, args, where="recipe").with_clock("processor"))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
