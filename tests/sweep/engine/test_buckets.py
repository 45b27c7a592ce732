"""A sweep in a bucket, over HTTP: written once by whoever comes first, and nothing is lost where a worker dies."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from on_engine import Make
from s3_servers import KEY, SECRET, moto, radosgw
from sweep.engine.attempted import CASES, assert_nothing_was_lost, disturbed
from upskill.errors import EngineError
from upskill.sweep.objects import open_objects

pytestmark = pytest.mark.full


@pytest.fixture(scope="module", params=[moto, radosgw], ids=["moto", "radosgw"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> object:
    with request.param(tmp_path_factory.mktemp("s3")) as url:
        yield url


@pytest.fixture
def place(url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A place in a new bucket."""
    import s3fs  # type: ignore[import-untyped]

    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"b{abs(hash(request.node.name)):x}"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(bucket)
    return f"s3://{bucket}/sweeps/one"


def test_an_object_is_created_once_by_whoever_comes_first(place: str, tmp_path: Path) -> None:
    objects, others = open_objects(place), open_objects(place)
    objects.require_written_once()
    for number in range(10):
        name = f"results/{number}.json"
        with ThreadPoolExecutor(8) as pool:
            wrote = list(pool.map(lambda n, name=name: (objects, others)[n % 2].create(name, b"%d" % n), range(8)))
        assert wrote.count(True) == 1
        assert objects.read(name) == b"%d" % wrote.index(True)
    assert objects.names("results") == [f"results/{number}.json" for number in range(10)]
    assert objects.names("attempts") == []
    assert objects.folders("attempts") == []
    assert objects.read("missing") is None
    (tmp_path / "file").write_bytes(b"x" * 12_000_000)
    objects.upload("attempts/a/b/large", tmp_path / "file")
    objects.replace("attempts/a/small", b"")
    assert objects.names("attempts") == ["attempts/a/b/large", "attempts/a/small"]
    assert objects.folders("attempts") == ["a"]
    sizes = {name: len(data) for name, data in objects.read_all(["attempts/a/b/large", "missing", "attempts/a/small"])}
    assert sizes == {"attempts/a/b/large": 12_000_000, "attempts/a/small": 0}
    for name in ("attempts/a/b/large", "missing"):
        objects.remove(name)
    assert objects.names("attempts") == ["attempts/a/small"]


def test_a_bucket_that_is_not_there_is_one_clear_line(place: str) -> None:
    with pytest.raises(EngineError, match=r"no-such-bucket/x/results/a: .*there is no such bucket") as caught:
        open_objects("s3://no-such-bucket/x").create("results/a", b"x")
    assert caught.value.message.isprintable()


def test_kill_9_three_times_in_a_bucket_loses_nothing(place: str, tmp_path: Path, skill: Make) -> None:
    skill(CASES)
    context = multiprocessing.get_context("spawn")
    sweep, wanted, end, again = disturbed(tmp_path, place, runs="auto", context=context)
    assert_nothing_was_lost(sweep, wanted, end, again)
    assert not sweep.place.exists()
