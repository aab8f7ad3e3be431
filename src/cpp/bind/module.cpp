// The Python side of the C++ core, put together. No format is named in this folder but in what a device adds; every
// call takes plain arguments that python/diagsparse/_matrix has checked in the user's words.
#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/commit.hpp"

namespace py = pybind11;

namespace diagsparse {

void bind_module(py::module_& m) {
  on_main_thread();  // which thread that is, is found while Python's lock is held
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Interrupted&) {  // Python's own exception is set
    }
  });
  bind_matrices(m);
  bind_products(m);
  bind_plans(m);
  bind_conversions(m);
  bind_tables(m);
  bind_batches(m);
  bind_elementwise(m);
  bind_device(m);
  m.attr("commit") = built_from;
}

}  // namespace diagsparse
