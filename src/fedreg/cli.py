"""The command line: verbs that call the library and show what it says."""

import signal
import sys
from contextlib import closing
from io import TextIOWrapper
from pathlib import Path
from shlex import join
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from .core.errors import Diverged, FedregError, StorageError, require
from .datasets import SOURCES, Source
from .datasets.download import add, get
from .datasets.store import cache
from .engines import team_of
from .engines.team import Gone, end
from .experiments.experiment import load
from .experiments.names import nearest
from .report import catalogue, tables
from .report.follow import follow, planned, title
from .report.paper import table_of
from .report.tell import beside, show, tell
from .report.terminal import Download, Screen, markdown
from .runs.comparison import Job, compare, jobs, refuse_taken
from .runs.crew import crew
from .runs.device import device_of
from .runs.engine import engine_of
from .runs.kept import gathered, keep
from .runs.record import read, told_apart
from .studies.convergence import table
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
EngineName = Annotated[
    str, typer.Option("--engine", help="How a cohort is run: vectorized, sequential, or distributed (by torchrun).")
]
Chunk = Annotated[int | None, typer.Option(help="Clients in one kernel, for the vectorized engine.")]
Workers = Annotated[int, typer.Option(help="Processes on this machine that share out each cohort.")]
Device = Annotated[str, typer.Option("--device", help="Where to compute: cpu, cuda, cuda:1 or mps.")]
Out = Annotated[Path | None, typer.Option("--out", help="The folder to write; default runs/EXPERIMENT/...")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what the folder already holds.")]
Runs = Annotated[
    list[Path], typer.Argument(help="Folders of runs, folders that contain such, or .jsonl files of [bold]keep[/bold].")
]
DatasetName = Annotated[str, typer.Argument(help="A name from [bold]fedreg data list[/bold].")]
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
    workers: Workers = 1,
    device: Device = "cpu",
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train one method with one seed, recorded round by round."""
    loaded = load(experiment, settings)
    seed = loaded.scene.plan.seed if seed is None else seed
    folder = out or Path("runs") / loaded.name / method / f"seed-{seed}"
    loaded.entry(method)
    with crew(workers, sys.argv[1:]):
        place = device_of(device)
        how = engine_of(engine, chunk, workers, place), place
        conclude([Job(loaded, method, seed, *how, settings, folder, resume, experiment)], as_json)


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
    workers: Workers = 1,
    device: Device = "cpu",
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train several methods with several seeds; print the table and write the page."""
    loaded = load(experiment, settings)
    names = [name.strip() for name in methods.split(",")] if methods is not None else list(loaded.entries)
    require("" not in names, f"--methods {methods}: there is an empty name; write it as sgd,fedreg")
    folder = out or Path("runs") / loaded.name
    chosen = [loaded.scene.plan.seed] if seeds is None else numbers(seeds)
    with crew(workers, sys.argv[1:]):
        place = device_of(device)
        how = engine_of(engine, chunk, workers, place), place
        todo = jobs(loaded, names, chosen, *how, settings, folder, resume, experiment)
        conclude(todo, as_json, page=folder / "report.html")


@app.command("report", epilog="Example: fedreg report runs/digits -o digits.html")
def report_(
    runs: Runs,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
    as_json: Json = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table for a document, and no more.")
    ] = False,
    paper: Annotated[bool, typer.Option("--paper", help="Draw the curves of the paper's authors beside them.")] = False,
) -> None:
    """Make a self-contained page, and the table, of runs that are on disk, finished or not."""
    records = told_apart(gathered(runs))
    if as_markdown:
        typer.echo(markdown(table(records, str(records[0].configuration["reference"]))))
    else:
        tell(records, output, as_json, [], beside(records) if paper else None)


@app.command("keep", epilog="Example: fedreg keep runs/mnist-one-class -o results/runs/mnist-one-class.jsonl")
def keep_(
    runs: Runs,
    output: Annotated[Path, typer.Option("-o", "--output", help="The .jsonl file to add them to.")],
) -> None:
    """Put runs into a file of small JSON lines, which report and table read like folders of runs."""
    require(output.suffix == ".jsonl", f"-o {output}: name a file that ends in .jsonl")
    typer.echo(f"runs in {output}: {keep(gathered(runs), output)}")


@app.command("table", epilog="Examples: fedreg table 1; fedreg table 1 runs/mnist-one-class")
def table_(
    number: Annotated[str, typer.Argument(help="The paper's number of it: 1, 2, 3, 4, C.1 or C.2.")],
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Runs of your own, in place of those that come with fedreg.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a table of the paper beside what was measured, and what has not been run."""
    paper = table_of(number)
    records = tables.fitting(paper, gathered(runs or tables.kept(number)))
    found = tables.entries(paper, records)
    show(tables.as_table(number, paper, found, records), tables.view(number, paper, found), as_json)
    if not as_json:
        typer.echo("\n".join(tables.notes(number, found, records)))


data = typer.Typer(no_args_is_help=True, help="The datasets: what there is, and how to have it.")
app.add_typer(data, name="data")


@data.command("list", epilog="Example: fedreg data list --json")
def data_list(as_json: Json = False) -> None:
    """Show the datasets, whether they are here, their sizes and licences."""
    found = catalogue.datasets()
    show(catalogue.datasets_as_table(found), catalogue.datasets_view(found), as_json)


@data.command("get", epilog="Example: fedreg data get mnist")
def data_get(name: DatasetName) -> None:
    """Download a dataset, verify it, and keep it; goes on where it was cut off."""
    source = source_of(name)
    with Download() as download:
        try:
            where = get(source, download.watch)
        except KeyboardInterrupt:
            typer.echo(f"interrupted; what has come is kept. Go on with: fedreg data get {name}", err=True)
            raise typer.Exit(130) from None
    typer.echo(f"{name} is in {cache() / name}, from {where}")


@data.command("add", epilog="Example: fedreg data add mnist ~/Downloads/mnist")
def data_add(
    name: DatasetName, path: Annotated[Path, typer.Argument(help="A folder or an archive with the official layout.")]
) -> None:
    """Keep a copy of a dataset that you already have."""
    source = source_of(name)
    with Download() as download:
        add(source, path, download.watch)
    typer.echo(f"{name} is in {cache() / name}")


def conclude(todo: list[Job], as_json: bool, page: Path | None = None) -> None:
    """Run the jobs on a live screen, then tell what came of them; of a team's processes the leader alone does so."""
    team = team_of(todo[0].engine)
    with team.agreeing():
        if team.leads and page:
            refuse_taken(todo)
    if not team.leads:
        raise typer.Exit(1 if [event for event in compare(todo) if event.failure] else 0)
    with Screen(sum(map(planned, todo)), title(todo[0])) as screen:
        try:
            with closing(compare(todo)) as events:
                failures = follow(events, todo, screen)
        except KeyboardInterrupt:
            again = [word for word in sys.argv[1:] if word != "--resume"]
            screen.say(f"interrupted; all whole rounds are kept. Go on with: fedreg {join(again)} --resume")
            raise typer.Exit(130) from None
    records = []
    for path in [job.path for job in todo if (job.path / "config.json").exists()]:
        try:
            records.append(read(path))
        except FedregError as error:
            failures.append(str(error))
            complain(error)
    if records:
        tell(records, page, as_json, failures)
    if failures:
        raise typer.Exit(1)


def source_of(name: str) -> Source:
    """The source of the dataset of that name."""
    require(name in SOURCES, f"there is no dataset {name!r} to have{nearest(name, list(SOURCES))}")
    return SOURCES[name]


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


def complain(error: Exception) -> None:
    """One line on the error stream."""
    said = Text.assemble(("error:", "red bold"), f" {error}")
    Console(stderr=True, soft_wrap=True, emoji=False).print(said, highlight=False)


def main() -> None:
    """Run the command line; an error is one line, and its exit code says whose it is."""
    signal.signal(signal.SIGTERM, interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has no word for a letter gets its number
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as done:
        end(done.code if isinstance(done.code, int) else int(done.code is not None))
    except FedregError as error:
        complain(error)
        end(1 if isinstance(error, Diverged | Gone | StorageError) else 2)
    except OSError as error:
        complain(error)
        end(1)
