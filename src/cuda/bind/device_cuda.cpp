// The binding's functions for the GPU: arrays in and out, the caller's stream, memory, and what this machine has.
#include <pybind11/complex.h>
#include <pybind11/gil_safe_call_once.h>
#include <pybind11/stl.h>

#include "bind/device.hpp"
#include "bind/exchange.hpp"
#include "bind/multigrid.hpp"
#include "bind/python_array.hpp"
#include "bind/repeated.hpp"
#include "bind/solving.hpp"
#include "core/validation.hpp"
#include "entries/entries.hpp"
#include "kernels/cusparse/cusparse.hpp"

namespace py = pybind11;

namespace diagsparse {

using namespace cuda;

Dense dense_from(py::handle object) { return object.cast<const DeviceArray&>().dense(); }
Array array_from(py::handle object) { return object.cast<const DeviceArray&>().array(); }
py::object to_python(const Array& array) { return array.on_host ? to_numpy(array) : py::cast(DeviceArray::of(array)); }

namespace {

// The caller's current stream, as determined by diagsparse/_arrays/streams.py.
StreamPtr callers_stream(int device) {
  refuse_fork();
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::module_> imported;  // a thread that waits holds no
                                                                                     // lock
  const py::module_& streams =
      imported.call_once_and_store_result([] { return py::module_::import("diagsparse._arrays.streams"); })
          .get_stored();
  const auto pointer = streams.attr("current")(device).cast<std::uintptr_t>();
  const auto handle = reinterpret_cast<cudaStream_t>(pointer);
  if (StreamPtr known = find_stream(device, handle)) return known;
  std::shared_ptr<void> owner;
  if (pointer != 0) {
    const py::object stream = streams.attr("keep")(device, pointer);
    if (!stream.is_none()) owner = keep_alive(stream, stream.ptr());
  }
  return remember_stream(device, handle, std::move(owner));
}

}  // namespace

struct Entry::State {
  OnStream on;
};

Entry::Entry(int device, std::span<const Matrix* const> used) : state_(new State{OnStream(callers_stream(device))}) {
  for (const Matrix* m : used) {
    if (m->device() != device) {
      throw std::invalid_argument("the operands are on different GPUs, " + std::to_string(device) + " and " +
                                  std::to_string(m->device()));
    }
    used_on_this_stream(m->values);
    for (const Part& part : m->structure->index_arrays()) used_on_this_stream(part.second);
  }
}
Entry::~Entry() = default;

void run_in_stream(void* stream, const std::function<void(int)>& work) {
  refuse_fork();
  int device = 0;
  CUDA_CALL(cudaGetDevice(&device));
  const auto handle = static_cast<cudaStream_t>(stream);
  StreamPtr known = find_stream(device, handle);
  const OnStream on(known ? std::move(known) : remember_stream(device, handle, nullptr));
  work(device);
}

namespace {

// fn(bytes, device, stream) -> (pointer, owner)
void use_allocator(const py::object& fn) {
  if (fn.is_none()) return use_pool({});
  use_pool([shared = keep_alive(fn, fn.ptr())](int64 bytes, int device, cudaStream_t on) -> std::shared_ptr<void> {
    const py::gil_scoped_acquire locked;
    const py::handle call(static_cast<PyObject*>(shared.get()));
    const py::tuple result = call(bytes, device, reinterpret_cast<std::uintptr_t>(on));
    void* p = reinterpret_cast<void*>(result[0].cast<std::uintptr_t>());
    const py::object memory_owner = result[1];
    const std::shared_ptr<void> owner = keep_alive(memory_owner, memory_owner.ptr());
    return std::shared_ptr<void>(p, [owner](void*) {});
  });
}

void bind_entries(py::module_& m) {
  m.def("entries", [](const std::string& format, int64 rows, int64 cols, const DeviceArray& values,
                      const DeviceArray& first, const DeviceArray& second, const std::string& layout) {
    const Entry entry(values.device);
    return matrix_from_entries(format, rows, cols, values, first, second, layout);
  });
}

}  // namespace

// A point in time on the caller's stream, for timing.
class Event {
 public:
  explicit Event(int device) : device_(device) {
    const Entry entry(device);
    CUDA_CALL(cudaEventCreate(&event_));
  }
  Event(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  void record() {
    const Entry entry(device_);
    CUDA_CALL(cudaEventRecord(event_, stream()));
  }
  // Seconds from `start` to this event; waits for both.
  double since(const Event& start) const {
    const Unlocked unlocked;
    float milliseconds = 0;
    CUDA_CALL(cudaEventSynchronize(event_));
    CUDA_CALL(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

void bind_device(py::module_& m) {
  py::class_<Event>(m, "Event", py::module_local())
      .def(py::init<int>(), py::arg("device") = 0)
      .def("record", &Event::record)
      .def("since", &Event::since);
  static const py::handle cuda_error =
      py::object(py::module_::import("diagsparse._backends.backend").attr("CudaError")).release();
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& e) {
      PyErr_SetString(cuda_error.ptr(), e.what());
    }
  });
  bind_device_array(m);
  bind_repeated(m);
  bind_solving(m);
  cuda::bind_multigrid(m);
  bind_entries(m);
  m.def("device_count", &device_count);
  m.def("device_name", [](int i) {
    cudaDeviceProp props;
    CUDA_CALL(cudaGetDeviceProperties(&props, i));
    return std::string(props.name);
  });
  m.def("memory", [](int device) {
    const Free f = memory(device);
    return py::make_tuple(f.free, f.total);
  });
  m.def("used", &used);
  m.def("trim", &trim, py::call_guard<Unlocked>());
  m.def("use_allocator", &use_allocator);
  m.def("synchronize", [](int device) {
    const Entry entry(device);
    CUDA_CALL(cudaStreamSynchronize(stream()));
  });
  m.def("driver_version", [] {
    int version = 0;
    CUDA_CALL(cudaDriverGetVersion(&version));
    return version;
  });
  m.def("runtime_version", [] {
    int version = 0;
    CUDA_CALL(cudaRuntimeGetVersion(&version));
    return version;
  });
  m.def("cusparse_version", &cusparse::version);
}

}  // namespace diagsparse

PYBIND11_MODULE(_cuda, m, py::mod_gil_not_used()) { diagsparse::bind_module(m); }
