"""The ImageNet files the paper used, with their class names, as a CSV that `g2d2 manifest build` reads.

python examples/paper/imagenet_csv.py imagenet_val_1k.txt LOC_synset_mapping.txt VAL_FOLDER imagenet.csv

The first file has a line `ILSVRC2012_val_00000293.JPEG 0` per picture: name and class, 0 to 999. The second names the
classes, a line each in the order of their numbers: `n01440764 tench, Tinca tinca`. README.md says where both are.
"""

import csv
import sys
from pathlib import Path


def class_names(mapping: Path) -> list[str]:
    """All names of a class, as in the paper's "a photo of guenon, guenon monkey"."""
    lines = [line for line in mapping.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [line.split(maxsplit=1)[1].strip() for line in lines]


def chosen(listing: Path) -> list[tuple[str, int]]:
    """File names and classes, in the list's order."""
    lines = [line.split() for line in listing.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [(name, int(number)) for name, number in lines]


def find(folder: Path, name: str) -> Path:
    """In the folder itself, or in a folder per class below it."""
    if (folder / name).is_file():
        return folder / name
    found = next(folder.glob(f"*/{name}"), None)
    if found is None:
        sys.exit(f"{folder}: {name} is neither in it nor in a folder below it")
    return found


def main(listing: Path, mapping: Path, folder: Path, out: Path) -> None:
    names = class_names(mapping)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image_path", "id", "label"])
        for name, number in chosen(listing):
            writer.writerow([find(folder, name).resolve(), f"{number:04d}-{Path(name).stem}", names[number]])


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:]))
