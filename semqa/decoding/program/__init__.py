"""The constraint as a table: states and tokens, for devices that can only look things up."""

from semqa.decoding.program.build import DeviceProgram, HostOnly, build_program, why_not
from semqa.decoding.program.shared import SharedProgram, shared_program

__all__ = [
    "DeviceProgram",
    "HostOnly",
    "SharedProgram",
    "build_program",
    "shared_program",
    "why_not",
]
