"""`bringup policies`: what a search may expand next, with every parameter; and a check for plug-ins."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bringup.cli._output import JsonOption, make_console, print_json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="The policies of a search: list them, check one.")
    group.command("list")(list_policies)
    group.command("check")(check)
    app.add_typer(group, name="policies")


def list_policies(json_output: JsonOption = False) -> None:
    """List the policies with their parameters: default, and where it comes from."""
    from rich.text import Text

    from bringup.errors import BringupError
    from bringup.search.policies import policies

    found: list[dict[str, Any]] = []
    for name in policies.names():
        try:
            factory = policies.factory(name)
        except BringupError as error:
            found.append({"name": name, "about": str(error), "asks_model": None, "parameters": {}})
            continue
        options = getattr(factory, "Options", None)
        fields = options.model_fields if options is not None else {}
        found.append(
            {
                "name": name,
                "about": (factory.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " "),
                "asks_model": getattr(factory, "asks_model", True),
                "parameters": {
                    key: {"default": field.default, "about": field.description or ""} for key, field in fields.items()
                },
            }
        )
    if json_output:
        print_json(found)
        return
    console = make_console()
    for one in found:
        asks = "" if one["asks_model"] else "  (asks no model)"
        console.print(Text.assemble((one["name"], "bold"), f"{asks}  {one['about']}"))
        for key, value in one["parameters"].items():
            default = f"{value['default']:.4g}" if isinstance(value["default"], float) else value["default"]
            console.print(Text.assemble("    ", (f"{key} = {default}", "cyan"), f"  {value['about']}"))


def check(
    name: Annotated[str, typer.Argument(help="Policy, of a plug-in say.")],
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", metavar="NAME=VALUE", help="A parameter (repeatable).")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Check that a policy keeps its contract: on made-up graphs, without a model. Exit code 1 when it does not."""
    from bringup.cli.tune import _options
    from bringup.search.conformance import check_policy

    results = check_policy(name, _options(option) or {})
    if json_output:
        print_json([result.model_dump(mode="json") for result in results])
    else:
        console = make_console()
        for result in results:
            mark = "ok  " if result.passed else "FAIL"
            detail = f": {result.detail}" if result.detail else ""
            console.print(f"{mark}  {result.name}{detail}", markup=False)
    if not all(result.passed for result in results):
        raise typer.Exit(1)
