"""What the figures were measured on, and with."""

import os
import platform
import re
import subprocess
from pathlib import Path

from pinledger import BINARY


def describe(data: Path) -> dict:
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.+)", cpuinfo)
    return {
        "cores": os.cpu_count(),
        "cpu": model[1] if model else platform.machine(),
        "virtual": " hypervisor " in cpuinfo,
        "kernel": platform.release(),
        "ram_mib": int(memory[1]) // 1024 if memory else None,
        "database_file_system": _version("findmnt", "-n", "-o", "FSTYPE", "-T", str(data)),
        "load_average_before": [round(value, 2) for value in os.getloadavg()],
        "versions": {
            "pinledger": _version(BINARY, "--version"),
            "postgresql": _version("psql", "--version"),
            "nginx": _version("nginx", "-v"),
            "wrk": _version("wrk", "-v"),
            "h2load": _version("h2load", "--version"),
        },
    }


def _version(*command: str) -> str:
    """The first line of what the command says; some say it to standard error, with another exit code than 0."""
    done = subprocess.run(command, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else "unknown"
