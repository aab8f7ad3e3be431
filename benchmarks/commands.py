"""The commands: one for each experiment."""

from __future__ import annotations

from typing import Any

import click

from diagsparse._study.bench_command import Benchmark, Invocation, benchmark_command, cases_on, systems_on
from diagsparse._study.command_line import Group

from .experiment import Experiment
from .papers.paper_000 import TABLES_000
from .papers.paper_002 import TABLES_002
from .papers.paper_003 import TABLES_003
from .papers.paper_004 import TABLES_004
from .studies.advice import ADVICE
from .studies.against_blas import AGAINST_BLAS
from .studies.block_sizes import BLOCK_SIZES
from .studies.evolution import EVOLUTION
from .studies.first_use import FIRST_USE
from .studies.gradients import GRADIENTS
from .studies.hamiltonians import HAMILTONIANS
from .studies.row_formats import ROW_FORMATS
from .studies.sampled_products import SAMPLED_PRODUCTS
from .studies.scaling import SCALING
from .studies.small_work import SMALL_WORK
from .studies.wide import WIDE

EXPERIMENTS = {
    one.name: one
    for one in (
        TABLES_000, TABLES_002, TABLES_003, TABLES_004, ROW_FORMATS, HAMILTONIANS, EVOLUTION, WIDE, SAMPLED_PRODUCTS,
        ADVICE, SMALL_WORK, FIRST_USE, AGAINST_BLAS, BLOCK_SIZES, SCALING, GRADIENTS,
    )
}  # fmt: skip


@click.group("benchmarks", cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run an experiment of the papers, or a study, and save a JSON file and a picture.

    After Ctrl-C, the completed rows are summarized and saved.

    With --since, the exit status is 1 if a row takes more than --limit times as long as before, relative to the
    bandwidth or a peer in the same run. With --table and --since, two files are compared, and nothing is run.
    """


def _command(experiment: Experiment) -> click.Command:
    @benchmark_command
    def run(invocation: Invocation, quick: bool) -> bool | None:
        return invocation.carry_out(
            lambda device: experiment.benchmark, quick=quick, experiment=experiment.name, stem=experiment.name
        )

    about = (experiment.about or "").replace("`", "").strip()
    return click.command(experiment.name, help=about, short_help=about.partition(".")[0])(run)


for _one in EXPERIMENTS.values():
    main.add_command(_command(_one))


def benchmark_of(report: dict[str, Any]) -> Benchmark:
    """Return the benchmark of a stored report."""
    if report.get("experiment") == "solve":
        return systems_on("solve")
    if "experiment" in report:
        return EXPERIMENTS[report["experiment"]].benchmark
    return cases_on(report.get("device", "cpu"))
