#!/usr/bin/env bash
# A sweep as an array of SLURM jobs, one part each. The parts share a folder or a bucket, and nothing else.
#
#   sbatch --array=1-64 slurm-array.sh PLACE 64
#
# To run some parts again, keep the number of parts: sbatch --array=3,17 slurm-array.sh PLACE 64
#SBATCH --job-name=upskill-sweep
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail

place=${1:?usage: sbatch --array=1-PARTS slurm-array.sh PLACE PARTS}
parts=${2:?usage: sbatch --array=1-PARTS slurm-array.sh PLACE PARTS}

# `exec`, so that the signal that comes two minutes before the end of the time reaches upskill, which then keeps what it has.
exec upskill sweep run "$place" --shard "${SLURM_ARRAY_TASK_ID:?}/$parts" -j "${SLURM_CPUS_PER_TASK:-1}" --yes
