"""Short LLVM code for the most frequent operations: elements of arrays, loops over ranges, variables.

To read a field of an array, range or pair, Numba stores it on the stack and loads the field, which LLVM
optimises
away: forty instructions for an element of an array, all of which are created, written as text and parsed.
Here fields are extracted directly. The optimised machine code is equivalent.
"""

from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.analysis import compute_cfg_from_blocks, must_use_alloca
from numba.np.arrayobj import fix_integer_index, load_item, store_item

from stickslip.compilation.borrowing import BorrowingLower, takes_elements


class ShortLower(BorrowingLower):
    """Numba's lowering, with short code for numbers, arrays and tuples."""

    def lower_function_body(self) -> Any:
        """Lower all blocks."""
        if self.generator_info is None and not self._disable_sroa_like_opt:
            self._find_borrowed()
            free = {name for name in self.fndesc.typemap if not self._is_counted(name)}
            self._singly_assigned_vars |= assigned_before_use(self.blocks) & free
        return super().lower_function_body()

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Lower reading of an element, or of the view of a row."""
        base = self.typeof(value.name)
        if not takes_elements(base, self.typeof(index.name)):
            return super().lower_getitem(resty, expr, value, index, signature)
        array = self.loadvar(value.name)
        indices = self._indices(index, signature.args[1], array, base)
        pointer = self._pointer(array, base, indices)
        if isinstance(signature.return_type, types.Array):
            result = self._view(array, base, signature.return_type, pointer, len(indices))
            self.incref(signature.return_type, result)
        else:
            result = load_item(self.context, self.builder, base, pointer)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Lower assignment of a number to an element."""
        base, index = self.typeof(target_var.name), self.typeof(index_var.name)
        kind = self.typeof(value_var.name)
        count = len(index) if isinstance(index, types.BaseTuple) else 1  # type: ignore[attr-defined]
        is_number = isinstance(kind, types.Number | types.Boolean)  # type: ignore[attr-defined]
        if not (takes_elements(base, index) and is_number and count == base.ndim):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        array = self.loadvar(target_var.name)
        pointer = self._pointer(array, base, self._indices(index_var, signature.args[1], array, base))
        value = self.context.cast(self.builder, self.loadvar(value_var.name), kind, signature.args[2])
        value = self.context.cast(self.builder, value, signature.args[2], base.dtype)
        return store_item(self.context, self.builder, base, value, pointer)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Lower one expression."""
        if expr.op in ("getiter", "iternext", "pair_first", "pair_second"):
            kind, value = self.typeof(expr.value.name), self.loadvar(expr.value.name)
            if expr.op == "getiter" and kind == types.range_state64_type:  # type: ignore[attr-defined]
                step = self._part(value, kind, "step")
                if isinstance(step, llvm.Constant) and step.constant == 1:
                    return self._begun(value, kind, resty)
            if expr.op == "iternext" and kind == types.range_iter64_type:  # type: ignore[attr-defined]
                return self._next(value, kind, resty)
            if isinstance(kind, types.Pair) and kind.first_type == types.int64:  # type: ignore[attr-defined]
                return self._part(value, kind, expr.op[5:])
        return super().lower_expr(resty, expr)

    def _lower_call_normal(self, fnty: Any, expr: Any, signature: Any) -> Any:
        """Lower a call; a call of `range` becomes its three numbers."""
        kind = signature.return_type
        if getattr(fnty, "typing_key", None) is not range or kind != types.range_state64_type:  # type: ignore[attr-defined]
            return super()._lower_call_normal(fnty, expr, signature)
        arguments = self.fold_call_args(fnty, signature, expr.args, expr.vararg, expr.kws)
        number = self.context.get_value_type(types.int64)
        numbers = [number(0), *arguments] if len(arguments) == 1 else [*arguments]
        return self._whole(kind, **dict(zip(("start", "stop", "step"), [*numbers, number(1)], strict=False)))

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store the value of a variable."""
        if argidx is not None or name in self._singly_assigned_vars or self._is_counted(name):
            super().storevar(value, name, argidx)
            return
        self._alloca_var(name, self.typeof(name))
        self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """End the life of a variable."""
        if self._is_counted(name):
            super().delvar(name)

    def _is_counted(self, name: str) -> bool:
        """Return whether references are counted for the value of a variable."""
        model = self.context.data_model_manager[self.typeof(name)]
        return name not in self._borrowed and bool(model.contains_nrt_meminfo())

    def _indices(self, index: Any, kind: Any, array: Any, base: Any) -> list[Any]:
        """Return the indices along the first axes, non-negative.   kind: required type."""
        index_type, value = self.typeof(index.name), self.loadvar(index.name)
        parts = [(value, index_type, kind)]
        if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
            parts = [
                (self.builder.extract_value(value, k), index_type[k], to)  # type: ignore[index]
                for k, to in enumerate(kind)
            ]
        indices = []
        for axis, (part, of, to) in enumerate(parts):
            place = self.context.cast(self.builder, part, of, to)
            is_constant = isinstance(place, llvm.Constant)
            is_forward = place.constant >= 0 if is_constant else self.library.forward and to == types.int64
            if not is_forward or self.context.enable_boundscheck:
                size = self._part(array, base, "shape", axis)
                place = fix_integer_index(self.context, self.builder, to, place, size)
                if self.context.enable_boundscheck:
                    cgutils.do_boundscheck(self.context, self.builder, place, size, axis)
            indices.append(place)
        return indices

    def _pointer(self, array: Any, base: Any, indices: list[Any]) -> Any:
        """Return the address of the element, or of the first element of the view."""
        builder, data = self.builder, self._part(array, base, "data")
        if base.layout != "C":
            steps = [self._part(array, base, "strides", axis) for axis in range(len(indices))]
            parts = [builder.mul(step, place) for step, place in zip(steps, indices, strict=True)]
            offset = parts[0]
            for part in parts[1:]:
                offset = builder.add(offset, part)
            return cgutils.pointer_add(builder, data, offset)
        # C order: index times the number of elements of the later axes, from the last axis to the first.
        step, place = None, None
        for axis in range(base.ndim - 1, -1, -1):
            if axis < len(indices):
                part = indices[axis] if step is None else builder.mul(indices[axis], step)
                place = part if place is None else builder.add(part, place)
            if axis > 0:
                size = self._part(array, base, "shape", axis)
                step = size if step is None else builder.mul(size, step)
        return builder.gep(data, [place])

    def _view(self, array: Any, base: Any, kind: Any, pointer: Any, taken: int) -> Any:
        """Return the view of an array after the first `taken` axes."""
        shape = [self._part(array, base, "shape", axis) for axis in range(taken, base.ndim)]
        strides = [self._part(array, base, "strides", axis) for axis in range(taken, base.ndim)]
        count = shape[0]
        for size in shape[1:]:
            count = self.builder.mul(count, size, flags=["nsw"])
        same = {name: self._part(array, base, name) for name in ("meminfo", "parent", "itemsize")}
        return self._whole(kind, **same, nitems=count, data=pointer, shape=shape, strides=strides)

    def _begun(self, value: Any, kind: Any, resty: Any) -> Any:
        """Return the iterator of a range of step 1."""
        builder = self.builder
        start, stop, step = (self._part(value, kind, name) for name in ("start", "stop", "step"))
        place, remaining = (cgutils.alloca_once(builder, start.type) for _ in range(2))
        builder.store(start, place)
        is_none = builder.icmp_signed("<=", stop, start)
        builder.store(builder.select(is_none, start.type(0), builder.sub(stop, start)), remaining)
        return self._whole(resty, iter=place, stop=stop, step=step, count=remaining)

    def _next(self, value: Any, kind: Any, resty: Any) -> Any:
        """Return the next number of a range and whether there is one; advance the iterator."""
        builder = self.builder
        place, remaining = self._part(value, kind, "iter"), self._part(value, kind, "count")
        number, count = builder.load(place), builder.load(remaining)
        builder.store(builder.add(number, self._part(value, kind, "step")), place)
        builder.store(builder.sub(count, count.type(1)), remaining)
        return self._whole(resty, first=number, second=builder.icmp_signed(">", count, count.type(0)))

    def _part(self, value: Any, kind: Any, name: str, *within: int) -> Any:
        """Extract a field of a structure."""
        place = self.context.data_model_manager[kind].get_field_position(name)
        return self.builder.extract_value(value, [place, *within])

    def _whole(self, kind: Any, **fields: Any) -> Any:
        """Build a structure from its fields; lists become arrays."""
        value, model = self.context.get_constant_undef(kind), self.context.data_model_manager[kind]
        for name, field in fields.items():
            place = model.get_field_position(name)
            for k, part in enumerate(field if isinstance(field, list) else [field]):
                at = [place, k] if isinstance(field, list) else [place]
                value = self.builder.insert_value(value, part, at)
        return value


def assigned_before_use(blocks: dict[int, Any]) -> set[str]:
    """Return the variables with one assignment that precedes every use, which need no stack slot."""
    at: dict[str, int] = {}
    several = set(must_use_alloca(blocks))
    for label, block in blocks.items():
        for each in block.find_insts(ir.Assign):
            if each.target.name in at:
                several.add(each.target.name)
            at[each.target.name] = label
    before = compute_cfg_from_blocks(blocks).dominators()
    for label, block in blocks.items():
        assigned: set[str] = set()
        for statement in block.body:
            is_assignment = isinstance(statement, ir.Assign)
            for name in _used(statement):
                there = at.get(name)
                if there is None or (
                    name not in assigned
                    if there == label
                    else there not in before.get(label, ()) or there > label
                ):
                    several.add(name)
            if is_assignment:
                assigned.add(statement.target.name)
    return set(at) - several


def _used(statement: Any) -> list[str]:
    """Return the variables that a statement reads."""
    if isinstance(statement, ir.Del):
        return []
    if isinstance(statement, ir.Assign):
        value = statement.value
        if isinstance(value, ir.Var):
            return [value.name]
        return [each.name for each in value.list_vars()] if isinstance(value, ir.Inst) else []
    return [each.name for each in statement.list_vars()]
