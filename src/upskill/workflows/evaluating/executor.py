"""Executors run jobs, here or elsewhere. They know nothing of what a job measures."""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

from upskill.domain.job import Job, JobError, JobResult
from upskill.errors import EXIT_FAILED
from upskill.storage.records import job_text, result_from_text
from upskill.workflows.evaluating.job import run_job


class Executor(Protocol):
    """Runs jobs and hands out one result for each, in any order; `JobResult.run` says whose it is.

    It may run a job twice, one after the other and never at the same time: a job resumes its run, so nothing that was
    scored is bought again. It owns what a worker's death means; errors of a job itself are in its result.
    """

    def run(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """The results, each as soon as it is there. Jobs are taken from `jobs` as workers become free."""
        ...


class InProcess:
    """Runs one job after the other in this process."""

    def __init__(self, *, root: Path) -> None:
        self._root = root.resolve()

    def run(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """The results in the order of the jobs."""
        for job in jobs:
            yield result_from_text(run_job(job_text(job), root=str(self._root)))


class ProcessPool:
    """Runs jobs in spawned processes of this machine, each of which runs many: to start one takes seconds.

    A worker that dies takes its siblings with it. The jobs that were under way then run again, each alone, so that
    one which kills its worker again cannot take another with it: it comes back as a `WorkerLost`.
    """

    def __init__(self, *, root: Path, workers: int) -> None:
        self._root = root.resolve()
        self._workers = workers

    def run(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """The results in the order in which the jobs end."""
        waiting = iter(jobs)
        while suspects := (yield from self._run_until_a_worker_dies(waiting, workers=self._workers)):
            for job in suspects:
                if (yield from self._run_until_a_worker_dies(iter((job,)), workers=1)):
                    lost = JobError(kind="WorkerLost", message="the process that ran the job died twice")
                    yield JobResult(run=job.run, exit_code=EXIT_FAILED, error=lost)

    def _run_until_a_worker_dies(
        self, waiting: Iterator[Job], *, workers: int
    ) -> Generator[JobResult, None, list[Job]]:
        """Yields results; returns the jobs that were under way when a worker died, none where all have ended."""
        running: dict[Future[str], Job] = {}
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        try:
            while True:
                while len(running) < workers and (job := next(waiting, None)) is not None:
                    try:
                        running[pool.submit(run_job, job_text(job), root=str(self._root))] = job
                    except BrokenProcessPool:  # a worker died while it had nothing to do
                        return [*running.values(), job]
                if not running:
                    return []
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    result = result_from_text(future.result())
                    del running[future]
                    yield result
        except BrokenProcessPool:
            return list(running.values())
        finally:
            pool.shutdown(cancel_futures=True)
