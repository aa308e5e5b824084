"""Bytes that rankscope-live collect reads: a JSON header and frames packed column by column (live/stream/pack.h): the smallest
value (8 bytes), the width of a difference to it (0, 1, 2, 4 or 8 bytes), the differences, little-endian."""
import array
import json
import struct
import sys

VERSION = 1
MOST_RECORDS = 8192  # of a frame

# live/record/recorder.h
ACTIONS, COMPUTE, TP, CP, EP, DP, SEND_FORWARD, SEND_BACKWARD, RECEIVE = range(9)
TRACK_OF_AXIS = {"tp": TP, "cp": CP, "ep": EP, "dp": DP}
# sim/trace/trace.h
FORWARD, BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT, RECOMPUTE, OPTIMIZER, TP_COMM, CP_COMM, EP_COMM, PP_COMM, DP_COMM, HOST, OTHER = range(13)
CLASS_OF_AXIS = {"tp": TP_COMM, "cp": CP_COMM, "ep": EP_COMM, "pp": PP_COMM, "dp": DP_COMM}

_TYPES = ((0xFF, "B", 1), (0xFFFF, "H", 2), (0xFFFFFFFF, "I", 4), (0xFFFFFFFFFFFFFFFF, "Q", 8))


def header(kind, **members):
    return json.dumps({"v": VERSION, "type": kind, **members}, separators=(",", ":")).encode()


def _column(values):
    least, most = min(values), max(values)
    if least == most:
        return struct.pack("<qB", least, 0)
    for limit, code, width in _TYPES:
        if most - least <= limit:
            break
    packed = array.array(code, [value - least for value in values])
    if sys.byteorder == "big":
        packed.byteswap()
    return struct.pack("<qB", least, width) + packed.tobytes()


def pack_spans(rank, spans):
    """spans: (track, step, kind, microbatch, start, end, bytes, correlation), at most MOST_RECORDS, at least one."""
    track, step, kind, microbatch, start, end, size, correlation = zip(*spans)
    nothing = struct.pack("<qB", 0, 0)
    return b"".join((
        struct.pack("<IqB", len(spans), rank, 0), _column(track), _column(step), _column(kind), _column(microbatch), _column(start),
        _column([b - a for a, b in zip(start, end)]), nothing, nothing, _column(size), _column(correlation)))


def pack_memory(rank, values):
    """values: (time, bytes held)."""
    time, held = zip(*values)
    return struct.pack("<IqB", len(values), rank, 0) + _column(time) + _column(held)
