#!/usr/bin/env python3
"""A PyTorch trace without what tests do not read: operators of the host but those of communication, and flows. For tests/data.

trim_trace.py IN.json.gz OUT.json.gz
"""
import gzip
import json
import sys


def is_kept(event):
    category = event.get("cat")
    if category in ("cpu_op", "ac2g", "fwdbwd"):
        return event.get("name") == "record_param_comms"
    if category in ("cuda_runtime", "cuda_driver"):
        return "Launch" in event.get("name", "")
    return True


def main():
    with gzip.open(sys.argv[1], "rt") as file:
        trace = json.load(file)
    trace["traceEvents"] = [event for event in trace["traceEvents"] if is_kept(event)]
    for event in trace["traceEvents"]:
        for name in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Ev Idx", "Record function id", "est. achieved occupancy %",
                     "warps per SM", "blocks per SM", "registers per thread", "shared memory", "grid", "block"):
            event.get("args", {}).pop(name, None)
    with open(sys.argv[2], "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=9) as file:
        file.write(json.dumps(trace, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
