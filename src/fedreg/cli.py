"""The command line: verbs that call the library and show what it says."""

import json
import signal
import sys
from contextlib import closing
from pathlib import Path
from shlex import join
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from .core.errors import Diverged, FedregError
from .engines import ENGINES, Engine, vectorized
from .experiments.experiment import load
from .experiments.names import nearest
from .report import catalogue
from .report.follow import follow, planned, title
from .report.page import machines, write_page
from .report.terminal import Screen, convergence, markdown, stdout
from .runs.comparison import Job, compare, jobs, refuse_taken
from .runs.disk import StorageError
from .runs.record import Record, find, read, told_apart
from .studies.convergence import as_table, table
from .version import __version__

app = typer.Typer(
    name="fedreg", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich",
    help="Federated learning that does not forget.\n\n[bold]Start with[/bold]  fedreg compare digits",
    epilog="Exit codes: 0 done, 1 a run failed, 2 a mistake in what was asked, 130 interrupted (go on with --resume).",
)  # fmt: skip

Experiment = Annotated[str, typer.Argument(help="A name from [bold]fedreg list[/bold], or a .toml file.")]
Set = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the experiment; repeatable.")
]
EngineName = Annotated[str, typer.Option("--engine", help="How a cohort is run: vectorized or sequential.")]
Chunk = Annotated[int | None, typer.Option(help="Clients in one kernel, for the vectorized engine.")]
Out = Annotated[Path | None, typer.Option("--out", help="The folder to write; default runs/EXPERIMENT/...")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what the folder already holds.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]


@app.command("list", epilog="Example: fedreg list --json")
def list_(as_json: Json = False) -> None:
    """Show the experiments, with their methods and settings, and the engines."""
    experiments = catalogue.experiments()
    show(catalogue.as_table(experiments), catalogue.view(experiments), as_json)


@app.command(
    "run", epilog="Example: fedreg run digits fedreg --seed 1 --set plan.rounds=50 --set methods.fedreg.gamma=0.5"
)
def run_(
    experiment: Experiment,
    method: Annotated[str, typer.Argument(help="One of the experiment's methods.")],
    seed: Annotated[int | None, typer.Option(help="Decides partition, first parameters and every draw.")] = None,
    settings: Set = [],  # noqa: B006
    engine: EngineName = "vectorized",
    chunk: Chunk = None,
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train one method with one seed, recorded round by round."""
    loaded = load(experiment, settings)
    seed = loaded.scene.plan.seed if seed is None else seed
    folder = out or Path("runs") / loaded.name / method / f"seed-{seed}"
    loaded.entry(method)
    job = Job(loaded, method, seed, engine_of(engine, chunk), settings, folder, resume, experiment)
    conclude([job], as_json)


@app.command(
    "compare", epilog="Example: fedreg compare digits --methods sgd,fedavg,fedreg --seeds 0,1,2 --out runs/three-seeds"
)
def compare_(
    experiment: Experiment,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas between; default all of the experiment's.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Numbers with commas between; default the plan's.")] = None,
    settings: Set = [],  # noqa: B006
    engine: EngineName = "vectorized",
    chunk: Chunk = None,
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train several methods with several seeds; print the table and write the page."""
    loaded = load(experiment, settings)
    names = [name.strip() for name in methods.split(",")] if methods is not None else list(loaded.entries)
    folder = out or Path("runs") / loaded.name
    chosen = [loaded.scene.plan.seed] if seeds is None else numbers(seeds)
    todo = jobs(loaded, names, chosen, engine_of(engine, chunk), settings, folder, resume, experiment)
    refuse_taken(todo)
    conclude(todo, as_json, page=folder / "report.html")


@app.command("report", epilog="Example: fedreg report runs/digits -o digits.html")
def report_(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that contain such.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
    as_json: Json = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table for a document, and no more.")
    ] = False,
) -> None:
    """Make a self-contained page, and the table, of runs that are on disk, finished or not."""
    records = told_apart(find(runs))
    if as_markdown:
        typer.echo(markdown(table(records, str(records[0].configuration["reference"]))))
    else:
        tell(records, output, as_json, [])


def conclude(todo: list[Job], as_json: bool, page: Path | None = None) -> None:
    """Run the jobs on a live screen, then tell what came of them."""
    with Screen(sum(map(planned, todo)), title(todo[0])) as screen:
        try:
            with closing(compare(todo)) as events:
                failures = follow(events, todo, screen)
        except KeyboardInterrupt:
            again = [word for word in sys.argv[1:] if word != "--resume"]
            screen.say(f"interrupted; all whole rounds are kept. Go on with: fedreg {join(again)} --resume")
            raise typer.Exit(130) from None
    begun = [job.path for job in todo if (job.path / "config.json").exists()]
    if begun:
        tell([read(path) for path in begun], page, as_json, failures)
    if failures:
        raise typer.Exit(1)


def tell(records: list[Record], page: Path | None, as_json: bool, failures: list[str]) -> None:
    """The table of these runs on stdout, and the page."""
    reference = str(records[0].configuration["reference"])
    rows = table(records, reference)
    if page:
        write_page(page, records, rows, reference)
    result = {
        "reference": reference,
        "methods": as_table(rows),
        "runs": [str(record.path) for record in records],
        "machines": machines(records),
    }
    show(
        {**result, "page": str(page) if page else None, "failures": failures},
        convergence(rows, records[0].title, reference),
        as_json,
    )
    if not as_json:
        stdout().print(f"page: {page}" if page else f"run: {records[0].path}", soft_wrap=True)


def show(result: Any, view: Any, as_json: bool) -> None:
    """The result on stdout, for a program or for a person."""
    if as_json:
        typer.echo(json.dumps(result, indent=2, allow_nan=False))
    else:
        stdout().print(view)


def engine_of(name: str, chunk: int | None) -> Engine:
    """The engine of that name."""
    if name not in ENGINES:
        raise FedregError(f"--engine {name}: there is no such engine{nearest(name, list(ENGINES))}")
    if chunk is None:
        return ENGINES[name]()
    if name != "vectorized":
        raise FedregError(f"--chunk is for the engine vectorized, not for {name}; leave it out")
    return vectorized(chunk)


def numbers(text: str) -> list[int]:
    """Numbers with commas between."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise FedregError(f"--seeds {text}: write whole numbers with commas between, such as 0,1,2") from None


def version(wanted: bool | None) -> None:
    """Print the version and stop, if wanted."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool | None, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = None,
) -> None:
    """Federated learning that does not forget."""


def interrupt(*_: object) -> NoReturn:
    """What a polite request to stop does: the same as Ctrl-C."""
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; an error is one line, and its exit code says whose it is."""
    signal.signal(signal.SIGTERM, interrupt)
    try:
        app()
    except FedregError as error:
        Console(stderr=True, soft_wrap=True).print(f"[red bold]error:[/red bold] {error}", highlight=False)
        sys.exit(1 if isinstance(error, Diverged | StorageError) else 2)
