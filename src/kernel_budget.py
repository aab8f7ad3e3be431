"""Counts what is compiled from each file of kernels, and fails where that is more than its budget.

    python src/kernel_budget.py BUILD_FOLDER

prints the table. Of CUDA it counts kernels, on the CPU functions, of the instruction set that has most. They are what a
build spends its time on, and one more bool among the parameters of a template doubles them. A file that needs more than
most gets a number here, in a commit that says how long the build takes then. On the CPU there is some room, since
compilers differ in what they inline.
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
    "cpp/formats/mdia/simd_matmul.cpp": 80,
    "cpp/formats/mdia/simd_matvec.cpp": 170,
    "cpp/formats/qband/cpu_rest_by_rows.cpp": 80,
    "cpp/formats/qband/cpu_rest_by_segments.cpp": 155,
    "cpp/formats/sell/simd.cpp": 130,
    "cpp/kernels/simd/chain_blocked.cpp": 70,
    "cpp/kernels/simd/matmul_row_tiles.cpp": 105,
    "cpp/kernels/simd/matvec_row_tiles.cpp": 140,
    "cuda/formats/bmsparse/matvec.cu": 100,
    "cuda/formats/ell/matvec.cu": 88,
    "cuda/formats/ellcsr/matvec.cu": 160,
    "cuda/formats/mdia/matvec.cu": 80,
    "cuda/formats/qband/matvec.cu": 64,
    "cuda/formats/sell/matvec.cu": 90,
    "cuda/kernels/diagonals/row.cu": 113,
    "cuda/kernels/rows/gather.cu": 84,
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


def main() -> int:
    """Print the table; return 1 where a file is over its budget, or has none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the folder that CMake has built in")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--objdump", default="objdump")
    args = parser.parse_args()
    counts: dict[str, int] = {}
    for path in sorted(args.build.glob("CMakeFiles/*.dir/src/**/*.o")):
        target, source = path.relative_to(args.build / "CMakeFiles").as_posix().removesuffix(".o").split(".dir/src/")
        if (source.endswith(".cu") or target.startswith("kernels")) and (SOURCES / source).exists():
            counts[source] = max(counts.get(source, 0), compiled(path, args.nm, args.objdump))
    if not counts:
        parser.error(f"no objects of kernels in {args.build}")
    print("compiled  budget  file")
    for source, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:8}  {BUDGET.get(source, DEFAULT):6}  {source}")
    print(f"{sum(counts.values()):8}  {sum(BUDGET.get(source, DEFAULT) for source in counts):6}  all")
    over = {source: count for source, count in counts.items() if count > BUDGET.get(source, DEFAULT)}
    for source, count in over.items():
        what = "kernels" if source.endswith(".cu") else "functions"
        print(
            f"src/{source}: {count} {what}, {BUDGET.get(source, DEFAULT)} allowed by kernel_budget.py", file=sys.stderr
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
