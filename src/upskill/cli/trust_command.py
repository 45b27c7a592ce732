"""`upskill trust`: which settings files may set what matters."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import confirm, is_interactive, print_json, print_lines
from upskill.errors import EXIT_DONE, SettingsError, UsageError

if TYPE_CHECKING:
    from upskill.settings.files import SettingsFile


@click.command("trust")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--list", "listing", is_flag=True, help="List the trusted files.")
@click.option("--revoke", is_flag=True, help="Stop trusting FILE.")
@options.JSON
def command(file: Path | None, listing: bool, revoke: bool, as_json: bool) -> int:
    """Trust the settings file FILE in its present form. The default is the settings file of this project.

    The command shows which settings need trust, and asks. Any change to the file ends the trust. Without a terminal,
    set UPSKILL_TRUST to the SHA-256 digests of trusted files, separated by commas.

    Exit codes: 0 trusted; 2 wrong usage; 3 not trusted.
    """
    from upskill.settings import trust as trusting
    from upskill.settings import user_settings_folder

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
    if revoke:
        path = file or _found(file).path
        if not trusting.revoke(path, user_settings_folder()):
            raise SettingsError(f"{path}: was not trusted", hint="list the trusted files with `upskill trust --list`")
        print_lines(f"{path}: no longer trusted")
        return EXIT_DONE
    return _trust(_found(file))


def _found(named: Path | None) -> "SettingsFile":
    from upskill.settings.files import SHARED_FILE, project_file, read_settings_file
    from upskill.settings.values import PROJECT_FILE

    found = project_file(Path.cwd()) if named is None else read_settings_file(named.absolute())
    if found is None:
        missing = "this project has no settings file" if named is None else f"{named}: does not exist"
        raise UsageError(missing, hint=f"name an {PROJECT_FILE} or a {SHARED_FILE}")
    if found.path.name not in (PROJECT_FILE, SHARED_FILE):
        raise UsageError(f"{named}: is not a settings file", hint=f"name an {PROJECT_FILE} or a {SHARED_FILE}")
    return found


def _trust(file: "SettingsFile") -> int:
    from upskill.settings import TRUST_VARIABLE, user_settings_folder
    from upskill.settings import trust as trusting
    from upskill.settings.files import owner_name
    from upskill.settings.resolving import needs_of, own_settings

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
