"""Checks for GPU kernels."""

from upskill.plugin import Plugin

PLUGIN = Plugin(
    checks={
        "cuda-compiles": "upskill_gpu.compiled:cuda_compiles",
        "cuda-simulated": "upskill_gpu.simulated:cuda_simulated",
        "kernel-package": "upskill_gpu.package:kernel_package",
        "kernel-project": "upskill_gpu.project:kernel_project",
        "torch-binding": "upskill_gpu.binding:torch_binding",
    }
)
