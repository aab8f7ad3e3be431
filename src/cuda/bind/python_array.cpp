// The Python class DeviceArray.
#include "bind/python_array.hpp"

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/exchange.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

py::tuple shape_of(const DeviceArray& a) { return py::tuple(py::cast(a.shape)); }

py::tuple strides_of(const DeviceArray& a) {
  py::tuple t(a.strides.size());
  for (std::size_t i = 0; i < a.strides.size(); ++i) t[i] = a.strides[i] * item_size(a.dtype);
  return t;
}

Entry enter(const DeviceArray& a) { return Entry(a.device); }

DeviceArray compact(const DeviceArray& a, DType dtype) {
  DeviceArray built = DeviceArray::empty(dtype, a.shape);
  if (dtype != a.dtype || !a.contiguous()) assign(a, built);
  else CUDA_CALL(cudaMemcpyAsync(built.data, a.data, a.nbytes(), cudaMemcpyDeviceToDevice, stream()));
  return built;
}
DeviceArray contiguous(const DeviceArray& a) { return a.contiguous() ? a : compact(a, a.dtype); }

// Copies to the host, in C order. The result is written before any other Python thread can access it.
py::array get(const DeviceArray& a) {
  py::array out(numpy_dtype(a.dtype), std::vector<py::ssize_t>(a.shape.begin(), a.shape.end()));
  void* to = out.mutable_data();
  const Entry entry = enter(a);
  const DeviceArray compacted = contiguous(a);
  if (a.size() > 0)
    CUDA_CALL(cudaMemcpyAsync(to, compacted.data, compacted.nbytes(), cudaMemcpyDeviceToHost, stream()));
  CUDA_CALL(cudaStreamSynchronize(stream()));
  return out;
}

void require_writeable(const DeviceArray& a) {
  if (a.writeable) return;
  throw py::value_error(a.why.empty() ? "the array is read-only; .copy() makes one that may be written to" : a.why);
}

// Copies to the device, and overwrites the array.
void write(const DeviceArray& a, const py::array& values) {
  const py::array host = py::array::ensure(values, py::array::c_style);
  if (!host || host.dtype().attr("name").cast<std::string>() != dtype_name(a.dtype) || host.size() != a.size()) {
    throw py::value_error("set: expected " + std::to_string(a.size()) + " values of type " + dtype_name(a.dtype));
  }
  if (!a.contiguous()) throw py::value_error("set: the array on the GPU is not contiguous");
  const void* from = host.data();
  const Entry entry = enter(a);
  if (a.size() > 0) CUDA_CALL(cudaMemcpyAsync(a.data, from, a.nbytes(), cudaMemcpyHostToDevice, stream()));
  CUDA_CALL(cudaStreamSynchronize(stream()));
}

DeviceArray from_host(const py::array& values, int device) {
  DeviceArray built;
  {
    const DType type = dtype_of_name(values.dtype().attr("name").cast<std::string>());
    const std::vector<int64> shape(values.shape(), values.shape() + values.ndim());
    const Entry entry(device);
    built = DeviceArray::empty(type, shape);
  }
  write(built, values);
  return built;
}

DeviceArray astype(const DeviceArray& a, const py::object& dtype) {
  const DType wanted = dtype_of_name(py::dtype::from_args(dtype).attr("name").cast<std::string>());
  const Entry entry = enter(a);
  return compact(a, wanted);
}

// f(a, s) in the type that NumPy's promotion gives the result.
template <Map F>
DeviceArray mapped(const DeviceArray& a, const py::object& scalar) {
  const py::object result = py::module_::import("numpy").attr("result_type")(numpy_dtype(a.dtype), scalar);
  const DType wanted = dtype_of_name(result.attr("name").cast<std::string>());
  const Scalar s = scalar.cast<Scalar>();
  const Entry entry = enter(a);
  return map(F, a.dtype == wanted ? contiguous(a) : compact(a, wanted), s);
}
// a = f(a, s), in place and in the type of a.
template <Map F>
py::object mapped_in_place(const py::object& array, const py::object& scalar) {
  const auto& a = array.cast<const DeviceArray&>();
  require_writeable(a);
  const DeviceArray result = mapped<F>(a, scalar);
  if (has_complex_values(result.dtype) && !has_complex_values(a.dtype)) {
    throw py::type_error("the array is real, and the result would be complex");
  }
  const Entry entry = enter(a);
  assign(result, a);
  return array;
}
template <Map F>
DeviceArray mapped_unary(const DeviceArray& a) {
  const Entry entry = enter(a);
  return map(F, contiguous(a), 0.0);
}

DeviceArray sliced(const DeviceArray& a, const py::slice& slice) {
  if (a.ndim() != 1) throw py::index_error("only arrays of one dimension are sliced");
  py::ssize_t start, stop, step, length;
  if (!slice.compute(a.shape[0], &start, &stop, &step, &length)) throw py::error_already_set();
  DeviceArray view = a;
  view.data += start * a.strides[0] * item_size(a.dtype);
  view.shape = {length};
  view.strides = {a.strides[0] * step};
  return view;
}

// The same memory in C order as an array of this shape, with the same number of elements.
DeviceArray reshape(const DeviceArray& a, const std::vector<int64>& shape) {
  if (!a.contiguous()) throw py::value_error("reshape: the array is not contiguous");
  DeviceArray view = a;
  view.shape = shape;
  if (view.size() != a.size()) {
    throw py::value_error("reshape: " + std::to_string(a.size()) + " elements to " + std::to_string(view.size()));
  }
  view.strides.assign(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) view.strides[k - 1] = view.strides[k] * shape[k];
  return view;
}

DeviceArray ravel(const DeviceArray& a) { return reshape(a, {a.size()}); }

// Makes the consumer's stream (DLPack's number for it; None and -1: no synchronization) wait for ours.
void make_consumer_wait(const DeviceArray& a, const py::object& consumer) {
  if (consumer.is_none()) return;
  const auto number = consumer.cast<std::intptr_t>();
  const auto theirs = number == 1 ? cudaStream_t{} : reinterpret_cast<cudaStream_t>(number);
  const Entry entry = enter(a);
  if (number == -1 || theirs == stream()) return;
  cudaEvent_t ready;
  CUDA_CALL(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CUDA_CALL(cudaEventRecord(ready, stream()));
  CUDA_CALL(cudaStreamWaitEvent(theirs, ready, 0));
  CUDA_CALL(cudaEventDestroy(ready));
}

// An array to which a consumer may write: the array itself, or a copy of one that is read-only.
DeviceArray exported_view(const DeviceArray& a, const py::object& consumer, const py::kwargs& options) {
  DeviceArray given = a;
  const py::object copy = options.contains("copy") ? py::object(options["copy"]) : py::none();
  if (!a.writeable && !copy.is_none() && !copy.cast<bool>()) {
    throw py::buffer_error("the array is read-only, and copy=False");
  }
  if (!a.writeable || (!copy.is_none() && copy.cast<bool>())) {
    const Entry entry = enter(a);
    given = compact(a, a.dtype);
    CUDA_CALL(cudaStreamSynchronize(stream()));  // complete, whichever stream its owner uses
  }
  make_consumer_wait(given, consumer);
  return given;
}

DeviceArray transposed(const DeviceArray& a) {
  DeviceArray view = a;
  std::reverse(view.shape.begin(), view.shape.end());
  std::reverse(view.strides.begin(), view.strides.end());
  return view;
}

}  // namespace

void bind_device_array(py::module_& m) {
  py::class_<DeviceArray>(m, "DeviceArray", py::module_local(),
                          "An array on the GPU: a view that keeps its memory alive. `get()` copies it to the host; "
                          "CuPy, PyTorch and JAX take it through DLPack without a copy.")
      .def_property_readonly("shape", &shape_of)
      .def_property_readonly("strides", &strides_of)
      .def_property_readonly("dtype", [](const DeviceArray& a) { return numpy_dtype(a.dtype); })
      .def_property_readonly("ndim", &DeviceArray::ndim)
      .def_property_readonly("size", &DeviceArray::size)
      .def_property_readonly("itemsize", [](const DeviceArray& a) { return item_size(a.dtype); })
      .def_property_readonly("nbytes", &DeviceArray::nbytes)
      .def_readonly("device", &DeviceArray::device)
      .def_property_readonly("ptr", [](const DeviceArray& a) { return reinterpret_cast<std::uintptr_t>(a.data); })
      .def_property_readonly("T", &transposed)
      .def_property_readonly("__cuda_array_interface__",
                             [](const DeviceArray& a) {  // not all of its readers respect that an array is read-only
                               if (!a.writeable) throw py::attribute_error("the array is read-only: DLPack copies it");
                               return array_interface(a);
                             })
      .def(
          "__dlpack__",
          [](const DeviceArray& a, const py::object& stream, const py::kwargs& options) {
            return export_dlpack(exported_view(a, stream, options));
          },
          py::arg("stream") = py::none())
      .def("__dlpack_device__", [](const DeviceArray& a) { return py::make_tuple(2, a.device); })
      .def("__array__",
           [](const DeviceArray&, const py::args&, const py::kwargs&) -> py::object {
             throw py::type_error("the array is on the GPU; .get() copies it to the host");
           })
      .def("__len__",
           [](const DeviceArray& a) {
             if (a.ndim() == 0) throw py::type_error("an array without dimensions has no length");
             return a.shape[0];
           })
      .def("__repr__",
           [](const DeviceArray& a) {
             return "<DeviceArray " + py::repr(shape_of(a)).cast<std::string>() + " " + dtype_name(a.dtype) +
                    " on cuda:" + std::to_string(a.device) + ">";
           })
      .def("__getitem__", &sliced)
      .def("ravel", &ravel)
      .def("reshape", &reshape)
      .def("get", &get)
      .def("set",
           [](const DeviceArray& a, const py::array& values) {
             require_writeable(a);
             write(a, values);
           })
      .def("copy",
           [](const DeviceArray& a) {
             const Entry entry = enter(a);
             return compact(a, a.dtype);
           })
      .def("astype", &astype)
      .def("assign",
           [](const DeviceArray& to, const DeviceArray& from) {
             require_writeable(to);
             const Entry entry = enter(to);
             assign(from, to);
           })
      .def("fill",
           [](const DeviceArray& a, Scalar value) {
             require_writeable(a);
             if (!a.contiguous()) throw py::value_error("fill: the array is not contiguous");
             const Entry entry = enter(a);
             fill(a, value);
           })
      .def("read_only",  // a view; `why` is the message of the errors of attempts to write to it
           [](DeviceArray a, std::string why) {
             a.writeable = false;
             a.why = std::move(why);
             return a;
           })
      .def("any",
           [](const DeviceArray& a) {
             const Entry entry = enter(a);
             return any(contiguous(a));
           })
      .def("conj", &mapped_unary<Map::conjugate>)
      .def("__neg__", &mapped_unary<Map::negative>)
      .def("__abs__", &mapped_unary<Map::absolute>)
      .def("__mul__", &mapped<Map::multiply>)
      .def("__rmul__", &mapped<Map::multiply>)
      .def("__truediv__", &mapped<Map::divide>)
      .def("__pow__", [](const DeviceArray& a, const py::object& s) { return mapped<Map::power>(a, s); })
      .def("__imul__", &mapped_in_place<Map::multiply>)
      .def("__itruediv__", &mapped_in_place<Map::divide>)
      .def("__ipow__", &mapped_in_place<Map::power>);

  m.def("asarray", &import_array, py::arg(), py::arg("stream") = py::none());
  m.def("from_host", &from_host, py::arg(), py::arg("device") = 0);
  m.def(
      "empty",
      [](std::vector<int64> shape, const std::string& dtype, int device, const std::string& order) {
        const DType type = dtype_of_name(dtype);
        const Entry entry(device);
        return DeviceArray::empty(type, std::move(shape), order != "F");
      },
      py::arg(), py::arg("dtype"), py::arg("device") = 0, py::arg("order") = "C");
}

}  // namespace diagsparse::cuda
