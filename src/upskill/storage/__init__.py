"""Skill folders, case files, run folders. The only room that knows file layouts."""

from upskill.storage.cases import CaseFile, read_case_file, read_skill_cases, write_case_file
from upskill.storage.runs import RunFolder, RunRecord, create_run, read_run, runs_in
from upskill.storage.skills import copy_skill, find_skills, read_skill, write_skill

__all__ = [
    "CaseFile",
    "RunFolder",
    "RunRecord",
    "copy_skill",
    "create_run",
    "find_skills",
    "read_case_file",
    "read_run",
    "read_skill",
    "read_skill_cases",
    "runs_in",
    "write_case_file",
    "write_skill",
]
