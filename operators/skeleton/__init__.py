"""Human motion as joints and as the 263 features of HumanML3D."""

from operators.skeleton.joint_names import FEATURES, FPS, JOINTS, LONGEST
from operators.skeleton.motion_features import features_from_joints, joints_from_features
from operators.skeleton.normalisation import MotionNormalisation
from operators.skeleton.placing import on_reference_body, placed

__all__ = [
    "FEATURES",
    "FPS",
    "JOINTS",
    "LONGEST",
    "MotionNormalisation",
    "features_from_joints",
    "joints_from_features",
    "on_reference_body",
    "placed",
]
