"""The colours of our pictures and pages. One colour per meaning, so that dark ones can take their place by name."""

LIGHT = {
    "ink": "#1f2328",
    "muted": "#59636f",
    "grid": "#d1d9e0",
    "paper": "#ffffff",
    "plain": "#24508c",
    "good": "#0b63c4",
    "bad": "#b04a00",
    "unsure": "#6e7782",
    "mark": "#3d444d",
}
"""Good is blue and bad is orange, which everybody can tell apart. All but grid can be read on paper: 4.5 to 1."""
DARK = {
    "ink": "#e8edf2",
    "muted": "#a3adb8",
    "grid": "#3a424c",
    "paper": "#10151b",
    "plain": "#a5c8f5",
    "good": "#62a8ff",
    "bad": "#ffa04d",
    "unsure": "#9aa4af",
    "mark": "#c9d1d9",
}

VERDICT_COLOURS = {"helps": "good", "cheaper": "good", "hurts": "bad"}
"""Everything else is unsure."""


def verdict_colour(verdict: str | None) -> str:
    """The meaning of a verdict's colour."""
    return VERDICT_COLOURS.get(verdict or "", "unsure")
