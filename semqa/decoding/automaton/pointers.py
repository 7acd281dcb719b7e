"""Pointers for tables and states, where passing numba arrays would be too expensive.

An array is passed as seven numbers and is reference-counted. A pointer is one number. Its bounds are
not checked, and the caller must keep the memory alive.
"""

from __future__ import annotations

from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _cast_address(kind: Any) -> Any:
    pointer = types.CPointer(kind)

    def of_address(_context: Any, _address: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(pointer))

        return pointer(types.int64), generate

    return cast("Any", intrinsic)(of_address)


bytes_pointer = _cast_address(types.uint8)
"""(address int64) -> pointer to uint8"""
ints_pointer = _cast_address(types.int32)
"""(address int64) -> pointer to int32"""
longs_pointer = _cast_address(types.int64)
"""(address int64) -> pointer to int64"""


def _data_of(kind: Any) -> Any:
    def of_array(_context: Any, array: Any, _first: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.gep(data, [arguments[1]])

        return types.CPointer(kind)(array, types.int64), generate

    return cast("Any", intrinsic)(of_array)


ints_of = _data_of(types.int32)
"""(C-contiguous array of int32, flat index) -> pointer to that element"""
longs_of = _data_of(types.int64)
"""The same for int64."""


def room_for_ints(count: int) -> Any:
    """Return a function without arguments that allocates int32 values on the stack.

    Each call site always gets the same memory, valid until the calling function returns.
    """

    def on_stack(_context: Any) -> Any:
        def generate(_target: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
            room = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(32), count))
            return builder.bitcast(room, ir.IntType(32).as_pointer())

        return types.CPointer(types.int32)(), generate

    return cast("Any", intrinsic)(on_stack)
