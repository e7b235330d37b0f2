#!/bin/sh
# One node of SLURM on this machine, to try `sentbook batch --executor slurm` where there is no cluster.
#
#   tools/slurm_node.sh start FOLDER    starts munged, slurmctld and slurmd, which listen on loopback alone
#   tools/slurm_node.sh stop FOLDER
#
# Needs root and Debian's slurmctld, slurmd, slurm-client and munge. All that they write lies in FOLDER, new or empty, but
# for /etc/slurm/slurm.conf, a link there while the node is up: jobs are not told of another place.
set -eu
usage="usage: tools/slurm_node.sh start|stop FOLDER"
[ $# = 2 ] || { echo "$usage" >&2; exit 2; }
mkdir -p "$2"
folder=$(cd "$2" && pwd)

ended() { # waits until the process of a file of its number is gone
    process=$(cat "$1" 2>/dev/null) || return 0
    kill "$process" 2>/dev/null || return 0
    for _ in $(seq 100); do kill -0 "$process" 2>/dev/null || return 0; sleep 0.1; done
    kill -KILL "$process"
}

case $1 in
stop)
    for name in slurmd slurmctld munged; do ended "$folder/$name.pid"; done
    [ "$(readlink /etc/slurm/slurm.conf)" != "$folder/slurm.conf" ] || rm /etc/slurm/slurm.conf
    ;;
start)
    for name in munged slurmctld slurmd sbatch; do
        command -v "$name" >/dev/null || { echo "$name is missing; install slurmctld slurmd slurm-client munge." >&2; exit 2; }
    done
    [ "$(id -u)" = 0 ] || { echo "slurmd runs jobs as who gave them, which takes root." >&2; exit 2; }
    [ ! -e "$folder/slurm.conf" ] || { echo "$folder holds a node; stop it and take a new folder." >&2; exit 2; }
    [ ! -e /etc/slurm/slurm.conf ] || { echo "This machine belongs to a cluster: /etc/slurm/slurm.conf." >&2; exit 2; }
    mkdir "$folder/state" "$folder/spool"
    head -c 64 /dev/urandom >"$folder/munge.key"
    chmod 600 "$folder/munge.key"
    cat >"$folder/slurm.conf" <<EOF
ClusterName=one
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
SlurmctldPort=${SLURMCTLD_PORT:-16817}
SlurmdPort=${SLURMD_PORT:-16818}
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MinJobAge=3600
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
    mkdir -p /etc/slurm
    ln -sf "$folder/slurm.conf" /etc/slurm/slurm.conf
    munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
        --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" >&2
    slurmctld >&2
    slurmd >&2
    for _ in $(seq 100); do
        sinfo -h -o %T 2>/dev/null | grep -q idle && break
        sleep 0.2
    done
    sinfo -h -o %T | grep -q idle || { echo "The node did not come up; see $folder/slurmd.log." >&2; exit 1; }
    ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac
