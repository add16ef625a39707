"""Train one model of the zoo: a program for `bringup bisect` and `bringup capture`.

    python -m bringup.models NAME [--steps N] [--device DEVICE]

Leaves `losses`, `gradients` (of the first step, by parameter) and `generated` as variables.
"""

import argparse

from bringup.models import catalog
from bringup.models.training import train

parser = argparse.ArgumentParser(prog="python -m bringup.models", description="Train one model of the zoo.")
parser.add_argument("name", choices=catalog.names(), metavar="NAME")
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--device", default="vpe")
options = parser.parse_args()

trained = train(catalog.get(options.name), options.device, options.steps)
losses, gradients, generated = trained.losses, list(trained.gradients.values()), trained.generated
tokens = generated.tokens if generated is not None else None
print(" ".join(f"{loss:.6f}" for loss in losses))
