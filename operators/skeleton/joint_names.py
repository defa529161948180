"""The skeleton of HumanML3D: 22 joints of SMPL at 20 frames a second, and where its 263 features lie."""

FPS = 20
LONGEST = 196
"""Frames of the longest clip that the published priors know."""

JOINTS = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle",
    "spine3", "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder",
    "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
CHAINS = ((0, 2, 5, 8, 11), (0, 1, 4, 7, 10), (0, 3, 6, 9, 12, 15), (9, 14, 17, 19, 21), (9, 13, 16, 18, 20))
"""Right leg, left leg, spine, right arm, left arm."""
FEET = (7, 10, 8, 11)
"""Left ankle, left toe, right ankle, right toe: the order of the contacts."""
TOES = (10, 11)

YAW_SPEED = slice(0, 1)
"""Half the angle per frame by which the root turns."""
ROOT_SPEED = slice(1, 3)
"""Metres per frame along x and z, seen from the root."""
ROOT_HEIGHT = slice(3, 4)
POSITIONS = slice(4, 67)
"""21 joints relative to the root's place on the floor, in its facing frame."""
ROTATIONS = slice(67, 193)
"""21 joints, two columns of a rotation matrix each."""
VELOCITIES = slice(193, 259)
"""22 joints in metres per frame, in the facing frame."""
CONTACTS = slice(259, 263)
FEATURES = 263
