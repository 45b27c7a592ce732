"""Skill folders, case files, run folders, the trial store. The only room that knows file layouts.

Each name is imported when it is asked for: a list of skills needs no trial store, and no schemas.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upskill.storage.cases import CaseFile, read_case_file, read_skill_cases, write_case_file
    from upskill.storage.engine_logs import clean_logs
    from upskill.storage.run_folders import evaluation_in, is_at_work, remove, runs_in, size_of
    from upskill.storage.run_glances import glance, past_runs
    from upskill.storage.runs import RunFolder, RunRecord, create_run, read_run, run_folder_at
    from upskill.storage.skills import copy_skill, find_skills, read_contents, read_skill, write_skill
    from upskill.storage.trial_log import collector_paused, emptied
    from upskill.storage.trial_store import AGE_LIMIT, TrialStore, default_store_path
    from upskill.storage.trial_store_file import StoredTrial
    from upskill.storage.whole_file import write_whole

_HOMES = {
    "AGE_LIMIT": "trial_store",
    "CaseFile": "cases",
    "RunFolder": "runs",
    "RunRecord": "runs",
    "StoredTrial": "trial_store_file",
    "TrialStore": "trial_store",
    "clean_logs": "engine_logs",
    "collector_paused": "trial_log",
    "copy_skill": "skills",
    "create_run": "runs",
    "default_store_path": "trial_store",
    "emptied": "trial_log",
    "find_skills": "skills",
    "glance": "run_glances",
    "evaluation_in": "run_folders",
    "is_at_work": "run_folders",
    "past_runs": "run_glances",
    "read_case_file": "cases",
    "read_contents": "skills",
    "read_run": "runs",
    "read_skill": "skills",
    "read_skill_cases": "cases",
    "remove": "run_folders",
    "run_folder_at": "runs",
    "runs_in": "run_folders",
    "size_of": "run_folders",
    "write_case_file": "cases",
    "write_skill": "skills",
    "write_whole": "whole_file",
}

__all__ = [
    "AGE_LIMIT",
    "CaseFile",
    "RunFolder",
    "RunRecord",
    "StoredTrial",
    "TrialStore",
    "clean_logs",
    "collector_paused",
    "copy_skill",
    "create_run",
    "default_store_path",
    "emptied",
    "evaluation_in",
    "find_skills",
    "glance",
    "is_at_work",
    "past_runs",
    "read_case_file",
    "read_contents",
    "read_run",
    "read_skill",
    "read_skill_cases",
    "remove",
    "run_folder_at",
    "runs_in",
    "size_of",
    "write_case_file",
    "write_skill",
    "write_whole",
]


def __getattr__(name: str) -> object:
    """Where a name lives, imported now."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
