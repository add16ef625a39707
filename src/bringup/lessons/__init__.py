"""What runs leave behind for others: files of a knowledge base, and conversations with rewards."""

from bringup.lessons.distilling import Lesson, Skipped, Written, as_data, distil, write
from bringup.lessons.trajectories import (
    REWARDS,
    SCHEMA,
    Exported,
    Form,
    Message,
    Step,
    Trajectory,
    export,
    line_of,
    trajectories,
)

__all__ = [
    "REWARDS",
    "SCHEMA",
    "Exported",
    "Form",
    "Lesson",
    "Message",
    "Skipped",
    "Step",
    "Trajectory",
    "Written",
    "as_data",
    "distil",
    "export",
    "line_of",
    "trajectories",
    "write",
]
