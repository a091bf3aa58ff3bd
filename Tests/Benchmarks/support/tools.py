"""The tools that are built beside the program: AccessBench, AppendBench, ClientBench, EvaluateBench, LedgerLoad and ProbeBench."""

import json
import os
import subprocess


def tool(variable: str) -> str:
    """The path of one of the tools built beside the program."""
    path = os.environ.get(variable, "")
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{variable} names no program ({path or 'unset'}): build it (make bench does)")
    return path


def run_json(command: list, **more) -> dict:
    """Runs a tool that prints one line of JSON at the end."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
