#!/usr/bin/env python3
"""Two builds of rankscope-sim say the same of the gallery and of the lessons, to the last digit, and neither complains.

same_answers.py [--one-in N] PROGRAM OTHER

One of them is meant to be another compiler's with sanitizers: what reads memory that is not its own, or is right only as one
compiler orders it, falls here.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
COMMANDS = ["simulate --json --explain", "memory --json", "traffic --json", "describe --json", "groups --json"]
TIMES = {"wall_ms", "wall_s"}  # of this machine


def asked(one_in):
    scenarios = sorted((SOURCE / "scenarios").glob("*.json"))[::one_in]
    lessons = sorted((SOURCE / "assets/lessons").glob("*.json"))[::one_in]
    return [command.split() + [str(file)] for file in scenarios for command in COMMANDS] + \
           [["lesson", "check", str(file)] for file in lessons]


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key not in TIMES}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def answer(program, arguments):
    made = subprocess.run([program, *arguments], capture_output=True, text=True, env=os.environ, check=False)
    try:
        said = without_times(json.loads(made.stdout))
    except json.JSONDecodeError:
        said = made.stdout
    return made.returncode, said, made.stderr


def differences(a, b, place=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a.keys() | b.keys():
            yield from differences(a.get(key), b.get(key), f"{place}/{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b)):
            yield from differences(x, y, f"{place}/{index}")
    elif a != b:
        yield f"{place}: {a!r:.200} and {b!r:.200}"


def compare(programs, arguments):
    first, second = (answer(program, arguments) for program in programs)
    wrong = list(differences(first[1], second[1]))[:5]
    if first[0] != second[0]:
        wrong.append(f"exits with {first[0]} and {second[0]}")
    if first[2] != second[2]:
        wrong.append(f"says {first[2]!r:.2000} and {second[2]!r:.2000}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one-in", type=int, default=1, help="of the files, each so manieth")
    parser.add_argument("programs", nargs=2)
    given = parser.parse_args()
    calls = asked(given.one_in)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for arguments, wrong in zip(calls, pool.map(lambda call: compare(given.programs, call), calls)):
            if wrong:
                failed += 1
                print(" ".join(arguments), *wrong, sep="\n  ")
    print(f"same answers: {len(calls) - failed} of {len(calls)}")
    return 1 if failed or not calls else 0


if __name__ == "__main__":
    sys.exit(main())
