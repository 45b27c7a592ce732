"""Pictures of a result. What they show is worked out here; drawing them is left to another process.

The pictures library takes two seconds to load and runs a JavaScript engine. It is loaded by that process only, so no
command pays for it that draws nothing, and whatever it does to itself, the result is safe.
"""

from upskill.reporting.pictures.drawer import Drawer, asked_pictures
from upskill.reporting.pictures.picture import DrawnPicture, Picture, PictureFailed

__all__ = [
    "Drawer",
    "DrawnPicture",
    "Picture",
    "PictureFailed",
    "asked_pictures",
]
