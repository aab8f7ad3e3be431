"""The command line: what it prints, what it saves, how it ends."""

import json
import sys
from pathlib import Path

import pytest
from cases import at_night

pytest.importorskip("click")

from command_line import call

import diagsparse as ds
from diagsparse._study import commands, exactness
from diagsparse.structure import analyze

pytestmark = pytest.mark.usefixtures("no_bandwidth")
FAST = ["--budget", "0.01"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "poisson.mtx.gz"
    ds.write(path, ds.gallery.stencil(5, 12))
    return str(path)


# ---- compare ------------------------------------------------------------------------------------------------------
def test_compare_prints_a_table_and_saves_it(file, tmp_path):
    out = call("compare", file, *FAST).stdout
    assert out.startswith("y = A x   poisson  float64   cpu, ")
    assert "Advice: " in out and "\x1b" not in out
    assert out.endswith("Saved poisson-compare.json, poisson-compare.png, poisson-roofline.png\n")
    assert all((tmp_path / f"poisson-{what}.png").stat().st_size > 10_000 for what in ("compare", "roofline"))
    assert json.loads((tmp_path / "poisson-compare.json").read_text())["ok"] is True


def test_json_is_one_object_and_nothing_else(file, tmp_path):
    result = call("compare", file, "--json", "--out", tmp_path / "new" / "folder", *FAST)
    read = json.loads(result.stdout)
    assert result.stderr == ""
    assert read["name"] == "poisson" and read["shape"] == [144, 144]
    assert all(Path(path).exists() for path in read["saved"])


def test_compare_options_choose(file):
    options = ["--format", "hm", "--format", "csr", "--op", "matvec", "--kernel", "all", "--threads", "1"]
    read = json.loads(call("compare", file, "--json", *options, *FAST).stdout)
    assert {row["format"] for row in read["rows"]} == {"hm", "csr", "scipy"}
    assert {row["op"] for row in read["rows"]} == {"matvec"}
    assert {row["kernel"] for row in read["rows"] if row["format"] == "hm"} == set(
        ds.array(ds.gallery.tridiagonal(3), "hm").kernels("matvec")
    )
    assert read["threads"] == 1


@pytest.mark.parametrize("suffix", at_night([".mtx.gz", ".npz"], before=[".npz"]))
@pytest.mark.parametrize("format", at_night(["csr", "dia", "coo"], before=["csr"]))
def test_one_file_has_one_advice_and_one_name(tmp_path, format, suffix):
    """`compare` measures, and says what was fastest; the advice is that of `info` and `recommend`, word for word."""
    path = tmp_path / f"a.grid{suffix}"
    ds.write(path, ds.array(ds.gallery.stencil(5, 30), format))
    texts = [call(*command, path).stdout for command in (("compare", *FAST), ("info",), ("recommend",))]
    advice = [[line for line in text.splitlines() if line.startswith("Advice: ")] for text in texts]
    assert len(advice[0]) == 1 and advice[0] == advice[1] == advice[2]
    assert len([line for line in texts[0].splitlines() if line.startswith("Fastest here: ")]) == 1
    read = [json.loads(call(*command, path, "--json").stdout) for command in (("compare", *FAST), ("info",))]
    assert read[0]["name"] == read[1]["name"] == "a.grid"
    assert read[0]["advice"]["candidates"][0]["name"] == read[1]["advice"]["candidates"][0]["name"]


@pytest.mark.parametrize(("text", "bytes_"), [("3000", 3000), ("3KB", 3000), ("0.003m", 3000)])
def test_max_bytes_takes_units(file, text, bytes_):
    read = json.loads(call("compare", file, "--json", "--max-bytes", text, *FAST).stdout)
    assert {s["format"] for s in read["skipped"] if s["op"] == "convert"} == {*ds.formats(), "scipy bsr"}
    assert "(limit 3.0 KB; --max-bytes)" in read["skipped"][0]["reason"]


def test_quiet_prints_only_the_result(file):
    assert call("compare", file, "--quiet", *FAST).output == ""  # which writes files
    assert call("info", file, "--quiet").stdout == call("info", file).stdout != ""
    assert call("config", "--quiet").stdout.startswith("diagsparse")


def test_json_writes_no_files_unless_asked(file, tmp_path):
    before = set(tmp_path.rglob("*"))
    assert json.loads(call("compare", file, "--json", *FAST).stdout)["saved"] == []
    assert set(tmp_path.rglob("*")) == before
    saved = json.loads(call("compare", file, "--json", "--out", ".", *FAST).stdout)["saved"]
    assert saved == ["poisson-compare.json", "poisson-compare.png", "poisson-roofline.png"]


def test_tables_of_invalid_reports(tmp_path):
    for text, words in (
        ('{"a": 1}', "has rows"),
        ("[1]", "has rows"),
        ("{", "no JSON"),
        ('{"rows": [], "experiment": 1}', "rows"),
        (
            '{"rows": [], "hardware": {}, "quick": false, "experiment": "wide"}',
            "a report of wide, expected one of cases",
        ),
    ):
        (tmp_path / "other.json").write_text(text)
        result = call("bench", "--table", "other.json", status=2)
        assert result.stderr.startswith("diagsparse: error: other.json: ") and words in result.stderr
    assert "missing.json" in call("bench", "--table", "missing.json", status=2).stderr


def test_an_empty_matrix_may_have_any_format(tmp_path):
    (tmp_path / "empty.mtx").write_text("%%MatrixMarket matrix coordinate real general\n5 5 0\n")
    assert (
        call("info", "empty.mtx")
        .stdout.splitlines()[-1]
        .endswith("The matrix has no entries, so all formats are equally fast.")
    )


def test_a_failed_check_exits_with_1(file, monkeypatch):
    class Wrong(exactness.MatvecCheck):
        def __call__(self, y):
            return 1.5

    monkeypatch.setattr(exactness, "MatvecCheck", Wrong)
    assert "FAILED" in call("compare", file, *FAST, status=1).stdout


# ---- errors -------------------------------------------------------------------------------------------------------
def test_a_broken_file_is_one_line_on_standard_error(tmp_path):
    (tmp_path / "broken.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n")
    for command in (["compare", "broken.mtx"], ["info", "broken.mtx"], ["convert", "broken.mtx", "a.npz"]):
        result = call(*command, status=2)
        assert result.stdout == ""
        assert result.stderr.startswith("diagsparse: error: broken.mtx: line ")
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "missing.mtx"], "diagsparse: error: missing.mtx: No such file or directory"),
        (["info", "matrix.txt"], "matrix.txt: unknown suffix"),
        (["convert", "FILE", "a.npz", "--format", "nope"], 'no format "nope"; there are dia, hm'),
        (["convert", "FILE", "a.npz", "--format", "hm", "--max-bytes", "10"], "the limit is 10 B"),
        (["compare", "FILE", "--format", "nope"], 'no format "nope"'),
        (["compare", "FILE", "--kernel", "nope"], 'no kernel "nope"'),
        (["compare", "FILE", "--device", "tpu"], "device 'tpu'"),
        (["compare", "FILE", "--max-bytes", "much"], "expected a number of bytes such as 8000000, 500MB or 8G"),
        (["compare", "FILE", "--threads", "0"], "--threads"),
        (["compare", "FILE", "--op", "inverse"], "'inverse' is not one of"),
        (["compare"], "Missing argument 'FILE'"),
        (["bench", "nope"], 'bench: no case "nope"; there are the groups spmv'),
        (["bench", "tables-000"], "the papers' experiments are run in a clone, by `python -m benchmarks`"),
        (["nope"], "No such command 'nope'"),
    ],
)
def test_bad_usage_exits_with_2(file, arguments, message):
    result = call(*(file if a == "FILE" else a for a in arguments), status=2)
    assert message in result.stderr and result.stdout == ""


@pytest.mark.skipif(ds.cuda_available(), reason="there is a GPU")
def test_a_missing_gpu_is_reported(file):
    assert 'device="cpu"' in call("compare", file, "--device", "cuda", status=2).stderr


# ---- the other commands -------------------------------------------------------------------------------------------
def test_info_prints_structure_and_bytes(file):
    out = call("info", file).stdout
    assert out.splitlines()[0].startswith("poisson")
    assert "diagonals" in out and "hm " in out
    read = json.loads(call("info", file, "--json").stdout)
    assert set(read["bytes"]) == set(ds.formats()) and read["nnz"] == 672
    assert read["blocks_rcm"] == analyze(ds.read(file)).blocks_rcm
    advice = f"{read['advice']['candidates'][0]['name']}. {read['advice']['reason']}"
    assert out.splitlines()[-1] == f"Advice: {'stay with ' * read['advice']['unchanged']}{advice}"
    assert f"{read['blocks']} occupied, after reverse Cuthill-McKee {read['blocks_rcm']}" in out
    assert read["bitmap_blocks"]["8"]["blocks"] == read["blocks"]
    for name, one in read["other_formats"].items():  # formats that are not built here
        (line,) = (line for line in out.splitlines() if line.startswith(f"{name} "))
        assert str(one["stored"]) in line and line.endswith(one["suitable_for"])


def test_info_prints_the_bytes_of_the_layout_in_the_file(file):
    for A in (ds.read(file).asformat("ellcsr", symmetry="symmetric"), ds.hm_array(ds.read(file), period="auto")):
        ds.write("a.npz", A)
        assert json.loads(call("info", "a.npz", "--json").stdout)["bytes"][A.format] == A.nbytes
    lines = call("info", "a.npz").stdout.splitlines()
    (bytes_line,) = (line for line in lines if line.startswith("bytes "))
    first = lines[next(i for i, line in enumerate(lines) if line.startswith("format ")) + 1]
    assert bytes_line.split()[1] == first.split()[0] == "dia"  # which also stores one period, in fewer bytes


def test_recommend_prints_what_the_function_returns(file):
    expected = ds.recommend(ds.read(file), "matmul", products=7, formats=["hm", "csr"])
    chosen = ["--op", "matmul", "--products", "7", "--format", "hm", "--format", "csr"]
    assert call("recommend", file, *chosen).stdout.rstrip("\n") == str(expected)
    assert json.loads(call("recommend", file, *chosen, "--json").stdout) == json.loads(json.dumps(expected.to_dict()))


def test_recommend_for_systems(file):
    expected = ds.recommend(ds.read(file), "solve")
    assert call("recommend", file, "--op", "solve").stdout.rstrip("\n") == str(expected)
    assert json.loads(call("recommend", file, "--op", "solve", "--json").stdout) == json.loads(
        json.dumps(expected.to_dict())
    )
    assert "only for products" in call("recommend", file, "--op", "solve", "--tune", status=2).stderr


def test_convert_preserves_the_matrix(file, tmp_path):
    assert "<hm_array 144 x 144" in call("convert", file, "a.npz", "--format", "hm").stdout
    read = json.loads(call("convert", "a.npz", "b.mtx", "--json", "--out", tmp_path).stdout)
    assert read["format"] == "hm" and Path(read["saved"][0]) == tmp_path / "b.mtx"
    assert (ds.read(tmp_path / "b.mtx").toarray() == ds.read(file).toarray()).all()


def test_convert_prints_what_the_file_stores(file):
    call("convert", file, "a.npz", "--format", "sell")
    for name in ("b.mtx", "b.mtx.gz"):
        out = call("convert", "a.npz", name).stdout
        assert (
            f"{name}: 144 x 144 float64, 672 stored; Matrix Market files do not record the format\n" in out
            and "sell" not in out
        )


def test_errors_name_the_options_of_the_command(file, monkeypatch):
    error = call("convert", file, "a.npz", "--format", "hm", "--max-bytes", "20K", status=2).stderr
    assert "the limit is 20.0 KB" in error and "pass --max-bytes" in error and "max_bytes" not in error
    monkeypatch.setattr("diagsparse._backends.memory.SMALL", 0)
    monkeypatch.setattr("diagsparse._backends.memory.available_bytes", lambda backend=None: 1000)
    error = call("demo", *FAST, status=2).stderr  # which has no such option
    assert "1.0 KB are free" in error and "max" not in error


def test_config_lists_versions():
    assert "instruction" in call("config").stdout or "cpu kernels" in call("config").stdout
    assert json.loads(call("config", "--json").stdout)["diagsparse"] == ds.__version__


def test_demo_shows_structure_and_tables(monkeypatch, tmp_path):
    stencil, banded = ds.gallery.stencil, ds.gallery.banded
    monkeypatch.setattr(commands.gallery, "stencil", lambda points, shape: stencil(points, (20, 20)))
    monkeypatch.setattr(commands.gallery, "banded", lambda n, kl, ku, seed: banded(200, kl, ku, seed=seed))
    out = call("demo", *FAST).stdout
    assert out.count("C = A A   ") == 2 and out.count("diagonals") >= 2
    assert json.loads((tmp_path / "diagsparse-demo.json").read_text())["ok"] is True
    assert (tmp_path / "diagsparse-demo.png").stat().st_size > 10_000


def test_help_names_every_command():
    out = call("--help").stdout
    assert all(name in out for name in ("demo", "compare", "info", "convert", "bench", "config"))
    assert call("--version").stdout.startswith("diagsparse, version ")


def test_without_matplotlib_the_error_says_what_to_install(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = call("compare", file, *FAST)
    assert 'no poisson-compare.png: pictures need matplotlib: pip install "diagsparse[cli]"' in result.stderr
    assert result.stdout.endswith("Saved poisson-compare.json\n")
