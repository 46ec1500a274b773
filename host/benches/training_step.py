"""A training step in a CUDA graph, timed: the PyTorch program that `cargo xtask bench` watches.

It reads one request a line, `step steps=N`, and answers each with one JSON object a line,
as the protocol module of graph_memory/ describes. The first line says what the program is.
"""

import json
import sys
import time

import torch


def answer(**fields):
    print(json.dumps(fields), flush=True)


def main():
    device = torch.device("cuda", int(sys.argv[1]))
    torch.cuda.set_device(device)
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512)
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(256, 512, device=device)
    target = torch.randn(256, 512, device=device)

    def step():
        optimizer.zero_grad(set_to_none=False)
        torch.nn.functional.mse_loss(model(batch), target).backward()
        optimizer.step()

    # Libraries make their handles and workspaces outside the capture.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    answer(side="pytorch", torch=torch.__version__)

    for line in sys.stdin:
        name, count = line.split()
        steps = int(count.removeprefix("steps="))
        if name != "step":
            answer(error=f"no operation {name}")
            continue
        graph.replay()
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        # A training loop copies each batch and reads its loss now and then.
        for _ in range(steps):
            batch.copy_(target)
            graph.replay()
        torch.cuda.synchronize()
        answer(step_ns=time.perf_counter_ns() - start, steps=steps)


main()
