"""The `bringup` command: collects the commands, and turns errors into one clear line and an exit code."""

from __future__ import annotations

import importlib
import sys
from importlib.resources import files

import typer

from bringup import __version__
from bringup.errors import BringupError

# Newer typers bring its own copy of click, older ones use the click package: take the class that typer raises.
_ClickException = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"bringup {__version__}")
        raise typer.Exit()


def build_app() -> typer.Typer:
    """Make the application from the modules of this package: each has a function `register(app)`."""
    app = typer.Typer(
        name="bringup",
        help="Bring up a PyTorch operator backend on an accelerator that has none.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=True,
        rich_markup_mode="rich",
    )

    @app.callback()
    def _root(
        version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
    ) -> None:
        pass

    names = sorted(p.name.removesuffix(".py") for p in files("bringup.cli").iterdir() if p.name.endswith(".py"))
    for name in names:
        if name not in {"__init__", "main"} and not name.startswith("_"):
            importlib.import_module(f"bringup.cli.{name}").register(app)
    return app


def main() -> None:
    """Run the command line and exit: 0 done, 1 not all covered, 2 bad usage or input, 3 environment."""
    app = build_app()
    try:
        result = app(standalone_mode=False)
        sys.exit(result if isinstance(result, int) else 0)
    except BringupError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if not isinstance(error, _ClickException):
            raise
        error.show()  # type: ignore[attr-defined]
        sys.exit(2)


if __name__ == "__main__":
    main()
