"""The cost of a plan: counted multiply-adds of a prediction, numbers stored, and limits that it exceeds."""

from __future__ import annotations

from collections.abc import Sequence

from svmfast.methods.approximate.dual_expansion import DualExpansion
from svmfast.methods.approximate.operations import (
    CERTIFICATE_NUMBERS,
    certificate_operations,
    exact_numbers,
    exact_operations,
    exact_reading,
    polynomial_operations,
    reading_operations,
    routing_operations,
)
from svmfast.methods.approximate.options import ApproximateOptions
from svmfast.methods.approximate.taylor import coefficient_count
from svmfast.models.expansion import KernelExpansion

# The most numbers that `auto` stores: about 20 MB of text.
LARGEST_AUTO = 1 << 21


class Costs:
    """The costs of plans for one model, compared with those of the model itself.

    Parameters
    ----------
    model : KernelExpansion
    terms : DualExpansion
        The terms of `model`.
    options : ApproximateOptions
    about_zero : sequence of bool
        For each order, whether the polynomials are in powers of z rather than of z - center.

    Attributes
    ----------
    exact : float
        Counted multiply-adds of the exact model, per row, including the cost of reading it.
    exact_numbers : int
        The numbers that the exact model stores.
    """

    def __init__(
        self,
        model: KernelExpansion,
        terms: DualExpansion,
        options: ApproximateOptions,
        about_zero: Sequence[bool],
    ) -> None:
        self.options, self._about_zero = options, about_zero
        self._features, self._functions = len(terms.features), terms.n_functions
        self._entries = model.sv.nnz / max(len(model.sv), 1)
        # predict with the exact model needs the label alone; regression needs the value.
        self._single_precision = options.certificate != "none" and not model.head.is_regression
        of_a_row = model, self._features, self._entries
        self.exact = exact_operations(*of_a_row) + exact_reading(*of_a_row)
        self.exact_numbers = exact_numbers(model)

    def polynomial(self, order: int) -> float:
        """Return the multiply-adds of one polynomial of this order."""
        about_zero = self._about_zero[order]
        return polynomial_operations(
            self._features,
            order,
            self._entries,
            about_zero=about_zero,
            single_precision=self._single_precision,
        )

    def each_row(self, cells: int) -> float:
        """Return each row's multiply-adds apart from polynomials: reading, routing, the certificate."""
        reading = reading_operations(self._features, self._entries)
        return reading + routing_operations(self._features, cells) + certificate_operations(self._functions)

    def numbers(self, order: int) -> int:
        """Return how many numbers one polynomial stores, including its part of the certificate."""
        return coefficient_count(self._features, order) + CERTIFICATE_NUMBERS

    def worth(self, numbers: int, operations: float) -> bool:
        """Return whether a plan that stores `numbers` numbers and takes `operations` is worth its size.

        Unless an option says otherwise, the model's size may not grow by a larger factor than its speed.
        """
        options = self.options
        if not options.free or options.force or options.max_bytes is not None:
            return True
        return numbers <= max(1.0, self.exact / operations) * self.exact_numbers

    def obstacle(self, cells: int, order: int) -> str | None:
        """Return why `cells` cells of this order are not allowed, as the end of a sentence, or None."""
        options = self.options
        stored = cells * self._functions * coefficient_count(self._features, order)
        cost = self._functions * self.polynomial(order) + self.each_row(cells)
        if options.free and not options.force and cost >= self.exact:
            return f"takes {cost:,.0f} multiply-adds per row, the exact model {self.exact:,.0f}"
        if options.free and stored > LARGEST_AUTO:
            return f"stores {stored:,} numbers, more than auto makes"
        return too_large(stored, options.max_bytes, options.memory)


def too_large(stored: int, max_bytes: int | None, memory_limit: int) -> str | None:
    """Return why `stored` numbers do not fit into a file or into memory, or None."""
    if max_bytes is not None and 2 * stored > max_bytes:  # a dropped coefficient still takes two bytes
        return f"stores {stored:,} numbers, more than {max_bytes:,} bytes hold"
    if 8 * stored > memory_limit:
        return f"takes {8 * stored:,} bytes of memory, more than the limit of {memory_limit:,}"
    return None
