"""Where a model runs: the device that was asked for, or the best one here."""

from __future__ import annotations

from semqa.errors import InputError

__all__ = ["choose_device"]


def choose_device(given: str | None) -> str:
    """Return the device to run on: the given one, else a GPU if there is one.

    Raises:
        InputError: there is no such device here.
    """
    import torch

    if given is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(given)
        usable = device.type != "meta"  # which computes nothing
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError):
        # What torch raises differs by the device that it lacks.
        usable = False
    if not usable:
        raise InputError(
            f"must be one of {', '.join(_devices())} here, got {given!r}.",
            field="device",
            value=given,
        )
    return given


def _devices() -> list[str]:
    import torch

    found = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    return [*found, "mps"] if torch.backends.mps.is_available() else found
