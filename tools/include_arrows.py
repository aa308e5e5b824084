#!/usr/bin/env python3
"""Checks that includes follow the arrows of the house: app -> live -> sim, and inside sim and app downwards only."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folder -> folders of this project that it may include besides itself. "sim" stands for the files directly in sim/.
ALLOWED = {
    "sim/trace": set(),
    "sim/scenario": {"sim"},
    "sim/mesh": {"sim", "sim/scenario"},
    "sim/model": {"sim", "sim/scenario"},
    "sim/schedule": {"sim", "sim/scenario", "sim/mesh", "sim/model"},
    "sim/program": {"sim", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule"},
    "sim/cost": {"sim", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/program"},
    "sim/engine": {"sim", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/program", "sim/cost"},
    "sim/analysis": {"sim", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/program", "sim/cost", "sim/engine", "sim/trace"},
    "sim/answers": {"sim", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/analysis"},
    "sim/lesson": {"sim", "sim/scenario", "sim/mesh", "sim/analysis", "sim/answers"},
    "live/tensor": set(),
    "live/tasks": set(),
    "live/record": {"sim/trace"},
    "live/kernels": {"live/tensor", "live/tasks"},
    "live/comm": {"live/tensor", "live/tasks", "live/kernels", "live/record"},
    "live/model": {"live/tensor", "live/tasks", "live/kernels", "live/comm", "live/record", "sim"},
    "live/runtime": {"live/tensor", "live/tasks", "live/kernels", "live/comm", "live/record", "live/model", "sim"},
    "live/stream": {"live/record", "sim"},
    "app/canvas": set(),
    "app/views": {"app/canvas", "sim"},
    "app/session": {"app/canvas", "app/views", "sim", "live/stream", "live/record"},
    "app/shell": {"app/canvas", "app/views", "app/session", "sim", "live/stream"},
}
# Folders that must not see these outside headers.
FORBIDDEN = {"sim": r"^(Q[A-Z]|imgui|cuda|nccl)", "live": r"^(Q[A-Z]|imgui)", "app/views": r"^(Q[A-Z]|imgui|GL/)"}
# In the public headers of the app's lower parts too: a view draws on any canvas.
FORBIDDEN_FILES = {"app/canvas/canvas.h": r"^(Q|imgui|GL/)", "app/canvas/view.h": r"^(Q|imgui|GL/)"}
# What everyone may include.
BASE = {"sim/error.h", "sim/cancel.h", "sim/memory_limit.h"}
INCLUDE = re.compile(r'^\s*#include\s*[<"]([^>"]+)[>"]', re.M)


def folder_of(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def main() -> int:
    problems = []
    for file in sorted([*ROOT.glob("sim/**/*"), *ROOT.glob("live/**/*"), *ROOT.glob("app/**/*")]):
        if file.suffix not in {".h", ".cpp"}:
            continue
        name = file.relative_to(ROOT).as_posix()
        folder = folder_of(name)
        for include in INCLUDE.findall(file.read_text()):
            for prefix, pattern in FORBIDDEN.items():
                if name.startswith(prefix + "/") and re.match(pattern, include):
                    problems.append(f"{name}: {include} has no place in {prefix}")
            if name in FORBIDDEN_FILES and re.match(FORBIDDEN_FILES[name], include):
                problems.append(f"{name}: {include} has no place here")
            if include in BASE or not include.startswith(("sim/", "app/", "live/")) or folder not in ALLOWED:
                continue
            target = folder_of(include)
            allowed = ALLOWED[folder] | {folder}
            fits = target in allowed or ("sim" in allowed and folder.startswith(("app/", "live/")) and target.startswith("sim"))
            if not fits:
                problems.append(f"{name}: includes {include}, but {folder} may include only {', '.join(sorted(allowed))}")
    print("\n".join(problems) if problems else "include arrows: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
