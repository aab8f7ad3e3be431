"""`python -m benchmarks`, called in this process."""

from click.testing import CliRunner

from benchmarks.commands import main


def call(*arguments, status=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == status, result.output + repr(result.exception)
    return result
