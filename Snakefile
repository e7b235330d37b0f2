# The grid: data -> vectors -> encoders -> notebooks -> verdicts -> book, each job one plain command line.
#
# `sentbook batch` decides what is to be done, by what each job was made from (the syntax of the modules that a notebook
# imports, parameters, data): finer than the times of files, and the same after a fresh clone. It writes the plan that is
# read here; Snakemake brings the jobs to cores, GPUs or a cluster in their order, and goes on where one fails.
#
# A job's output is its stamp alone. What Snakemake takes away before a job or after its failure is never a trained
# encoder, a recorded run or an executed notebook: those are replaced, whole, by the command itself.
import json
from pathlib import Path

PLAN = json.loads(Path(config["plan"]).read_text())
PROFILE = config["profile"]
AT = f"build/batch/{PROFILE}"
# Full width needs a GPU a job; see --resources gpu=N.
GPU = {"gpu": 1, "gpu_manufacturer": "nvidia"} if PROFILE == "paper" else {}


def of(level, field):
    return lambda wildcards: PLAN[f"{level}/{wildcards.name}"][field]


def before(level):
    return lambda wildcards: [ancient(stamp) for stamp in PLAN[f"{level}/{wildcards.name}"]["after"]]


wildcard_constraints:
    name=r"[\w/-]+",


localrules: all, data, verdicts, book


rule all:
    input: [f"{AT}/{job}.json" for job in PLAN]


rule data:
    output: f"{AT}/data/{{name}}.json"
    log: f"{AT}/data/{{name}}.log"
    shell: "SENTBOOK_STAMP={output} sentbook prepare data {wildcards.name} --profile {PROFILE} > {log} 2>&1"


rule vectors:
    input: before("vectors")
    output: f"{AT}/vectors/{{name}}.json"
    log: f"{AT}/vectors/{{name}}.log"
    resources: mem_mb=of("vectors", "mem_mb"), runtime=of("vectors", "runtime")
    shell: "SENTBOOK_STAMP={output} sentbook prepare vectors {wildcards.name} --profile {PROFILE} > {log} 2>&1"


rule encoders:
    input: before("encoders")
    output: f"{AT}/encoders/{{name}}.json"
    log: f"{AT}/encoders/{{name}}.log"
    threads: of("encoders", "threads")
    resources: mem_mb=of("encoders", "mem_mb"), runtime=of("encoders", "runtime"), **GPU
    shell: "SENTBOOK_STAMP={output} sentbook train {wildcards.name} --profile {PROFILE} > {log} 2>&1"


rule notebook:
    input: before("notebooks")
    output: f"{AT}/notebooks/{{name}}.json"
    log: f"{AT}/notebooks/{{name}}.log"
    threads: of("notebooks", "threads")
    resources: mem_mb=of("notebooks", "mem_mb"), runtime=of("notebooks", "runtime"), **GPU
    shell: "SENTBOOK_STAMP={output} sentbook run {wildcards.name} --profile {PROFILE} --no-page > {log} 2>&1"


rule verdicts:
    input: before("verdicts")
    output: f"{AT}/verdicts/{{name}}.json"
    log: f"{AT}/verdicts/{{name}}.log"
    shell: "SENTBOOK_STAMP={output} sentbook verdicts --profile {PROFILE} > {log} 2>&1"


rule book:
    input: before("book")
    output: f"{AT}/book/{{name}}.json"
    log: f"{AT}/book/{{name}}.log"
    shell: "SENTBOOK_STAMP={output} sentbook book --no-run --profile {PROFILE} > {log} 2>&1"
