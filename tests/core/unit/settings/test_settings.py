"""Settings: which value wins, where it came from, and what is said about a wrong one."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from upskill.core.settings import NAMES, NOT_SETTINGS, TRUST_VARIABLE, ResolvedSettings, Settings, resolve_settings
from upskill.errors import SettingsError
from upskill.sandbox.container import IMAGE_VARIABLE


class Place:
    """A user's folder and a project's folder, with files in them."""

    def __init__(self, root: Path) -> None:
        self.user = root / "user"
        self.project = root / "project"
        self.user.mkdir()
        self.project.mkdir()
        (self.project / ".git").mkdir()

    def write(self, folder: Path, text: str, *, name: str = "upskill.toml") -> Path:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def resolve(
        self, flags: Mapping[str, object] | None = None, environment: Mapping[str, str] | None = None, within: str = "."
    ) -> ResolvedSettings:
        folder = self.project / within
        return resolve_settings(flags, environment=environment or {}, folder=folder, user_folder=self.user)

    def refusal(
        self, flags: Mapping[str, object] | None = None, environment: Mapping[str, str] | None = None
    ) -> SettingsError:
        with pytest.raises(SettingsError) as caught:
            self.resolve(flags, environment)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# Who wins


def test_nothing_set_gives_the_defaults_and_says_so(place: Place) -> None:
    resolved = place.resolve()
    assert resolved.values == Settings()
    assert resolved.origins == dict.fromkeys(NAMES, "default")


def test_each_place_beats_the_one_below_it(place: Place) -> None:
    expected: list[tuple[int, str]] = [(8, "default")]
    found = [place.resolve()]

    user = place.write(place.user, "concurrency = 2")
    found.append(place.resolve())
    expected.append((2, str(user)))

    project = place.write(place.project, "concurrency = 3")
    found.append(place.resolve())
    expected.append((3, str(project)))

    environment = {"UPSKILL_CONCURRENCY": "4"}
    found.append(place.resolve(environment=environment))
    expected.append((4, "UPSKILL_CONCURRENCY"))

    found.append(place.resolve({"concurrency": 5}, environment))
    expected.append((5, "--concurrency"))

    assert [(one.values.concurrency, one.origins["concurrency"]) for one in found] == expected


def test_each_setting_is_resolved_by_itself(place: Place) -> None:
    user = place.write(place.user, "seed = 1\nconcurrency = 2")
    project = place.write(place.project, "concurrency = 3\nruns_dir = 'out'")
    resolved = place.resolve({"temperature": 0.5}, {"UPSKILL_MODELS": "haiku"})
    origins = {name: origin for name, origin in resolved.origins.items() if origin != "default"}
    assert origins == {
        "seed": str(user),
        "concurrency": str(project),
        "runs_dir": str(project),
        "temperature": "--temperature",
        "models": "UPSKILL_MODELS",
    }
    assert (resolved.values.seed, resolved.values.concurrency, resolved.values.runs_dir) == (1, 3, "out")


def test_a_flag_that_was_not_given_overrides_nothing(place: Place) -> None:
    place.write(place.project, "models = ['haiku']\nseed = 3")
    resolved = place.resolve({"models": (), "seed": None})
    assert (resolved.values.models, resolved.values.seed) == (("haiku",), 3)


def test_zero_given_by_a_flag_is_a_value(place: Place) -> None:
    place.write(place.project, "temperature = 1.0\nseed = 3")
    resolved = place.resolve({"temperature": 0.0, "seed": 0})
    assert (resolved.values.temperature, resolved.values.seed) == (0.0, 0)


def test_the_flag_of_models_is_named_as_it_is_typed(place: Place) -> None:
    assert place.resolve({"models": ("haiku",)}).origins["models"] == "--model"
    assert place.resolve({"runs_dir": "x"}).origins["runs_dir"] == "--runs-dir"


# The project's file


def test_the_nearest_project_file_is_found_from_below(place: Place) -> None:
    place.write(place.project, "seed = 1")
    (place.project / "a" / "b").mkdir(parents=True)
    assert place.resolve(within="a/b").values.seed == 1
    place.write(place.project / "a", "concurrency = 2")
    resolved = place.resolve(within="a/b")
    assert (resolved.values.seed, resolved.values.concurrency) == (0, 2)


def test_a_table_in_pyproject_is_a_project_file(place: Place) -> None:
    path = place.write(place.project, "[project]\nname = 'x'\n[tool.upskill]\nseed = 4", name="pyproject.toml")
    resolved = place.resolve()
    assert (resolved.values.seed, resolved.origins["seed"]) == (4, str(path))


def test_our_own_file_goes_before_pyproject(place: Place) -> None:
    place.write(place.project, "[tool.upskill]\nseed = 4\nconcurrency = 4", name="pyproject.toml")
    place.write(place.project, "seed = 5")
    resolved = place.resolve()
    assert (resolved.values.seed, resolved.values.concurrency) == (5, 8)


def test_a_pyproject_of_something_else_is_passed_by(place: Place) -> None:
    place.write(place.project, "seed = 6")
    (place.project / "sub").mkdir()
    place.write(place.project / "sub", "[tool.other]\nseed = 7", name="pyproject.toml")
    assert place.resolve(within="sub").values.seed == 6


def test_hyphens_and_underscores_are_the_same(place: Place) -> None:
    place.write(place.project, "max-output-tokens = 10")
    assert place.resolve().values.max_output_tokens == 10


def test_aliases_are_a_table(place: Place) -> None:
    place.write(place.project, "[aliases]\nmine = 'org/name'")
    assert place.resolve().values.aliases == {"mine": "org/name"}


# The environment


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("UPSKILL_MODELS", "haiku, kimi ,", "models", ("haiku", "kimi")),
        ("UPSKILL_BASE_URL", "http://localhost:8080/v1", "base_url", "http://localhost:8080/v1"),
        ("UPSKILL_CONCURRENCY", " 16 ", "concurrency", 16),
        ("UPSKILL_TEMPERATURE", "0.7", "temperature", 0.7),
        ("UPSKILL_TEMPERATURE", "1", "temperature", 1.0),
        ("UPSKILL_SEED", "0", "seed", 0),
    ],
)
def test_a_variable_is_read_as_its_setting_needs_it(
    place: Place, variable: str, text: str, name: str, value: object
) -> None:
    resolved = place.resolve(environment={variable: text})
    assert getattr(resolved.values, name) == value
    assert resolved.origins[name] == variable


def test_an_empty_variable_was_not_set(place: Place) -> None:
    assert place.resolve(environment={"UPSKILL_SEED": "", "UPSKILL_MODELS": "  "}).values == Settings()


def test_other_peoples_variables_are_none_of_our_business(place: Place) -> None:
    assert place.resolve(environment={"SEED": "x", "XUPSKILL_SEED": "x", "PATH": "/bin"}).values == Settings()


def test_the_key_of_an_endpoint_is_not_a_setting(place: Place) -> None:
    keys = {"UPSKILL_ENDPOINT_KEY": "secret-value", "UPSKILL_TEACHER_KEY": "another secret-value"}
    resolved = place.resolve(environment=keys)
    assert resolved.values == Settings()
    assert "secret-value" not in repr(resolved)
    assert frozenset(keys) == NOT_SETTINGS - {TRUST_VARIABLE, IMAGE_VARIABLE}


# What is refused


def test_an_unknown_key_in_a_file_is_refused_with_a_suggestion(place: Place) -> None:
    path = place.write(place.project, "concurency = 3")
    error = place.refusal()
    assert error.message == f"{path}: there is no setting `concurency`"
    assert error.hint == "did you mean `concurrency`?"


def test_an_unknown_key_in_the_users_file_is_refused_too(place: Place) -> None:
    place.write(place.user, "modles = ['haiku']")
    assert place.refusal().hint == "did you mean `models`?"


def test_an_unknown_variable_is_refused_with_a_suggestion(place: Place) -> None:
    error = place.refusal(environment={"UPSKILL_TEMPRATURE": "1"})
    assert error.message == "UPSKILL_TEMPRATURE: there is no setting `temprature`"
    assert error.hint == "did you mean `temperature`?"


def test_a_key_like_no_setting_points_to_the_list(place: Place) -> None:
    place.write(place.project, "zzz = 3")
    assert place.refusal().hint == "`upskill settings` lists them all"


def test_no_setting_holds_a_key_or_says_which_variable_does() -> None:
    assert [name for name in NAMES if re.search("key|secret|password|credential|token$|env|variable", name)] == []


@pytest.mark.parametrize(
    "key",
    [
        "api_key",
        "endpoint_key",
        "ENDPOINT_KEY",
        "anthropic_api_key",
        "hf_token",
        "token",
        "trust",
        "key_variable",
        "untyped",
    ],
)
def test_no_file_can_hold_a_key(place: Place, key: str) -> None:
    place.write(place.project, f"{key} = 'secret-value'")
    error = place.refusal()
    assert "there is no setting" in error.message
    assert "secret-value" not in f"{error} {error.hint}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("concurrency = 'many'", "`concurrency` cannot be 'many'"),
        ("concurrency = 1.5", "`concurrency` cannot be 1.5"),
        ("concurrency = true", "`concurrency` cannot be True"),
        ('cases = "10+32"', "`cases` must be like 10+32+4, not '10+32'"),
        ("concurrency = 0", "`concurrency` must be at least 1, not 0"),
        ("seed = -1", "`seed` must be at least 0, not -1"),
        ("temperature = 'hot'", "`temperature` cannot be 'hot'"),
        ("temperature = true", "`temperature` cannot be True"),
        ("temperature = 2.5", "`temperature` must be between 0 and 2, not 2.5"),
        ("temperature = nan", "`temperature` must be between 0 and 2, not nan"),
        ("temperature = inf", "`temperature` must be between 0 and 2, not inf"),
        ("models = 'haiku'", "`models` cannot be 'haiku'"),
        ("models = [1]", "`models` cannot be [1]"),
        ("base_url = 8080", "`base_url` cannot be 8080"),
        ("runs_dir = []", "`runs_dir` cannot be []"),
        ("aliases = 'x'", "`aliases` cannot be 'x'"),
        ("aliases = {a = 1}", "`aliases` cannot be {'a': 1}"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_where_it_stands(place: Place, text: str, problem: str) -> None:
    path = place.write(place.project, text)
    assert place.refusal().message == f"{path}: {problem}"


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("UPSKILL_CASES", "ten", "`cases` must be like 10+32+4, not 'ten'"),
        ("UPSKILL_CONCURRENCY", "many", "`concurrency` must be a number, not 'many'"),
        ("UPSKILL_CONCURRENCY", "1.5", "`concurrency` must be a number, not '1.5'"),
        ("UPSKILL_CONCURRENCY", "0", "`concurrency` must be at least 1, not 0"),
        ("UPSKILL_TEMPERATURE", "hot", "`temperature` must be a number, not 'hot'"),
        ("UPSKILL_TEMPERATURE", "nan", "`temperature` must be between 0 and 2, not nan"),
        ("UPSKILL_ALIASES", "a=b", "aliases can only be set in a file"),
    ],
)
def test_a_variable_of_the_wrong_kind_is_refused_by_name(place: Place, variable: str, text: str, problem: str) -> None:
    assert place.refusal(environment={variable: text}).message == f"{variable}: {problem}"


def test_a_flag_of_the_wrong_kind_is_refused_by_name(place: Place) -> None:
    assert place.refusal({"concurrency": 0}).message == "--concurrency: `concurrency` must be at least 1, not 0"


@pytest.mark.parametrize("text", [b"seed = ", b"seed = 1\nseed = 2", b"\xff", b"\x00"])
def test_a_file_that_is_not_toml_is_named(place: Place, text: bytes) -> None:
    (place.project / "upskill.toml").write_bytes(text)
    assert place.refusal().message.startswith(f"{place.project / 'upskill.toml'}: cannot be read")
