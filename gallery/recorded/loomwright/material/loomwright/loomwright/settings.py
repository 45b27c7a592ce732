"""Reads the settings file, `heddle.set`."""

import configparser
import os
from dataclasses import dataclass
from pathlib import Path

from .errors import Snag

CHOICES = {"caption": ("above", "below", "none"), "tension": ("taut", "slack")}


@dataclass
class Settings:
    """The settings with their defaults."""

    bobbins: Path = Path("bobbins")
    selvage: int = 5
    caption: str = "below"
    tension: str = "taut"
    crease: str = "~ ~ ~"


def load(named=None):
    """Load settings from --heddle, else LW_SHED, else ./heddle.set, else defaults."""
    named = named or os.environ.get("LW_SHED")
    path = Path(named or "heddle.set")
    if not path.is_file():
        if named:
            raise Snag("LW67", named)
        return Settings()
    style = {"delimiters": ("->",), "comment_prefixes": (";;",), "interpolation": None}
    reader = configparser.ConfigParser(**style)
    try:
        reader.read_string(path.read_text("utf-8"))
    except configparser.Error as error:
        raise Snag("LW61", path.name) from error
    if reader.sections() != ["beam"]:
        raise Snag("LW61", path.name)
    settings = Settings(bobbins=path.parent / "bobbins")
    for key, value in reader["beam"].items():
        if key not in vars(settings):
            raise Snag("LW63", key)
        good = value in CHOICES.get(key, (value,)) and value != ""
        if key == "bobbins":
            value = path.parent / value
        elif key == "selvage":
            good = value.isdecimal() and int(value) <= 16
            value = int(value) if good else value
        if not good:
            raise Snag("LW65", f"{key} -> {value}")
        setattr(settings, key, value)
    return settings
