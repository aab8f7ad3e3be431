"""Counts what is compiled from each file of kernels, and fails where that is more than its budget.

    python src/kernel_budget.py BUILD_FOLDER

prints the table. Of CUDA it counts kernels, of each unit that CMakeLists.txt makes of the files of some folders; on the
CPU functions, of the instruction set that has most. They are what a build spends its time on, and one more bool among
the parameters of a template doubles them. A file that needs more than most gets a number here, in a commit that says
how long the build takes then. On the CPU there is some room, since compilers differ in what they inline.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parent
DEFAULT = 60  # of a file that is not listed
BUDGET = {
    "cpp/formats/bmsparse/simd.cpp": 150,
    "cpp/formats/coo/cpu.cpp": 100,
    "cpp/formats/csb/cpu.cpp": 140,
    "cpp/formats/csc/cpu.cpp": 75,
    "cpp/formats/csr/simd.cpp": 110,
    "cpp/formats/ell/cpu.cpp": 170,
    "cpp/formats/ellcsr/cpu.cpp": 210,
    "cpp/formats/ellcsr/cpu_convert.cpp": 80,
    "cpp/formats/jds/cpu.cpp": 170,
    "cpp/formats/mdia/cpu_palette.cpp": 116,
    "cpp/formats/mdia/simd_matmul.cpp": 90,
    "cpp/formats/mdia/simd_matvec.cpp": 200,
    "cpp/formats/qband/cpu_rest_by_rows.cpp": 80,
    "cpp/formats/qband/cpu_rest_by_segments.cpp": 155,
    "cpp/formats/sell/simd.cpp": 130,
    "cpp/kernels/simd/chain_blocked.cpp": 70,
    "cpp/kernels/simd/matmul_row_tiles.cpp": 105,
    "cpp/kernels/simd/matvec_row_tiles.cpp": 175,
}
# Of the units of CUDA.
UNITS = {
    "diagonals": 209,
    "formats": 680,
    "layouts": 425,
    "matmul": 125,
    "matrices": 219,
    "multigrid": 135,
    "rows": 220,
    "sampled": 69,
    "systems": 220,
}


def tool(*command: object) -> str:
    """Return what a program says about an object file."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def compiled(path: Path, nm: str, objdump: str) -> int:
    """Return how many kernels (of CUDA) or functions an object file holds."""
    if path.name.endswith(".cu.o"):  # each kernel is made known to the run time once
        return tool(objdump, "-r", path).count("__cudaRegisterFunction")
    # Parts and clones that the compiler splits off, `name.cold` and such, belong to their function.
    return len({name.partition(".")[0] for name in re.findall(r" [tTwW] (\S+)", tool(nm, path))} - {""})


def counted(build: Path, nm: str, objdump: str) -> dict[str, tuple[int, int]]:
    """Return how much each file of kernels, or unit of CUDA, in a build folder holds, and its budget."""
    counts: dict[str, tuple[int, int]] = {}
    for path in sorted(build.glob("CMakeFiles/*.dir/src/**/*.o")):
        target, source = path.relative_to(build / "CMakeFiles").as_posix().removesuffix(".o").split(".dir/src/")
        if (source.endswith(".cu") or target.startswith("kernels")) and (SOURCES / source).exists():
            count = max(counts.get(source, (0, 0))[0], compiled(path, nm, objdump))
            counts[source] = count, BUDGET.get(source, DEFAULT)
    for path in sorted(build.glob("CMakeFiles/_cuda.dir/Unity/unity_*_cu.cu.o")):
        unit = path.name.removeprefix("unity_").removesuffix("_cu.cu.o")
        counts["cuda, " + unit] = compiled(path, nm, objdump), UNITS.get(unit, DEFAULT)
    return counts


def main() -> int:
    """Print the table; return 1 where a file is over its budget, or has none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the folder that CMake has built in")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--objdump", default="objdump")
    args = parser.parse_args()
    counts = counted(args.build, args.nm, args.objdump)
    if not counts:
        parser.error(f"no objects of kernels in {args.build}")
    print("compiled  budget  file")
    for source, (count, budget) in sorted(counts.items(), key=lambda item: -item[1][0]):
        print(f"{count:8}  {budget:6}  {source}")
    print(f"{sum(count for count, _ in counts.values()):8}  {sum(budget for _, budget in counts.values()):6}  all")
    over = {source: both for source, both in counts.items() if both[0] > both[1]}
    for source, (count, budget) in over.items():
        what = "kernels" if source.startswith("cuda") else "functions"
        print(f"{source}: {count} {what}, {budget} allowed by kernel_budget.py", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
