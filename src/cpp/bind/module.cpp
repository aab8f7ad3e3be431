// Assembles the bindings. Apart from what a device adds, no format is named in this folder. All arguments are plain
// values that python/diagsparse/_matrix has already checked, with errors for the user.
#include "bind/device.hpp"
#include "bind/subjects.hpp"
#include "core/commit.hpp"

namespace py = pybind11;

namespace diagsparse {

void bind_module(py::module_& m) {
  on_main_thread();  // determines the main thread while the GIL is held
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Interrupted&) {  // the Python exception is already set
    }
  });
  bind_matrices(m);
  bind_products(m);
  bind_plans(m);
  bind_conversions(m);
  bind_tables(m);
  bind_batches(m);
  bind_xla(m);
  bind_elementwise(m);
  bind_device(m);
  m.attr("commit") = built_from;
}

}  // namespace diagsparse
