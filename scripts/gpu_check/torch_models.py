# SPDX-License-Identifier: BSD-2-Clause
"""The PyTorch workloads of the check. Each function gets torch and returns step(): one training step, its loss left on the device.
Seeded, and deterministic as far as PyTorch can be, so that runs with and without the recorder can be compared."""

import itertools
import time


def training_step(torch, model, optimizer, batch, loss_of, autocast=False):
    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = loss_of(model, *batch())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step


def squared_error(model, x, y):
    return (model(x) - y).square().mean()


def mlp(torch, layers, width):
    nn = torch.nn
    return nn.Sequential(*itertools.chain.from_iterable((nn.Linear(width, width), nn.GELU()) for _ in range(layers))).cuda()


def launch_bound(torch):
    """Some 800 kernels of a few microseconds: the host cannot launch them as fast as they run."""
    torch.manual_seed(1)
    model = mlp(torch, 24, 64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    x, y = torch.randn(32, 64, device="cuda"), torch.randn(32, 64, device="cuda")
    return training_step(torch, model, optimizer, lambda: (x, y), squared_error)


class Block:
    """A transformer's block; made inside a function, as torch is imported late."""

    @staticmethod
    def make(torch, width, heads):
        nn = torch.nn

        class TransformerBlock(nn.Module):
            def __init__(self):
                super().__init__()
                self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

            def forward(self, x):
                batch, length, _ = x.shape
                q, k, v = (part.view(batch, length, heads, -1).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, dim=-1))
                attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
                return x + self.wide(self.between(x))

        return TransformerBlock()


def language_model(torch, layers, width, heads, words):
    nn = torch.nn
    return nn.Sequential(nn.Embedding(words, width), *(Block.make(torch, width, heads) for _ in range(layers)), nn.LayerNorm(width),
                         nn.Linear(width, words)).cuda()


def next_word(torch):
    def loss(model, tokens):
        return torch.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
    return loss


def transformer(torch):
    """Compute-bound: kernels of 50 us and more, the host far ahead. Some 8 GB: seven processes have it at a time (slowdown.py)."""
    torch.manual_seed(2)
    model = language_model(torch, 6, 2048, 16, 8192)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, 8192, (4, 1025), device="cuda")
    return training_step(torch, model, optimizer, lambda: (tokens,), next_word(torch), autocast=True)


def graphs(torch):
    """A whole step as a CUDA graph, replayed."""
    torch.manual_seed(3)
    model = mlp(torch, 24, 512)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
    x, y = torch.randn(256, 512, device="cuda"), torch.randn(256, 512, device="cuda")
    step = training_step(torch, model, optimizer, lambda: (x, y), squared_error)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss
    return replay


def compiled(torch):
    """torch.compile: fused kernels, fewer launches."""
    torch.manual_seed(4)
    model = torch.compile(mlp(torch, 8, 1024))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    x, y = torch.randn(1024, 1024, device="cuda"), torch.randn(1024, 1024, device="cuda")
    return training_step(torch, model, optimizer, lambda: (x, y), squared_error)


class SlowImages:
    """A data set whose items take a while, as when they are read and decoded."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        time.sleep(0.002)
        return self.torch.full((3, 64, 64), float(index % 7)), index % 10


def starved(torch):
    """A DataLoader that cannot keep up."""
    torch.manual_seed(5)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(2048, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = iter(torch.utils.data.DataLoader(SlowImages(torch), batch_size=16, num_workers=2, prefetch_factor=2))

    def batch():
        images, labels = next(batches)
        return images.cuda(), labels.cuda()

    def loss(net, images, labels):
        return nn.functional.cross_entropy(net(images), labels)
    return training_step(torch, model, optimizer, batch, loss)


BUILDERS = {"launch_bound": launch_bound, "transformer": transformer, "graphs": graphs, "compiled": compiled, "starved": starved}
