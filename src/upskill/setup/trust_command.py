"""`upskill trust`: which settings files may set what matters, and which runs of others may be resumed."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, SettingsError, UsageError
from upskill.terminal import options
from upskill.terminal.output import confirm, is_interactive, print_json, print_lines

if TYPE_CHECKING:
    from upskill.core.settings.trust import SettingsFile


@click.command("trust")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--list", "listing", is_flag=True, help="List the trusted settings files.")
@click.option("--revoke", is_flag=True, help="Stop trusting FILE.")
@options.JSON
def command(file: Path | None, listing: bool, revoke: bool, as_json: bool) -> int:
    """Trust the settings file FILE, or the run folder FILE, in its present form. The default is the settings file of
    this project.

    The command shows what needs trust, and asks. Any change to a file, or to what a run asks for, ends the trust. Your
    own runs need none. Without a terminal, set UPSKILL_TRUST to the SHA-256 digests that you trust, separated by
    commas.

    Exit codes: 0 trusted; 2 wrong usage; 3 not trusted.
    """
    from upskill.core.settings import trust as trusting
    from upskill.core.settings import user_settings_folder

    if listing and (revoke or file is not None):
        raise UsageError("--list cannot be combined with FILE or --revoke")
    if as_json and not listing:
        raise UsageError("--json needs --list")
    if listing:
        known = trusting.trusted_files(user_settings_folder())
        if as_json:
            print_json({"schema": trusting.SCHEMA, "files": known})
        else:
            print_lines(*(f"{one['sha256']}  {one['path']}" for one in known))
        return EXIT_DONE
    if file is not None and file.is_dir():
        return _revoke_run(file) if revoke else _trust_run(file)
    if revoke:
        path = file or _found(file).path
        if not trusting.revoke(path, user_settings_folder()):
            raise SettingsError(f"{path}: was not trusted", hint="list the trusted files with `upskill trust --list`")
        print_lines(f"{path}: no longer trusted")
        return EXIT_DONE
    return _trust(_found(file))


def _found(named: Path | None) -> "SettingsFile":
    from upskill.core.settings.trust import SHARED_FILE, project_file, read_settings_file
    from upskill.core.settings.values import PROJECT_FILE

    found = project_file(Path.cwd()) if named is None else read_settings_file(named.absolute())
    if found is None:
        missing = "this project has no settings file" if named is None else f"{named}: does not exist"
        raise UsageError(missing, hint=f"name an {PROJECT_FILE} or a {SHARED_FILE}")
    if found.path.name not in (PROJECT_FILE, SHARED_FILE):
        raise UsageError(f"{named}: is not a settings file", hint=f"name an {PROJECT_FILE} or a {SHARED_FILE}")
    return found


def _trust(file: "SettingsFile") -> int:
    from upskill.core.settings import TRUST_VARIABLE, user_settings_folder
    from upskill.core.settings import trust as trusting
    from upskill.core.settings.resolving import needs_of, own_settings
    from upskill.core.settings.trust import owner_name

    user_folder = user_settings_folder()
    demands = needs_of(
        file, file.settings(), mine=own_settings(user_folder), folder=Path.cwd(), user_folder=user_folder
    )
    print_lines(
        f"file:    {file.target}",
        f"owner:   {owner_name(file.target.stat().st_uid)}{'' if file.foreign is None else f'; {file.foreign}'}",
        f"sha256:  {file.digest}",
    )
    if not demands and file.foreign is None:
        print_lines("Nothing in it needs trust.")
        return EXIT_DONE
    print_lines("these settings need trust:", *(f"  {one}" for one in demands))
    if not is_interactive():
        raise SettingsError(
            f"{file.path}: not trusted: there is no terminal to confirm on",
            hint=f"read the file, then: export {TRUST_VARIABLE}={file.digest}",
        )
    if not confirm("Trust this file until it changes?"):
        raise SettingsError(f"{file.path}: not trusted")
    trusting.trust(file, user_folder)
    print_lines(f"trusted; to undo: `upskill trust --revoke {quote(str(file.path))}`")
    return EXIT_DONE


def _trust_run(run: Path) -> int:
    from upskill.core.runs import own_runs
    from upskill.core.runs.run_folders import require_plain_folder
    from upskill.core.settings import TRUST_VARIABLE

    require_plain_folder(run)
    digest = own_runs.run_digest(run)
    print_lines(f"run:     {run.resolve()}", f"sha256:  {digest}", "it asks for:")
    print_lines(*(f"  {line}" for line in own_runs.asks_for(run)))
    if own_runs.is_own_run(run):
        print_lines("It is known as your own.")
        return EXIT_DONE
    if not is_interactive():
        raise SettingsError(
            f"{run}: not trusted: there is no terminal to confirm on",
            hint=f"read what it asks for, then: export {TRUST_VARIABLE}={digest}",
        )
    if not confirm("Trust this run as it is now?"):
        raise SettingsError(f"{run}: not trusted")
    own_runs.trust_run(run)
    print_lines(f"trusted; to undo: `upskill trust --revoke {quote(str(run))}`")
    return EXIT_DONE


def _revoke_run(run: Path) -> int:
    from upskill.core.runs.own_runs import revoke_run
    from upskill.core.runs.run_folders import require_plain_folder

    require_plain_folder(run)
    if not revoke_run(run):
        raise SettingsError(f"{run}: was not trusted")
    print_lines(f"{run}: no longer trusted")
    return EXIT_DONE
