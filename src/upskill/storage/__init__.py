"""Skill folders, case files, run folders, the trial store. The only room that knows file layouts."""

from upskill.storage.cases import CaseFile, read_case_file, read_skill_cases, write_case_file
from upskill.storage.engine_logs import clean_logs
from upskill.storage.runs import RunFolder, RunRecord, create_run, read_run, run_folder_at, runs_in
from upskill.storage.skills import copy_skill, find_skills, read_contents, read_skill, write_skill
from upskill.storage.trial_log import collector_paused, emptied
from upskill.storage.trial_store import AGE_LIMIT, TrialStore, default_store_path
from upskill.storage.trial_store_file import StoredTrial
from upskill.storage.whole_file import write_whole

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
    "find_skills",
    "read_case_file",
    "read_contents",
    "read_run",
    "read_skill",
    "read_skill_cases",
    "run_folder_at",
    "runs_in",
    "write_case_file",
    "write_skill",
    "write_whole",
]
