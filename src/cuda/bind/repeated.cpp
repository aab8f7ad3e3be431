// Products in a loop: y = alpha A x + beta y for arrays with the same layout as those of an earlier call, which were
// checked completely. Arrays are identified with little effort, by their type and by what is fastest for it:
//
//     PyTorch       DLPack's functions: type, shape, strides, device, stream; and two queries of the tensor: whether it
//                   takes part in a gradient, and whether it has to be resolved
//     CuPy          the attributes dtype, shape, strides and data: 0.5 us
//     diagsparse    the members of DeviceArray
//     any other     not supported here
#include "bind/repeated.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "bind/dlpack.hpp"
#include "bind/exchange.hpp"
#include "bind/python_lock.hpp"
#include "core/matvec.hpp"
#include "core/validation.hpp"

namespace py = pybind11;

namespace diagsparse::cuda {

namespace {

constexpr double kLarge = 1e300;  // for larger factors, the complete check determines whether the result's type can
                                  // represent them

// A Python error means that the array is not of a known kind; the path with complete checks reports what it is.
py::object attribute(py::handle object, PyObject* name) {
  py::object found = py::reinterpret_steal<py::object>(PyObject_GetAttr(object.ptr(), name));
  if (!found) PyErr_Clear();
  return found;
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }  // never released

struct Names {
  PyObject *dtype = interned("dtype"), *shape = interned("shape"), *strides = interned("strides"),
           *data = interned("data"), *ptr = interned("ptr"), *device_id = interned("device_id"),
           *exchange = interned("__dlpack_c_exchange_api__"), *requires_grad = interned("requires_grad"),
           *is_conj = interned("is_conj"), *is_neg = interned("is_neg");
};
const Names& names() {
  static const auto* result = new Names;
  return *result;
}

std::optional<std::uintptr_t> number(py::handle object) {
  if (!object || !PyLong_Check(object.ptr())) return std::nullopt;
  return reinterpret_cast<std::uintptr_t>(PyLong_AsVoidPtr(object.ptr()));
}

const dlpack::ExchangeApi* exchange_api(py::handle type) {
  const py::object capsule = attribute(type, names().exchange);
  if (!capsule || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  const auto* api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api != nullptr && api->version.major != 1) api = api->previous;
  return api != nullptr && api->tensor_from_object != nullptr && api->current_stream != nullptr ? api : nullptr;
}

// The layout of an array. For another array with the same layout, it determines where its data begins.
class Known {
 public:
  // Empty if the library of x is not supported.
  static std::optional<Known> of(py::handle x, const DeviceArray& view) {
    Known result(x, view);
    if (result.api_ == nullptr && !result.own_) {
      result.dtype_ = attribute(x, names().dtype);
      result.shape_ = attribute(x, names().shape);
      result.strides_ = attribute(x, names().strides);
      if (!result.dtype_ || !result.shape_ || !result.strides_) return std::nullopt;
    }
    Dense found = result.dense_;
    if (!result.locate(x, found) || found.data != view.data || found.data == nullptr) return std::nullopt;
    return result;
  }

  const dlpack::ExchangeApi* api() const { return api_; }
  Dense dense() const { return dense_; }

  // Sets where x begins; returns false if its layout differs.
  bool locate(py::handle x, Dense& found) const {
    if (reinterpret_cast<PyObject*>(Py_TYPE(x.ptr())) != type_.ptr()) return false;
    const bool same = own_              ? by_members(x.cast<const DeviceArray&>(), found)
                      : api_ != nullptr ? by_exchange(x, found)
                                        : by_attributes(x, found);
    return same && reinterpret_cast<std::uintptr_t>(found.data) % item_size(found.dtype) == 0;
  }

 private:
  Known(py::handle x, const DeviceArray& view)
      : type_(py::type::of(x)),
        own_(py::isinstance<DeviceArray>(x)),
        api_(own_ ? nullptr : exchange_api(type_)),
        device_(view.device),
        layout_{view.shape, view.strides},
        dense_(view.dense()) {
    differentiable_ = attribute(type_, names().requires_grad) && attribute(type_, names().is_neg);
  }

  bool by_members(const DeviceArray& x, Dense& found) const {
    if (x.dtype != found.dtype || x.device != device_ || x.shape != layout_.shape || x.strides != layout_.strides)
      return false;
    found.data = x.data;
    return true;
  }

  // The library's own type and layout. Tensors that PyTorch would have to resolve first are rejected.
  bool by_exchange(py::handle x, Dense& found) const {
    if (differentiable_) {
      const auto is_false = [&](PyObject* name) {
        const py::object answer = py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(x.ptr(), name));
        return answer.ptr() == Py_False;
      };
      const py::object gradient = attribute(x, names().requires_grad);
      if (gradient.ptr() != Py_False || !is_false(names().is_neg)) return PyErr_Clear(), false;
      if (has_complex_values(found.dtype) && !is_false(names().is_conj)) return PyErr_Clear(), false;
    }
    dlpack::Tensor t;
    if (api_->tensor_from_object(x.ptr(), &t) != 0) return PyErr_Clear(), false;
    const auto ndim = static_cast<std::int32_t>(layout_.shape.size());
    if (t.device.type != dlpack::kCuda || t.device.id != device_ || t.ndim != ndim || t.strides == nullptr)
      return false;
    if (!std::equal(t.shape, t.shape + ndim, layout_.shape.begin()) ||
        !std::equal(t.strides, t.strides + ndim, layout_.strides.begin()) || !of_type(t.dtype, found.dtype)) {
      return false;
    }
    found.data = static_cast<char*>(t.data) + t.byte_offset;
    return true;
  }

  bool by_attributes(py::handle x, Dense& found) const {
    if (attribute(x, names().dtype).ptr() != dtype_.ptr()) return false;
    const auto equal = [&](PyObject* name, const py::object& like) {
      const py::object mine = attribute(x, name);
      return mine && PyObject_RichCompareBool(mine.ptr(), like.ptr(), Py_EQ) == 1;
    };
    if (!equal(names().shape, shape_) || !equal(names().strides, strides_)) return PyErr_Clear(), false;
    const py::object data = attribute(x, names().data);
    if (!data) return false;
    const auto pointer = number(attribute(data, names().ptr)), device = number(attribute(data, names().device_id));
    if (!pointer || !device || static_cast<int>(*device) != device_) return false;
    found.data = reinterpret_cast<void*>(*pointer);
    return true;
  }

  py::object type_;
  bool own_;
  const dlpack::ExchangeApi* api_;
  int device_;
  struct {
    std::vector<int64> shape, strides;  // strides are in elements
  } layout_;
  Dense dense_;
  bool differentiable_ = false;
  py::object dtype_, shape_, strides_;  // for a library without DLPack's functions
};

// The layouts of x and y, for all matrices with the dtype, shape and device of the first one. It refers neither to
// the matrix nor to the arrays, so that it keeps no memory of a GPU alive.
class Repeated {
 public:
  // `current`: device -> the library's current stream, or its pointer. `empty`: () -> a new y, None for calls with y.
  Repeated(const Matrix& a, Op op, std::string kernel, Known x, Known y, py::object current, py::object empty)
      : dtype_(a.dtype),
        rows_(a.rows),
        cols_(a.cols),
        device_(a.device()),
        op_(op),
        kernel_(std::move(kernel)),
        x_(std::move(x)),
        y_(std::move(y)),
        current_(std::move(current)),
        empty_(std::move(empty)) {}

  // Computes y and returns it, or returns None if anything requires a complete check.
  py::object operator()(const Matrix& a, py::handle x, py::object y, py::handle alpha, py::handle beta) const {
    const std::optional<double> by = factor(alpha), with = factor(beta);
    Dense in = x_.dense(), out = y_.dense();
    if (!by || !with || std::abs(*by) + std::abs(*with) >= kLarge || !fits(a) || !x_.locate(x, in)) return py::none();
    if (y.is_none()) {
      if (empty_.is_none() || *with != 0) return py::none();
      y = empty_();
    }
    if (!y_.locate(y, out) || overlap(out, in)) return py::none();
    const StreamPtr on = callers_stream();
    if (!on) return py::none();
    multiply(a, *by, in, *with, out, on);
    return y;
  }

 private:
  bool fits(const Matrix& a) const {
    return a.dtype == dtype_ && a.rows == rows_ && a.cols == cols_ && a.device() == device_;
  }

  void multiply(const Matrix& a, double alpha, const Dense& x, double beta, const Dense& y, const StreamPtr& on) const {
    const Unlocked unlocked;
    const OnStream here(on);
    used_on_this_stream(a.values);
    for (const Part& part : a.structure->index_arrays()) used_on_this_stream(part.second);
    matvec(a, op_, alpha, x, beta, y, kernel_);
  }

  static std::optional<double> factor(py::handle value) {
    if (PyFloat_CheckExact(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
    if (!PyLong_CheckExact(value.ptr())) return std::nullopt;
    const double result = PyLong_AsDouble(value.ptr());
    if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
    return result;
  }

  // The library's current stream, if it is already known.
  StreamPtr callers_stream() const {
    refuse_fork();
    void* handle = nullptr;
    if (x_.api() != nullptr) {
      if (x_.api()->current_stream(dlpack::kCuda, device_, &handle) != 0) return PyErr_Clear(), nullptr;
    } else {
      const py::object stream = current_(device_);
      const auto pointer = number(PyLong_Check(stream.ptr()) ? stream : attribute(stream, names().ptr));
      if (!pointer) return nullptr;
      handle = reinterpret_cast<void*>(*pointer);
    }
    return find_stream(device_, static_cast<cudaStream_t>(handle));
  }

  const DType dtype_;
  const int64 rows_, cols_;
  const int device_;
  const Op op_;
  const std::string kernel_;
  const Known x_, y_;
  const py::object current_, empty_;
};

}  // namespace

void bind_repeated(py::module_& m) {
  m.def("repeated",
        [](const Matrix& a, int op, std::string kernel, py::handle x, py::handle y, const DeviceArray& x_view,
           const DeviceArray& y_view, py::object current, py::object empty) -> py::object {
          std::optional<Known> in = Known::of(x, x_view), out = Known::of(y, y_view);
          if (!in || !out) return py::none();
          auto known = std::make_shared<const Repeated>(a, op_from(op), std::move(kernel), *std::move(in),
                                                        *std::move(out), std::move(current), std::move(empty));
          return py::cpp_function([known](const Matrix& a, py::handle x, py::object y, py::handle alpha,
                                          py::handle beta) { return (*known)(a, x, std::move(y), alpha, beta); });
        });
}

}  // namespace diagsparse::cuda
