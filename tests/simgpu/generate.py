#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""generate.py CUDA_INCLUDE_DIR OUTDIR: the parts of the simulated driver that follow from NVIDIA's headers.

stubs.c       every exported name that has no row in entry_points.def, as a counted CUDA_ERROR_NOT_SUPPORTED
proc_table.c  (name, version, per-thread) -> symbol, for cuGetProcAddress
error_names.c the names of CUresult
"""
import os
import re
import sys
from collections import defaultdict

HEADERS = ["cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"]
TYPEDEFS = ["cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h"]
HERE = os.path.dirname(os.path.abspath(__file__))


def read(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as f:
        text = f.read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    text = text.replace("\\\n", " ")
    return re.sub(r"#\s*ifdef\s+_WIN32\b.*?#\s*endif", " ", text, flags=re.S)


def split_parameters(parameters):
    """The types of a parameter list, without parameter names and irrelevant spelling."""
    types = []
    for parameter in parameters.split(","):
        words = re.findall(r"\w+|\*", parameter)
        if words and words != ["void"] and re.match(r"\w", words[-1]) and len(words) > 1:
            words.pop()
        # An unversioned type is the newest version of itself: CUdevice = CUdevice_v1, CUdeviceptr = CUdeviceptr_v2.
        types.append(" ".join(re.sub(r"^CUdeviceptr$", "CUdeviceptr_v2", w) for w in words if w != "const"))
    return [re.sub(r"(?<!CUdeviceptr)_v\d+\b", "", t) for t in types]


def prototypes(directory):
    """{symbol: parameter types} of everything a driver exports."""
    found = {}
    for header in HEADERS:
        text = read(directory, header)
        start = text.rfind("#if defined(__CUDA_API_VERSION_INTERNAL)")
        if header in ("cudaEGL.h", "cudaProfiler.h") or start < 0:
            start = len(text)
        renames = {}
        for name, value in re.findall(r"^\s*#define\s+(cu\w+)\s+(\S+)\s*$", text[:start], flags=re.M):
            value = re.sub(r"__CUDA_API_PTDS\((\w+)\)", r"\1_ptds", value)
            renames[name] = re.sub(r"__CUDA_API_PTSZ\((\w+)\)", r"\1_ptsz", value)
        for match in re.finditer(r"\bCUresult\s+CUDAAPI\s+(cu\w+)\s*\(([^;{]*)\)\s*;", text):
            symbol = match.group(1)
            if match.start() < start:
                symbol = renames.get(symbol, symbol)
            found.setdefault(symbol, split_parameters(match.group(2)))
    return found


def split_symbol(symbol):
    """cuMemcpyHtoD_v2_ptds -> (cuMemcpyHtoD, 2, per thread)"""
    match = re.fullmatch(r"(\w+?)(?:_v(\d+))?(_ptsz|_ptds)?", symbol)
    return match.group(1), int(match.group(2) or 1), bool(match.group(3))


def typedefs(directory):
    """{(name, per thread): sorted [(version, parameter types)]}"""
    found = defaultdict(dict)
    for header in TYPEDEFS:
        for match in re.finditer(r"\(\s*CUDAAPI\s*\*\s*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\s*\)\s*\(([^;]*)\)\s*;", read(directory, header)):
            key = match.group(1), bool(match.group(3))
            found[key].setdefault(int(match.group(2)), split_parameters(match.group(4)))
    return {key: sorted(versions.items()) for key, versions in found.items()}


def align(versions, symbols):
    """Versions ascending onto symbols ascending, each pair with equal parameter types; as many pairs as possible, and of
    equally good ways the one that keeps to the newest."""
    best = {}

    def solve(i, j):
        if i < 0 or j < 0:
            return (0, [])
        if (i, j) not in best:
            options = [solve(i - 1, j), solve(i, j - 1)]
            if versions[i][1] == symbols[j][1]:
                count, pairs = solve(i - 1, j - 1)
                options.insert(0, (count + 1, pairs + [(versions[i][0], symbols[j][0])]))
            best[i, j] = max(options, key=lambda option: option[0])
        return best[i, j]

    return solve(len(versions) - 1, len(symbols) - 1)[1]


def proc_rows(directory, exported):
    groups = defaultdict(list)
    for symbol, parameters in exported.items():
        name, version, per_thread = split_symbol(symbol)
        groups[name, per_thread].append((version, symbol, parameters))
    rows = []
    for key, versions in sorted(typedefs(directory).items()):
        symbols = [(symbol, parameters) for _, symbol, parameters in sorted(groups.get(key, []))]
        pairs = align(versions, symbols)
        # What the spelling of types kept apart: the newest of what is left belong together.
        left_versions = [v for v, _ in versions if v not in [p[0] for p in pairs]]
        left_symbols = [s for s, _ in symbols if s not in [p[1] for p in pairs]]
        while left_versions and left_symbols:
            pairs.append((left_versions.pop(), left_symbols.pop()))
        for version in left_versions:
            print(f"generate.py: no symbol for {key[0]} {version}{' per thread' if key[1] else ''}", file=sys.stderr)
        rows += [(key[0], version, int(key[1]), symbol) for version, symbol in pairs]
    return sorted(rows)


def implemented():
    names = []
    with open(os.path.join(HERE, "entry_points.def"), encoding="utf-8") as f:
        for kind, name in re.findall(r"^(ENTRY\w*)\((\w+),", f.read(), flags=re.M):
            names.append(name)
            if kind.startswith("ENTRY_"):
                names.append(name + kind[len("ENTRY"):].lower())
    return names


def write(outdir, name, include, lines):
    with open(os.path.join(outdir, name), "w", encoding="utf-8") as f:
        f.write("/* Made by generate.py; not to be edited. */\n")
        f.write("".join(f'#include "{os.path.relpath(os.path.join(HERE, i), outdir)}"\n' for i in include) + "\n")
        f.write("\n".join(lines) + "\n")


def main():
    directory, outdir = sys.argv[1:]
    os.makedirs(outdir, exist_ok=True)
    exported = prototypes(directory)
    ours = implemented()
    unknown = sorted(set(ours) - set(exported))
    if unknown:
        sys.exit("generate.py: not in the headers: " + " ".join(unknown))
    stubs = sorted(set(exported) - set(ours))

    lines = []
    for number, name in enumerate(stubs):
        lines += [f'__attribute__((visibility("default"))) int {name}(void);', f"int {name}(void) {{ return stub_called({number}); }}"]
    lines += ["const char *const stub_names[] = {"] + [f'\t"{name}",' for name in stubs] + ["};"]
    lines += [f"const unsigned stub_count = {len(stubs)};"]
    write(outdir, "stubs.c", ["call_names.h"], lines)

    rows = proc_rows(directory, exported)
    lines = [f"extern int {symbol}(void);" for symbol in sorted({row[3] for row in rows})]
    lines += ["const struct proc proc_table[] = {"]
    lines += [f'\t{{ "{name}", {version}, {per_thread}, "{symbol}", {symbol} }},' for name, version, per_thread, symbol in rows]
    lines += ["};", f"const unsigned proc_count = {len(rows)};"]
    write(outdir, "proc_table.c", ["proc_table.h"], lines)

    enum = re.search(r"typedef enum cudaError_enum \{(.*?)\} CUresult;", read(directory, "cuda.h"), flags=re.S).group(1)
    lines = ["const struct error_name error_names[] = {"]
    lines += [f'\t{{ {value}, "{name}" }},' for name, value in re.findall(r"(CUDA_\w+)\s*=\s*(\d+)", enum)]
    lines += ["\t{ -1, 0 },", "};"]
    write(outdir, "error_names.c", ["errors.h"], lines)


if __name__ == "__main__":
    main()
