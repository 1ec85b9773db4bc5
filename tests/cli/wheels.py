"""Wheels made on the spot, for a pip that sees nothing else."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.cli.world import World


def shop(world: World) -> Path:
    """The packages in ``shop/<version>`` of a world as wheels, in its folder ``wheels``."""
    folder = world.root / "wheels"
    folder.mkdir()
    for site in (world.root / "shop").iterdir():
        info = f"engine-{site.name}.dist-info"
        (site / info / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        with zipfile.ZipFile(folder / f"engine-{site.name}-py3-none-any.whl", "w") as archive:
            for file in site.rglob("*"):
                if file.is_file():
                    archive.write(file, file.relative_to(site).as_posix())
    return folder
