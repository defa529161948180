"""Pictures of a clip for people: a film strip of stick figures, the path seen from above, and an animation."""

import io
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from torch import Tensor

from operators.skeleton.joint_names import CHAINS, FPS

Points = NDArray[np.float64]

COLOURS = ("#c0392b", "#2471a3", "#333333", "#e67e22", "#16a085")
"""Right leg, left leg, spine, right arm, left arm."""
PATH, KEY, FLOOR, PAPER = "#7f8c8d", "#8e44ad", "#dddddd", "white"
_TALL = 2.0
"""Metres that a figure's height in pixels stands for; arms above the head need more than a body's height."""
_VIEW = math.radians(35)
"""Figures are seen from the right of where a clip first faces, and a little from the front."""
_OVERSAMPLING = 2


def as_points(joints: Tensor) -> Points:
    """Joints (F, J, 3) as numbers that can be drawn: what is not finite lies at the origin."""
    points: Points = np.nan_to_num(joints.detach().double().cpu().numpy(), posinf=0.0, neginf=0.0)
    return points.clip(-1e3, 1e3)


def film_strip(joints: Tensor, width: int = 256, height: int = 88, figures: int = 8) -> Image.Image:
    """Evenly chosen frames from left to right, each around its own root."""
    points, scale = as_points(joints), _OVERSAMPLING
    picture = Image.new("RGB", (width * scale, height * scale), PAPER)
    draw, across = ImageDraw.Draw(picture), width * scale / (figures + 0.5)
    pixels = min((height - 10) * scale / _TALL, 1.2 * across)  # of a metre
    ground = (height - 6) * scale
    draw.line([(0, ground), (width * scale, ground)], fill=FLOOR, width=scale)
    for place, frame in enumerate(np.linspace(0, len(points) - 1, figures).round().astype(int)):
        body = points[frame] - points[frame, 0] * np.array([1.0, 0.0, 1.0])
        _figure(draw, body, ((place + 0.6) * across, ground), pixels, scale)
    return picture.resize((width, height), Image.Resampling.LANCZOS)


def top_view(path: Points, keys: Points, width: int = 256, height: int = 160) -> Image.Image:
    """A path (F, 2) of x and z from above, its start a ring, with key points (K, 2) as crosses.

    z runs up and x, the left of a body that faces +z, to the left: a turn to the left looks like one.
    """
    scale = _OVERSAMPLING
    picture = Image.new("RGB", (width * scale, height * scale), PAPER)
    draw = ImageDraw.Draw(picture)
    place = _fitted(np.concatenate([path, keys]), width * scale, height * scale)
    for metre in range(-50, 51):  # a grid of metres
        for line in (((metre, -50), (metre, 50)), ((-50, metre), (50, metre))):
            draw.line([place(point) for point in line], fill="#f0f0f0", width=1)
    if len(path) > 1:
        draw.line([place(point) for point in path], fill=PATH, width=2 * scale)
        for point in path[::FPS]:
            _dot(draw, place(point), 2 * scale, PATH)
    if len(path):
        x, y = place(path[0])
        draw.ellipse([x - 4 * scale, y - 4 * scale, x + 4 * scale, y + 4 * scale], outline="black", width=scale)
    for key in keys:
        x, y = place(key)
        for side in (-1, 1):
            arm = 4 * scale
            draw.line([(x - arm, y - side * arm), (x + arm, y + side * arm)], fill=KEY, width=2 * scale)
    return picture.resize((width, height), Image.Resampling.LANCZOS)


def overview(joints: Tensor, keys: Points | None = None, width: int = 256, figures: int = 8) -> Image.Image:
    """The film strip above the root's path, with key points where they are given."""
    strip = film_strip(joints, width, round(width * 0.34), figures)
    none = np.zeros((0, 2))
    above = top_view(as_points(joints)[:, 0, 0::2], none if keys is None else keys, width, round(width * 0.62))
    picture = Image.new("RGB", (width, strip.height + above.height), PAPER)
    picture.paste(strip, (0, 0))
    picture.paste(above, (0, strip.height))
    return picture


def animation(joints: Tensor, keys: Points | None = None, side: int = 240) -> bytes:
    """A GIF of all frames: the body from the side, its path and its key points on the floor."""
    points = as_points(joints)
    spots = np.zeros((0, 3)) if keys is None else np.insert(keys, 1, 0.0, axis=1)
    reach = max(2.2, 1.1 * float(np.ptp(points[:, 0, 0::2], axis=0).max(initial=0)) + 1.2)
    middle = (points[:, 0].max(axis=0) + points[:, 0].min(axis=0)) / 2 * np.array([1.0, 0.0, 1.0])
    pixels = side / reach
    base = (side / 2, side * 0.72)
    frames = []
    for number, body in enumerate(points):
        picture = Image.new("RGB", (side, side), PAPER)
        draw = ImageDraw.Draw(picture)
        trail = [_seen(point * np.array([1.0, 0.0, 1.0]) - middle, base, pixels) for point in points[: number + 1, 0]]
        if len(trail) > 1:
            draw.line(trail, fill=PATH, width=1)
        for spot in spots:
            _dot(draw, _seen(spot - middle, base, pixels), 3, KEY)
        _figure(draw, body - middle, base, pixels, 1)
        frames.append(picture.quantize(32))
    buffer = io.BytesIO()
    frames[0].save(
        buffer, "GIF", save_all=True, append_images=frames[1:], duration=round(1000 / FPS), loop=0, disposal=1
    )
    return buffer.getvalue()


def _figure(draw: ImageDraw.ImageDraw, body: Points, base: tuple[float, float], pixels: float, scale: int) -> None:
    for chain, colour in zip(CHAINS, COLOURS, strict=True):
        draw.line([_seen(body[joint], base, pixels) for joint in chain], fill=colour, width=2 * scale)
    x, y = _seen(body[CHAINS[2][-1]], base, pixels)
    radius = max(2.0, 0.09 * pixels)
    draw.ellipse([x - radius, y - radius, x + radius, y + radius], outline=COLOURS[2], width=scale)


def _seen(point: Points, base: tuple[float, float], pixels: float) -> tuple[float, float]:
    """A point of the room on the picture; what is farther from the viewer stands a little higher."""
    x, y, z = point
    sideways, away = math.sin(_VIEW) * x + math.cos(_VIEW) * z, math.cos(_VIEW) * x - math.sin(_VIEW) * z
    return base[0] + pixels * sideways, base[1] - pixels * (y + 0.25 * away)


def _fitted(points: Points, width: int, height: int) -> Callable[[Sequence[float] | Points], tuple[float, float]]:
    """From x, z in metres to pixels, so that all points are seen, with at least three metres across."""
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.zeros(2))
    middle, extent = (low + high) / 2, np.maximum(high - low, 3.0) * 1.15
    pixels = min(width / extent[0], height / extent[1])

    def place(point: Sequence[float] | Points) -> tuple[float, float]:
        return width / 2 - pixels * (point[0] - middle[0]), height / 2 - pixels * (point[1] - middle[1])

    return place


def _dot(draw: ImageDraw.ImageDraw, centre: tuple[float, float], radius: float, colour: str) -> None:
    x, y = centre
    draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour)
