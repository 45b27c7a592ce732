"""Pictures of a result. What they show is worked out here; drawing them is left to another process.

The pictures library, the extra `plots`, takes two seconds to load and runs a JavaScript engine. It is loaded by that
process only, which sees no key.
"""

from upskill.reporting.pictures.drawer import asked_pictures, draw
from upskill.reporting.pictures.picture import DrawnPicture, Picture, PictureFailed

__all__ = [
    "DrawnPicture",
    "Picture",
    "PictureFailed",
    "asked_pictures",
    "draw",
]
