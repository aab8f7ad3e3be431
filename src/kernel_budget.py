"""Counts what is compiled from each file of kernels, and fails where that is more than its budget.

    python src/kernel_budget.py BUILD_FOLDER

prints the table. Of CUDA it counts kernels, on the CPU functions, of the instruction set that has most. They are what a
build spends its time on, and one more bool among the parameters of a template doubles them. A file that needs more gets
a larger number here, in a commit that says how long the build takes then; a new file gets a line. On the CPU there is
some room, since compilers differ in what they inline.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parent
BUDGET = {
    "cpp/kernels/bmsparse.cpp": 30,
    "cpp/kernels/coo.cpp": 110,
    "cpp/kernels/coosc.cpp": 4,
    "cpp/kernels/coosr.cpp": 4,
    "cpp/kernels/csb.cpp": 270,
    "cpp/kernels/csc.cpp": 80,
    "cpp/kernels/each_set/bmsparse.cpp": 150,
    "cpp/kernels/each_set/cdm.cpp": 4,
    "cpp/kernels/each_set/chain_blocked.cpp": 80,
    "cpp/kernels/each_set/csr.cpp": 110,
    "cpp/kernels/each_set/dia.cpp": 4,
    "cpp/kernels/each_set/hm.cpp": 4,
    "cpp/kernels/each_set/matmul_dense_tiles.cpp": 40,
    "cpp/kernels/each_set/matmul_row_tiles.cpp": 130,
    "cpp/kernels/each_set/matvec_row_tiles.cpp": 140,
    "cpp/kernels/each_set/mdia.cpp": 4,
    "cpp/kernels/each_set/mdia_matmul.cpp": 80,
    "cpp/kernels/each_set/mdia_matvec.cpp": 190,
    "cpp/kernels/each_set/mirror_sums.cpp": 12,
    "cpp/kernels/each_set/qband.cpp": 40,
    "cpp/kernels/each_set/read_bandwidth.cpp": 4,
    "cpp/kernels/each_set/sequential.cpp": 60,
    "cpp/kernels/each_set/sell.cpp": 120,
    "cpp/kernels/ell.cpp": 210,
    "cpp/kernels/ellcsr.cpp": 400,
    "cpp/kernels/ellcsr_rows.cpp": 80,
    "cpp/kernels/hyb.cpp": 4,
    "cpp/kernels/rest_by_rows.cpp": 80,
    "cpp/kernels/rest_by_segments.cpp": 155,
    "cpp/kernels/scatter.cpp": 2,
    "cpp/kernels/sell.cpp": 40,
    "cpp/kernels/jds.cpp": 255,
    "cpp/kernels/mdia.cpp": 60,
    "cuda/device/bytes.cu": 2,
    "cuda/device/device_array.cu": 44,
    "cuda/device/resident.cu": 1,
    "cuda/entries/coordinates.cu": 5,
    "cuda/entries/entries.cu": 26,
    "cuda/entries/marked_rows.cu": 9,
    "cuda/entries/product_rows.cu": 3,
    "cuda/entries/row_products.cu": 2,
    "cuda/entries/sorted_keys.cu": 24,
    "cuda/kernels/band/clusters.cu": 4,
    "cuda/kernels/band/matmul.cu": 34,
    "cuda/kernels/batch/row.cu": 24,
    "cuda/kernels/bmsparse/convert.cu": 16,
    "cuda/kernels/bmsparse/cuda_cores.cu": 12,
    "cuda/kernels/bmsparse/matmul.cu": 39,
    "cuda/kernels/bmsparse/matvec.cu": 100,
    "cuda/kernels/bmsparse/matvec_thesis.cu": 40,
    "cuda/kernels/bmsparse/matvec_tiles.cu": 20,
    "cuda/kernels/bmsparse/pairs.cu": 5,
    "cuda/kernels/bmsparse/tasks.cu": 10,
    "cuda/kernels/bmsparse/tensor_cores.cu": 8,
    "cuda/kernels/chain/axpby.cu": 8,
    "cuda/kernels/chain/blocked.cu": 9,
    "cuda/kernels/csb.cu": 42,
    "cuda/kernels/dense_tiles/matmul.cu": 10,
    "cuda/kernels/ell.cu": 84,
    "cuda/kernels/ellcsr.cu": 160,
    "cuda/kernels/ellcsr_rows.cu": 21,
    "cuda/kernels/jds.cu": 26,
    "cuda/kernels/matmul/atomic.cu": 28,
    "cuda/kernels/matmul/block.cu": 14,
    "cuda/kernels/matmul/entry.cu": 12,
    "cuda/kernels/matmul/row.cu": 24,
    "cuda/kernels/matmul/staged.cu": 2,
    "cuda/kernels/matmul/tiled.cu": 12,
    "cuda/kernels/matvec/row.cu": 113,
    "cuda/kernels/mdia/convert.cu": 24,
    "cuda/kernels/mdia/masks.cu": 3,
    "cuda/kernels/mdia/matmul.cu": 12,
    "cuda/kernels/mdia/matvec.cu": 80,
    "cuda/kernels/mdia/merges.cu": 9,
    "cuda/kernels/period/matvec.cu": 60,
    "cuda/kernels/qband/matvec.cu": 64,
    "cuda/kernels/qband/rest_of_product.cu": 12,
    "cuda/kernels/qband/segments.cu": 42,
    "cuda/kernels/qband/terms.cu": 25,
    "cuda/kernels/rows/gather.cu": 84,
    "cuda/kernels/rows/hash.cu": 29,
    "cuda/kernels/rows/matmul.cu": 12,
    "cuda/kernels/rows/merge.cu": 16,
    "cuda/kernels/rows/shares.cu": 2,
    "cuda/kernels/rows/pairs.cu": 1,
    "cuda/kernels/rows/scatter.cu": 16,
    "cuda/kernels/rows/stream.cu": 32,
    "cuda/kernels/rows/terms.cu": 27,
    "cuda/kernels/sell.cu": 90,
    "cuda/matrices/columns.cu": 9,
    "cuda/matrices/convert.cu": 40,
    "cuda/matrices/gate.cu": 5,
    "cuda/matrices/stored_values.cu": 18,
    "cuda/matrices/repeats.cu": 4,
    "cuda/matrices/summary.cu": 20,
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
        print(f"{count:8}  {BUDGET.get(source, 0):6}  {source}")
    print(f"{sum(counts.values()):8}  {sum(BUDGET.get(source, 0) for source in counts):6}  all")
    over = {source: count for source, count in counts.items() if count > BUDGET.get(source, 0)}
    for source, count in over.items():
        what = "kernels" if source.endswith(".cu") else "functions"
        print(f"src/{source}: {count} {what}, {BUDGET.get(source, 0)} allowed by kernel_budget.py", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
