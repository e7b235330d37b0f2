# The grid: data -> vectors -> encoders -> notebooks -> verdicts -> book, each job one plain command line.
#
# `sentbook batch` calls this; `snakemake --cores 2` does the same without its choice of jobs.
#
# Beside each job lies a small file with the digests of all that it is made from (the syntax of the modules that it
# loaded, parameters, data), written only where they change: what runs again is finer than the times of files. A job's
# output is its stamp alone. What Snakemake takes away before a job or after its failure is never a trained encoder, a
# recorded run or an executed notebook: those are replaced, whole, by the command itself.
from sentbook.runs import batch

if workflow.is_main_process and not workflow.dryrun:
    logger.addHandler(batch.JobLines())
PROFILE = config.get("profile", "demo")
# On a cluster's node the digests are those of the plan.
JOBS = batch.plan(PROFILE) if workflow.is_main_process else batch.jobs(PROFILE)
AT = f"build/batch/{PROFILE}"
# Full width needs a GPU a job; see --resources gpu=N.
GPU = {"gpu": 1, "gpu_manufacturer": "nvidia"} if PROFILE == "paper" else {}
COMMANDS = {
    "data": "sentbook prepare data",
    "vectors": "sentbook prepare vectors",
    "encoders": "sentbook train",
    "notebooks": "sentbook run --no-page",
}


def before(name):
    """Stamps of what comes first. Who runs after encoders that are made again has loaded the code that made them."""
    return [f"{AT}/{job}.done" for job in JOBS[name].after]


localrules: all, data, verdicts, book


rule all:
    input: f"{AT}/book.done"


for level, command in COMMANDS.items():

    rule:
        name: level
        input:
            f"{AT}/{level}/{{name}}.digests",
            lambda wildcards, level=level: before(f"{level}/{wildcards.name}"),
        output: f"{AT}/{level}/{{name}}.done"
        wildcard_constraints: name=r"[\w/-]+"
        log: f"{AT}/{level}/{{name}}.log"
        benchmark: f"{AT}/{level}/{{name}}.tsv"
        message: f"{level}/{{wildcards.name}}"
        threads: lambda wildcards, level=level: JOBS[f"{level}/{wildcards.name}"].threads
        resources:
            mem_mb=lambda wildcards, level=level: JOBS[f"{level}/{wildcards.name}"].resources()["mem_mb"],
            runtime=lambda wildcards, level=level: JOBS[f"{level}/{wildcards.name}"].resources()["runtime"],
            **(GPU if level in ("encoders", "notebooks") else {}),
        params: command=command
        shell: "SENTBOOK_STAMP={output} {params.command} {wildcards.name} --profile {PROFILE} > {log} 2>&1"


rule verdicts:
    input: f"{AT}/verdicts.digests", [f"{AT}/{job}.done" for job in JOBS["verdicts"].after]
    output: f"{AT}/verdicts.done"
    log: f"{AT}/verdicts.log"
    message: "verdicts"
    shell: f"SENTBOOK_STAMP={{output}} sentbook verdicts --profile {PROFILE} > {{log}} 2>&1"


rule book:
    input: f"{AT}/book.digests", [f"{AT}/{job}.done" for job in JOBS["book"].after]
    output: f"{AT}/book.done"
    log: f"{AT}/book.log"
    message: "book"
    shell: f"SENTBOOK_STAMP={{output}} sentbook book --no-run --profile {PROFILE} > {{log}} 2>&1"
