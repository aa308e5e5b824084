#!/usr/bin/env python3
"""Times of single kernels as PyTorch runs them on one GPU: rows to hold the simulator's costs of attention and products against.

torch_kernels.py [--attention] > kernels.json
Attention is causal and by each of PyTorch's kernels; products are those of linear layers in bf16 and, where the GPU can, in fp8 with
one scale a tensor, beside the cast that makes an operand of it; experts' products go together (grouped). Operands are random: a GPU
that multiplies zeros takes less power and keeps a higher clock. "us": what the kernels of a call take by the profiler, medians of
five rounds of some 5 ms each after products that warm the GPU; "call_us": by the clock, the host's part of small ones included.
"""
import json
import statistics
import sys

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROUNDS, ROUND_US = 5, 5000
# sequences, length, heads, key-value heads, head size
ATTENTION = [(32, 512, 32, 32, 128), (16, 1024, 32, 32, 128), (8, 2048, 32, 32, 128), (4, 4096, 32, 32, 128), (2, 8192, 32, 32, 128),
             (1, 16384, 32, 32, 128), (1, 32768, 16, 16, 128), (1, 65536, 8, 8, 128), (16, 1024, 12, 12, 64), (4, 4096, 32, 32, 64),
             (1, 16384, 32, 32, 64), (2, 8192, 32, 8, 128), (1, 8192, 8, 8, 128), (1, 8192, 8, 1, 128), (1, 4096, 32, 32, 128),
             (1, 4096, 16, 16, 128), (1, 4096, 8, 8, 128), (1, 4096, 8, 1, 128), (1, 2048, 32, 32, 128), (1, 2048, 8, 8, 128),
             (2, 2048, 12, 12, 128), (4, 2048, 12, 12, 64), (8, 1024, 16, 16, 64), (1, 2048, 4, 4, 128), (1, 32768, 8, 1, 128)]
# rows, inputs, outputs
PRODUCTS = [(128, 4096, 4096), (512, 4096, 4096), (2048, 4096, 4096), (8192, 4096, 4096), (8192, 4096, 12288), (8192, 8192, 8192),
            (8192, 8192, 28672), (8192, 28672, 8192), (8192, 8192, 1024), (8192, 1024, 8192), (4096, 12288, 49152), (2048, 768, 3072),
            (16384, 768, 3072), (8192, 4096, 4100), (8192, 5120, 13824), (8192, 4096, 128256), (4096, 7168, 2048), (4096, 16384, 6656)]
# experts, rows each, inputs, outputs
GROUPED = [(8, 1024, 4096, 28672), (8, 2048, 4096, 14336), (64, 256, 2048, 2816), (32, 512, 7168, 4096), (8, 512, 7168, 4096),
           (128, 256, 2048, 1536)]


def timer():
    return torch.cuda.Event(enable_timing=True)


def once(call, count):
    start, end = timer(), timer()
    start.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000 / count


def of_kernels(call, count):
    """Microseconds of the kernels of a call, by the profiler."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(count):
            call()
        torch.cuda.synchronize()
    return sum(event.self_device_time_total for event in profile.key_averages()) / count


def attention_calls(batch, length, heads, groups, size, backend):
    shape = lambda count: torch.randn(batch, count, length, size, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    q, k, v = shape(heads), shape(groups), shape(groups)

    def forward():
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != groups)

    out = forward()
    gradient = torch.randn_like(out)
    return forward, lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)


def rows():
    for shape in ATTENTION:
        for name, backend in (("flash2", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
            forward, backward = attention_calls(*shape, backend)
            keys = dict(zip(("sequences", "length", "heads", "key_value_heads", "head_size"), shape), kernel=name)
            yield dict(kind="attention", pass_="forward", **keys), forward
            yield dict(kind="attention", pass_="backward", **keys), backward
    if "--attention" in sys.argv:
        return
    for m, k, n in PRODUCTS:
        keys = dict(rows=m, inputs=k, outputs=n)
        x, w = (torch.randn(m, k, device="cuda", dtype=torch.bfloat16), torch.randn(n, k, device="cuda", dtype=torch.bfloat16))
        d = torch.randn(m, n, device="cuda", dtype=torch.bfloat16)
        yield dict(kind="product", type="bf16", pass_="forward", **keys), lambda x=x, w=w: F.linear(x, w)
        yield dict(kind="product", type="bf16", pass_="input_gradient", **keys), lambda d=d, w=w: d @ w
        yield dict(kind="product", type="bf16", pass_="weight_gradient", **keys), lambda d=d, x=x: d.t() @ x
        if torch.cuda.get_device_capability() >= (8, 9) and m % 16 == 0 and k % 16 == 0 and n % 16 == 0:
            one = torch.ones((), device="cuda")
            a, b = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn).t()
            yield (dict(kind="product", type="fp8", pass_="forward", **keys),
                   lambda a=a, b=b, one=one: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=True))
            yield dict(kind="cast", type="fp8", **keys), lambda x=x: (x * 0.5).to(torch.float8_e4m3fn)
    for experts, each, k, n in GROUPED:
        x = torch.randn(experts * each, k, device="cuda", dtype=torch.bfloat16)
        w = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16).transpose(-2, -1)
        ends = torch.arange(each, experts * each + 1, each, device="cuda", dtype=torch.int32)
        yield (dict(kind="grouped", type="bf16", experts=experts, rows=each, inputs=k, outputs=n),
               lambda x=x, w=w, ends=ends: torch._grouped_mm(x, w, offs=ends))


def main():
    heat = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    result = []
    for key, call in rows():
        for _ in range(20):
            heat @ heat
        try:
            count = max(1, min(2000, int(ROUND_US / max(once(call, 3), 1.0))))
            clock = statistics.median(once(call, count) for _ in range(ROUNDS))
            times = [of_kernels(call, count) for _ in range(ROUNDS)]
        except (RuntimeError, AttributeError) as error:
            print(f"{key}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        result.append({key_.rstrip("_"): value for key_, value in key.items()} | {"us": round(statistics.median(times), 2), "call_us": round(clock, 2)})
    json.dump({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
               "cuda": torch.version.cuda, "rows": result}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
