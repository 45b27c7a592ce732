"""Skill folders, case files, run folders, the trial store. The only room that knows file layouts.

Each name is imported when it is asked for: a list of skills needs no trial store, and no schemas.
"""

from typing import TYPE_CHECKING

from upskill.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from upskill.storage.cases import CaseFile, read_case_file, read_skill_cases, write_case_file
    from upskill.storage.engine_logs import clean_logs
    from upskill.storage.git_version import GIT_PREFIX, GitVersion, NotInCommit, open_git_version
    from upskill.storage.look_ledger import LookLedger, default_ledger_path
    from upskill.storage.plain_files import require_plain_folder
    from upskill.storage.run_folders import evaluation_in, is_at_work, only_one_in, remove, runs_in, size_of
    from upskill.storage.run_summaries import measured_with, past_runs
    from upskill.storage.runs import RunFolder, RunRecord, create_run, read_run, run_folder_at
    from upskill.storage.skills import copy_skill, find_skills, read_contents, read_skill, write_skill
    from upskill.storage.sqlite_store import SqliteStore
    from upskill.storage.trial_log import collector_paused, emptied
    from upskill.storage.trial_store import StoredTrial, TrialStore, default_store_path
    from upskill.storage.triggers import TriggerFile, read_skill_triggers, read_trigger_file, write_trigger_file
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "cases": ("CaseFile", "read_case_file", "read_skill_cases", "write_case_file"),
            "engine_logs": ("clean_logs",),
            "git_version": ("GIT_PREFIX", "GitVersion", "NotInCommit", "open_git_version"),
            "look_ledger": ("LookLedger", "default_ledger_path"),
            "plain_files": ("require_plain_folder",),
            "run_folders": ("evaluation_in", "is_at_work", "only_one_in", "remove", "runs_in", "size_of"),
            "run_summaries": ("measured_with", "past_runs"),
            "runs": ("RunFolder", "RunRecord", "create_run", "read_run", "run_folder_at"),
            "skills": ("copy_skill", "find_skills", "read_contents", "read_skill", "write_skill"),
            "sqlite_store": ("SqliteStore",),
            "trial_log": ("collector_paused", "emptied"),
            "trial_store": ("StoredTrial", "TrialStore", "default_store_path"),
            "triggers": ("TriggerFile", "read_skill_triggers", "read_trigger_file", "write_trigger_file"),
        },
    )

__all__ = [
    "GIT_PREFIX",
    "CaseFile",
    "GitVersion",
    "LookLedger",
    "NotInCommit",
    "RunFolder",
    "RunRecord",
    "SqliteStore",
    "StoredTrial",
    "TrialStore",
    "TriggerFile",
    "clean_logs",
    "collector_paused",
    "copy_skill",
    "create_run",
    "default_ledger_path",
    "default_store_path",
    "emptied",
    "evaluation_in",
    "find_skills",
    "is_at_work",
    "measured_with",
    "only_one_in",
    "open_git_version",
    "past_runs",
    "read_case_file",
    "read_contents",
    "read_run",
    "read_skill",
    "read_skill_cases",
    "read_skill_triggers",
    "read_trigger_file",
    "remove",
    "require_plain_folder",
    "run_folder_at",
    "runs_in",
    "size_of",
    "write_case_file",
    "write_skill",
    "write_trigger_file",
]
