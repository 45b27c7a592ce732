"""Jobs and their results as JSON. What a job says that this version does not know is refused, never ignored."""

from pydantic import TypeAdapter, ValidationError

from upskill.domain.job import Job, JobResult
from upskill.domain.text import on_one_line
from upskill.errors import UsageError

_JOB = TypeAdapter(Job)
_RESULT = TypeAdapter(JobResult)


def job_text(job: Job) -> str:
    """A job as it travels."""
    return _JOB.dump_json(job, indent=2).decode() + "\n"


def job_from_text(text: str) -> Job:
    """The job in a text. Raises `UsageError` with everything that is wrong with it."""
    try:
        return _JOB.validate_json(text, strict=True)
    except ValidationError as error:
        problems = [
            on_one_line(f"{'.'.join(map(str, one['loc'])) or 'job'}: {one['msg']}")
            for one in error.errors(include_url=False)
        ]
        raise UsageError("the job cannot be read", problems=problems) from None


def result_text(result: JobResult) -> str:
    """A result as it travels."""
    return _RESULT.dump_json(result, indent=2).decode() + "\n"


def result_from_text(text: str) -> JobResult:
    """The result in a text that `result_text` made."""
    return _RESULT.validate_json(text)
