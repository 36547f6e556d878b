// Maps the columns of rows: by offset and factor, or by svm-scale's ranges.
#include "scaling_map.hpp"

#include "arrays.hpp"

void register_scaling(nanobind::module_ &m) {
    namespace nb = nanobind;
    using svmfast::ColumnExtremes, svmfast::ScalingMap;
    nb::class_<ScalingMap>(m, "ScalingMap")
        .def(nb::init<svmfast::In1<double>, svmfast::In1<double>, bool, double, double, double, double, int>(),
             nb::arg("first").noconvert(), nb::arg("second").noconvert(), nb::arg("ranges"), nb::arg("lower"),
             nb::arg("upper"), nb::arg("least"), nb::arg("most"), nb::arg("digits"))
        .def_prop_ro("moving", &ScalingMap::moving)
        .def("apply", &ScalingMap::apply, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(),
             nb::sig("def apply(self, indptr: NDArray[numpy.int64], indices: NDArray[numpy.int32], values: "
                     "NDArray[numpy.float64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], "
                     "NDArray[numpy.float64]]"))
        .def("text", &ScalingMap::text, nb::arg("labels").noconvert(), nb::arg("indptr").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
             nb::sig("def text(self, labels: NDArray[numpy.float64], indptr: NDArray[numpy.int64], indices: "
                     "NDArray[numpy.int32], values: NDArray[numpy.float64]) -> tuple[bytes, int]"));
    nb::class_<ColumnExtremes>(m, "ColumnExtremes")
        .def(nb::init<>())
        .def("add", &ColumnExtremes::add, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("width"))
        .def("result", &ColumnExtremes::result,
             nb::sig("def result(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"));
    m.def("round_digits", &svmfast::scaling::rounded, nb::arg("value"), nb::arg("digits"));
}
