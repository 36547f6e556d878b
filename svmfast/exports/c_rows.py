"""The C text that takes a row apart into variables and the rest, and finds its cell."""

from __future__ import annotations

import numpy as np

from svmfast.exports.c_text import Tables, Words
from svmfast.exports.computation import Computation

ROW = """\
?variables:@variables@
?mapped:@map_tables@
?scaled:@scaled@
?scaled:/* The scaling that the model's rows went through. */
?scaled:$N_INLINE $n_real $n_scaled_($n_real x, int j) {
?scaled:    $n_real z = (x + $N_READ(@offsets@ + j)) * $N_READ(@factors@ + j);
?clipped:    if (z < @clip_low@) z = @clip_low@;
?clipped:    if (z > @clip_high@) z = @clip_high@;
?scaled:    return z;
?scaled:}
?scaled:
?!direct !mapped:/* The variables of a row; returns what its other columns add to distances. */
?mapped:/* The coordinates of a row, by a linear map. */
?!direct:$N_INLINE $n_real $n_variables_(const $n_real *x, $n_real *v) {
?!direct:    $n_real rest = @0@, z;
?!direct !variables:    int j;
?variables:    int j, next = 0;
?mapped:    int k;
?mapped:    for (k = 0; k < @d@; ++k) v[k] = @0@;
?!direct:    for (j = 0; j < @width@; ++j) {
?!direct !scaled:        z = x[j];
?!direct scaled:        z = $n_scaled_(x[j], j);
?!direct !mapped !variables:        v[j] = z;
?!mapped variables:        if (next < @d@ && @next_variable@ == j) v[next++] = z;
?!mapped variables:        else @add_z@
?mapped variables:        if (next == @n_variables@ || @next_variable@ != j) continue;
?mapped:        z += $N_READ(@center@ + @column@);
?mapped:        for (k = 0; k < @d@; ++k) v[k] += $N_READ(@map@ + (size_t)@column@ * @d@ + k) * z;
?mapped variables:        ++next;
?!direct:    }
?!direct:    return rest;
?!direct:}
"""

ROUTE = """\
/* From the root to the nearest child, the first of equals, until a leaf is reached: its cell. */
$N_INLINE int $n_cell_(const $n_real *v) {
    $n_real s, least = @0@;
    int j, node = 0, child, nearest, children;
    while ((children = @children@) > 0) {
        const $n_real *center = @centers@ + (@child_offset@ - 1) * @d@;
        nearest = 0;
        for (child = 0; child < children; ++child) {
            s = @0@;
            for (j = 0; j < @d@; ++j) {
                $n_real difference = v[j] + $N_READ(center);
                ++center;
                s += difference * difference;
            }
            if (child == 0 || s < least) {
                least = s;
                nearest = child;
            }
        }
        node = @first_child@ + nearest;
    }
    return @first_child@;
}
"""


def row_words(tables: Tables, computation: Computation) -> Words:
    """The scaling of a row, its variables, and the share of its other columns in a distance.

    Its tables stand before the functions that read them.
    """
    scaling, every = computation.scaling, len(computation.variables) == computation.n_features
    words: Words = {
        "scaled": "",
        "variables": "",
        "mapped": computation.map is not None,
        "n_variables": len(computation.variables),
        "column": "j" if every else "next",
        "clipped": scaling is not None and scaling.clip is not None,
        "direct": every and scaling is None and computation.map is None,
        "add_z": f"rest += z < {tables.real(0)} ? -z : z;" if computation.laplacian else "rest += z * z;",
    }
    if scaling is not None:
        words["offsets"] = tables.negated("offsets", scaling.offset)
        words["factors"] = tables.reals("factors", scaling.factor)
        words["scaled"] = "".join(tables.texts[-2:])
        del tables.texts[-2:]
        if scaling.clip is not None:
            words["clip_low"], words["clip_high"] = map(tables.real, scaling.clip)
    if not every:
        words["next_variable"] = tables.integers("variables", computation.variables).at("next")
        words["variables"] = tables.texts.pop()
    if computation.map is not None:
        words["center"] = tables.negated("center", computation.map[1])
        words["map"] = tables.reals("map", computation.map[0].T)
        words["map_tables"] = "".join(tables.texts[-2:])
        del tables.texts[-2:]
    return words


def route_words(tables: Tables, computation: Computation) -> Words:
    """The tables that lead to a row's cell, if there are several."""
    route = computation.route
    if route is None:
        return {"cell": "0", "route": False}
    centers = tables.negated("centers", route.centers)
    count = tables.integers("children", route.children)
    following = np.where(route.children > 0, route.first_child, route.cell)
    start = tables.integers("first_child", following)
    return {
        "cell": "$n_cell_(v)",
        "route": True,
        "centers": centers,
        "children": count.at("node"),
        "first_child": start.at("node"),
        "child_offset": start.at("node", "size_t"),
    }
