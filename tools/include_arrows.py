#!/usr/bin/env python3
"""Checks that includes follow the arrows of the house: app -> live -> sim, and inside each downwards only."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folder -> what it may include besides itself and what lies directly in its parent: folders of this project, each with what lies
# in it; or single files. "sim" as a target is all of sim. Every folder with code has a line, or lies in one that has.
ALLOWED = {
    "sim/trace": [],
    "sim/text": [],
    "sim/schedule": ["sim/text"],
    "sim/schedule/search": ["sim/text", "sim/schedule/families"],
    "sim/schedule/text": ["sim/text"],
    "sim/schedule/families": ["sim/text", "sim/schedule/text"],
    # The rules see the struct and its words alone; the reader of the file, which has them checked, lies above.
    "sim/legal": ["sim/text", "sim/schedule", "sim/scenario/scenario.h", "sim/scenario/head_exchange.h", "sim/scenario/words.h"],
    "sim/scenario": ["sim/text", "sim/schedule", "sim/legal"],
    "sim/mesh": ["sim/text", "sim/scenario"],
    "sim/model": ["sim/text", "sim/scenario"],
    "sim/program": ["sim/text", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/legal"],
    "sim/cost": ["sim/text", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/program"],
    "sim/engine": ["sim/text", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/program", "sim/cost"],
    "sim/simulate": ["sim/text", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/legal", "sim/program", "sim/cost",
                     "sim/engine", "sim/trace"],
    "sim/analysis": ["sim/text", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/legal", "sim/program", "sim/cost",
                     "sim/engine", "sim/simulate", "sim/trace"],
    # A layout from somebody else's trace: what was recorded, the words of layouts and schedules, and nothing that simulates.
    "sim/recovery": ["sim/text", "sim/scenario", "sim/mesh", "sim/schedule", "sim/legal", "sim/trace"],
    # A recorded run against the simulation of the same job.
    "sim/calibration": ["sim/text", "sim/scenario", "sim/mesh", "sim/schedule", "sim/program", "sim/cost", "sim/engine", "sim/simulate",
                        "sim/trace", "sim/recovery"],
    "sim/planner": ["sim/text", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/legal", "sim/program", "sim/cost",
                    "sim/engine", "sim/simulate", "sim/analysis", "sim/frameworks"],
    "sim/answers": ["sim/text", "sim/scenario", "sim/mesh", "sim/model", "sim/schedule", "sim/legal", "sim/engine", "sim/simulate",
                    "sim/analysis", "sim/trace", "sim/recovery", "sim/planner"],
    "sim/lesson": ["sim/text", "sim/scenario", "sim/mesh", "sim/schedule", "sim/program", "sim/simulate", "sim/analysis", "sim/answers"],
    "sim/frameworks": ["sim/frameworks/read", "sim/text", "sim/scenario", "sim/schedule", "sim/legal", "sim/mesh", "sim/model", "sim/simulate"],
    "sim/frameworks/read": ["sim/text", "sim/scenario"],
    "sim/frameworks/dialects": ["sim/text", "sim/scenario", "sim/frameworks/read"],
    "sim/frameworks/export": ["sim/frameworks/dialects", "sim/text", "sim/scenario", "sim/schedule", "sim/legal"],
    "sim/cli": ["sim"],
    "live/tensor": [],
    "live/tasks": [],
    "live/record": ["sim/trace"],
    "live/kernels": ["live/tensor", "live/tasks"],
    "live/comm": ["live/tensor", "live/tasks", "live/kernels", "live/record"],
    "live/model": ["live/tensor", "live/tasks", "live/kernels", "live/comm", "live/record", "sim"],
    "live/runtime": ["live/tensor", "live/tasks", "live/kernels", "live/comm", "live/record", "live/model", "sim"],
    "live/emulated": ["live/tensor", "live/tasks", "live/kernels", "live/comm", "live/record", "live/model", "live/runtime", "sim"],
    "live/huggingface": ["live/tensor", "live/tasks", "live/kernels", "live/comm", "live/record", "live/model", "live/runtime", "sim"],
    "live/profile": ["live", "sim"],
    # Lives in other people's programs: nothing of ours.
    "live/nccl_profiler": [],
    "live/stream": ["live/record", "sim"],
    "live/cli": ["live", "sim"],
    "app/canvas": ["sim/text"],
    "app/canvas/qt": ["app/canvas", "sim/text"],
    "app/step": ["sim"],
    "app/figure": ["app/canvas", "app/step", "app/views", "sim"],
    "app/views/common": ["app/canvas", "app/step", "sim"],
    "app/views/timeline": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/grid": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/traffic": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/memory": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/storage": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/block": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/order": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/live": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/glossary": ["app/canvas", "app/step", "app/views/common", "sim"],
    "app/views/compare": ["app/canvas", "app/step", "app/views/common", "app/views/timeline", "sim"],
    "app/views": ["app/canvas", "app/step", "app/views", "sim"],
    "app/session": ["app/canvas", "app/canvas/qt", "app/step", "sim", "live/stream", "live/record"],
    "app/shell/widgets": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "sim"],
    "app/shell/dialogs": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim", "live/stream"],
    "app/shell/share": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim"],
    "app/shell/form": ["app/step", "app/session", "app/shell/widgets", "sim"],
    "app/shell/gallery": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim"],
    "app/shell/details": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim"],
    "app/shell/findings": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim"],
    "app/shell/ops": ["app/step", "app/views", "app/session", "app/shell/widgets", "sim"],
    "app/shell/plan": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "app/shell/form",
                       "sim"],
    "app/shell/compare": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim"],
    "app/shell/live": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim", "live/stream"],
    "app/shell/recorded": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "sim",
                           "app/shell/film", "app/shell/window/transport_bar.h"],
    "app/lessons": ["app/canvas", "app/canvas/qt", "app/step", "app/views", "app/session", "app/shell/widgets", "app/shell/form",
                    "app/shell/presentation", "sim"],
    "app/shell/window": ["app", "sim", "live/stream"],
}
# Folders that must not see these outside headers.
FORBIDDEN = {
    "sim": r"^(Q[A-Z]|imgui|cuda|nccl)",
    "live": r"^(Q[A-Z]|imgui)",
    "app/canvas": r"^(Q[A-Z]|imgui|GL/)",
    "app/step": r"^(Q[A-Z]|imgui|GL/)",
    "app/views": r"^(Q[A-Z]|imgui|GL/)",
}
EXCEPT = ("app/canvas/qt",)
INCLUDE = re.compile(r'^\s*#include\s*[<"]([^>"]+)[>"]', re.M)


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def rule_of(folder: str) -> str | None:
    """The line that a folder stands under: its own, or that of the nearest folder around it."""
    while folder and folder not in ALLOWED:
        folder = folder.rpartition("/")[0]
    return folder or None


def fits(folder: str, include: str) -> bool:
    rule = rule_of(folder)
    target = include.rpartition("/")[0]
    if rule is not None and include in ALLOWED[rule]:
        return True
    if rule is None or target == rule or target == rule.rpartition("/")[0] or target == "sim":
        return True
    target_rule = rule_of(target)
    # A folder that is named brings what lies in it, but for parts that have lines of their own arrows: those of Qt are asked for.
    return any(within(target, allowed) and (allowed != "app/canvas" or not within(target, "app/canvas/qt")) for allowed in ALLOWED[rule]) or \
        target_rule == rule


def main() -> int:
    problems = []
    for file in sorted([*ROOT.glob("sim/**/*"), *ROOT.glob("live/**/*"), *ROOT.glob("app/**/*")]):
        if file.suffix not in {".h", ".cpp"}:
            continue
        name = file.relative_to(ROOT).as_posix()
        folder = name.rpartition("/")[0]
        for include in INCLUDE.findall(file.read_text()):
            for prefix, pattern in FORBIDDEN.items():
                if within(name, prefix) and not name.startswith(EXCEPT) and re.match(pattern, include):
                    problems.append(f"{name}: {include} has no place in {prefix}")
            if include.startswith(("sim/", "app/", "live/")) and not fits(folder, include):
                problems.append(f"{name}: includes {include}, but {rule_of(folder)} may include only {', '.join(ALLOWED[rule_of(folder)])}")
    print("\n".join(problems) if problems else "include arrows: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
