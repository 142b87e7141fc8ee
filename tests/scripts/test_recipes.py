# SPDX-License-Identifier: BSD-2-Clause
"""The recipes do what they say, with stand-ins for torchrun, srun and docker; and every option and target that they name is there."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

TRAIN = """import ctypes, os, sys
lib = ctypes.CDLL("libcuda.so.1"); lib.cuInit(0)
device, context = ctypes.c_int(), ctypes.c_void_p()
lib.cuDeviceGet(ctypes.byref(device), 0)
lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
lib.cuCtxSetCurrent(context)
memory = ctypes.c_uint64()
lib.cuMemAlloc_v2(ctypes.byref(memory), 4096)
lib.cuMemsetD8_v2(memory, 0, 4096)
lib.cuCtxSynchronize()
sys.stdout.write(" ".join(["rank", *sys.argv[1:]]) + "\\n")  # at once, also where nothing is buffered: two of them share it
sys.exit(int(os.environ.get("STATUS", 0)))
"""
# Two processes, as of two devices; its arguments end where the script's name begins.
TORCHRUN = """#!/bin/bash
echo "$*" >>"$LOG/torchrun"
while [[ $1 != *.py ]]; do shift; done
"$PYTHON" "$@" & first=$!
"$PYTHON" "$@" & second=$!
wait $first; status=$?
wait $second && exit $status
"""
SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
status=0
for node in a b; do NODE=$node "$@" || status=$?; done
exit $status
"""
STUBS = {"torchrun": TORCHRUN, "srun": SRUN, "scontrol": "#!/bin/bash\nprintf 'a\\nb\\n'\n", "uname": '#!/bin/bash\necho "${NODE:-here}"\n',
         "docker": '#!/bin/bash\nprintf "%s\\n" "$@" >"$LOG/docker"\n'}


@pytest.fixture
def recipe(root, gpushim, shim, recorder):
    """Calls a recipe in a folder of its own, with our stand-ins first in PATH."""
    folder = recorder.new_folder()
    (folder / "path").mkdir()
    for name, text in STUBS.items():
        (folder / "path" / name).write_text(text)
        (folder / "path" / name).chmod(0o755)
    (folder / "path/gpushim").symlink_to(gpushim)
    (folder / "train.py").write_text(TRAIN)

    def run(name, *args, **env):
        env = recorder.environment(shim=False, PATH=f"{folder}/path:{os.environ['PATH']}", LOG=folder, PYTHON=sys.executable, GPUSHIM_LIBRARY=shim, **env)
        return subprocess.run(["bash", root / "scripts/recipes" / name, *args], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=100)
    run.folder = folder
    run.report = lambda *paths: json.loads(recorder.gpushim("report", *paths, "--json").stdout)
    return run


def test_torchrun_on_one_node(recipe):
    done = recipe("torchrun.sh", "train.py", "--epochs", "1", STATUS=5)
    assert done.returncode == 5 and sorted(done.stdout.splitlines()) == ["rank --epochs 1"] * 2
    assert (recipe.folder / "torchrun").read_text() == "--standalone --nproc-per-node gpu train.py --epochs 1\n"
    assert recipe.report(recipe.folder / "gpushim-out")["run"]["processes"] == 2 and "trust   idle" in done.stderr
    assert (recipe.folder / "gpushim-out/report.html").read_text().startswith("<!DOCTYPE html>")


def test_torchrun_on_several_nodes(recipe):
    for node in "ab":
        done = recipe("torchrun.sh", "train.py", NODE=node, NODES=2, RUN="job7", MASTER="a:29500", OUT=recipe.folder / "shared")
        assert done.returncode == 0, done.stderr
    assert "--nnodes 2 --nproc-per-node gpu --rdzv-backend c10d --rdzv-id job7 --rdzv-endpoint a:29500 train.py" in (recipe.folder / "torchrun").read_text()
    assert recipe.report(recipe.folder / "shared/a", recipe.folder / "shared/b")["run"]["processes"] == 4
    done = recipe("torchrun.sh", "train.py", NODES=2)
    assert done.returncode != 0 and "is the same word on every node" in done.stderr
    assert recipe("torchrun.sh").returncode == 2


@pytest.mark.parametrize("status", [0, 9])
def test_slurm(recipe, status):
    done = recipe("slurm.sbatch", "train.py", SLURM_SUBMIT_DIR=recipe.folder, SLURM_JOB_ID=41, SLURM_JOB_NODELIST="[a-b]", SLURM_JOB_NUM_NODES=2,
                  SLURM_GPUS_ON_NODE=2, GPUSHIM_HOST="off", STATUS=status)
    assert done.returncode == status, done.stderr
    out = recipe.folder / "gpushim-41"
    assert recipe.report(out / "a", out / "b")["run"]["processes"] == 4
    assert "--nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-id 41 --rdzv-endpoint a:29500 train.py" in (recipe.folder / "torchrun").read_text()
    assert (out / "report.html").exists()


def test_the_two_commands_of_the_readme(root, build, recipe):
    """The second one, as it stands there; the first is `make`."""
    lines = re.search(r"in two commands:\n\n((?: {4}.*\n)+)", (root / "README.md").read_text())[1].splitlines()
    make, run = (line.split("#")[0].strip() for line in lines)
    assert make == "make" and run.startswith("build/gpushim run ")
    (recipe.folder / "build").symlink_to(build)
    (recipe.folder / "path/python").symlink_to(sys.executable)
    (recipe.folder / "two.sh").write_text(run + "\n")
    done = recipe(recipe.folder / "two.sh")
    assert done.returncode == 0 and "\ntrust   idle" in done.stderr, done.stderr
    (page,) = re.findall(r"--html (\S+)", run)
    assert (recipe.folder / page).read_text().startswith("<!DOCTYPE html>") and f"gpushim: page {page}\n" in done.stderr


def options(gpushim, command):
    text = subprocess.run([gpushim, command, "--help"], capture_output=True, text=True, check=True).stdout
    return {"--" + name for name in re.findall(r"--([\w-]+)", text)} | {"-o"}


def own_options(words):
    """Those before the program."""
    return {word for word in words[:words.index("--")] if word.startswith("-")}


@pytest.mark.parametrize("probes", ["auto", "off"])
def test_docker(recipe, gpushim, probes):
    done = recipe("docker.sh", "image:1", "python", "train.py", "--x", PROBES=probes)
    assert done.returncode == 0, done.stderr
    said = (recipe.folder / "docker").read_text().splitlines()
    assert said[0] == "run" and ("BPF" in said) == ("PERFMON" in said) == (probes == "auto")
    inside = said[said.index("image:1") + 1:]
    assert inside[:2] == ["/opt/gpushim/bin/gpushim", "run"] and inside[-4:] == ["--", "python", "train.py", "--x"]
    assert own_options(inside) == {"-o", "--host", "--html"} <= options(gpushim, "run") and inside[inside.index("--host") + 1] == probes
    assert f"{recipe.folder}:/job" in said and recipe("docker.sh", "image:1").returncode == 2


def test_kubernetes(root, gpushim):
    yaml = pytest.importorskip("yaml")
    (job,) = yaml.safe_load_all((root / "scripts/recipes/kubernetes.yaml").read_text())
    pod = job["spec"]["template"]["spec"]
    (container,), (init,) = pod["containers"], pod["initContainers"]
    assert container["command"][:2] == ["/gpushim/bin/gpushim", "run"] and own_options(container["command"]) <= options(gpushim, "run")
    assert container["securityContext"]["capabilities"]["add"] == ["BPF", "PERFMON"]
    assert {variable["name"] for variable in container["env"]} == {"POD", "GPUSHIM_RUN"}
    mounted = {mount["name"] for each in (container, init) for mount in each["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    (to,) = [mount["mountPath"] for mount in init["volumeMounts"]]
    assert init["command"] == ["cp", "-a", "/opt/gpushim/.", to] and container["command"][0] == f"{to}/bin/gpushim"


def test_the_dockerfile_calls_what_make_has(root):
    text = (root / "scripts/recipes/Dockerfile").read_text()
    makefile = (root / "Makefile").read_text()
    for call in re.findall(r"make (?:-\S+ )?([a-z ]+)", text.replace("make ca-certificates", "")):
        for target in call.split():
            assert re.search(rf"^{target}:.*## ", makefile, re.M), target
    assert "$(BUILD)/gpushim-static" in makefile and "install -m 755 build/gpushim-static" in text


@pytest.mark.parametrize("name", ["torchrun.sh", "slurm.sbatch", "docker.sh"])
def test_shellcheck(root, name):
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    done = subprocess.run(["shellcheck", "-s", "bash", "-S", "warning", root / "scripts/recipes" / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
