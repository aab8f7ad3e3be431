// Index arrays of csr, csc and coo that are exposed to Python, and native matrices that follow changes made there.
//
// Kernels rely on valid index arrays, so they never read arrays that a user can write to: Python gets copies. A matrix
// with exposed copies has an exporter, the Python object that holds them (ExportedIndices in
// python/diagsparse/_formats/). When such a matrix is passed as an argument, the binding uses the matrix that the
// exporter returns instead: validated, and with the current contents of the arrays. For a matrix without an exporter,
// this costs one comparison with null.
//
// An exporter belongs to a matrix and to the transposes on the same arrays, which are separate objects in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "core/matrix.hpp"

namespace diagsparse {

// Shared by the Python objects of all these matrices.
class Exports {
 public:
  explicit Exports(bool sealed = false) : sealed_(sealed) {}
  Exports(const Exports&) = delete;

  bool any() const { return any_.load(std::memory_order_acquire); }
  bool sealed() const { return sealed_; }  // the arrays are read-only because they are part of another matrix
  pybind11::object exporter() const {      // None if there is none
    const std::lock_guard<std::mutex> lock(mutex_);
    return exporter_ ? exporter_ : pybind11::none();
  }
  // Installs this exporter, unless another thread has already installed one; returns the installed exporter.
  pybind11::object set(pybind11::object exporter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!exporter_) exporter_ = std::move(exporter);
    any_.store(true, std::memory_order_release);
    return exporter_;
  }
  void drop(const pybind11::object& exporter) {  // the caller holds a reference to it as well
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!exporter_.is(exporter)) return;
    any_.store(false, std::memory_order_release);
    exporter_ = {};
  }

  Exports* add_owner() {
    ++owners_;
    return this;
  }
  void release() {
    if (--owners_ == 0) delete this;
  }

 private:
  ~Exports() = default;

  std::atomic<int> owners_{1};
  const bool sealed_;
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  pybind11::object exporter_;
};

// Holder of a matrix in Python: owns the matrix, and shares the exports with its transposes once they are requested.
template <class T>
class Owned {
 public:
  explicit Owned(T* matrix) : matrix_(matrix) {}
  Owned(Owned&& other) noexcept : matrix_(std::move(other.matrix_)), exports_(other.exports_.exchange(nullptr)) {}
  ~Owned() {
    if (Exports* known = exports_) known->release();
  }

  T* get() const { return matrix_.get(); }
  bool exported() const {
    const Exports* known = exports_.load(std::memory_order_acquire);
    return known != nullptr && known->any();
  }
  Exports& exports() {
    Exports* known = exports_.load(std::memory_order_acquire);
    if (known == nullptr) {
      auto* result = new Exports;
      if (exports_.compare_exchange_strong(known, result)) return *result;
      result->release();  // another thread was faster
    }
    return *known;
  }
  void adopt(Exports* exports) { exports_ = exports; }  // takes over a reference, for a matrix without exports

 private:
  std::unique_ptr<T> matrix_;
  std::atomic<Exports*> exports_{nullptr};
};

static_assert(sizeof(Owned<Matrix>) == 2 * sizeof(void*));  // fits pybind11's simple layout

// The holder of a Python object that is known to be a matrix.
inline Owned<Matrix>& owned(pybind11::handle matrix) {
  auto* object = reinterpret_cast<pybind11::detail::instance*>(matrix.ptr());
  if (object->simple_layout) {  // avoids a function call for each argument
    return reinterpret_cast<Owned<Matrix>&>(object->simple_value_holder[1]);
  }
  return object->get_value_and_holder().holder<Owned<Matrix>>();
}

}  // namespace diagsparse

PYBIND11_DECLARE_HOLDER_TYPE(T, diagsparse::Owned<T>)

namespace pybind11::detail {

// Loads a matrix as an argument: the one that its exporter returns, if it has one. It lives as long as the caster.
template <>
class type_caster<diagsparse::Matrix> : public type_caster_base<diagsparse::Matrix> {
 public:
  bool load(handle source, bool convert) {
    if (!type_caster_base<diagsparse::Matrix>::load(source, convert)) return false;
    if (Py_TYPE(source.ptr()) != typeinfo->type || !diagsparse::owned(source).exported()) return true;
    diagsparse::Exports& exports = diagsparse::owned(source).exports();
    const object exporter = exports.exporter();
    if (exporter.is_none()) return true;
    current_ = exporter.attr("native")(static_cast<const diagsparse::Matrix*>(value)->format);
    if (current_.is_none()) {  // no array is referenced any more, and nothing was changed
      exports.drop(exporter);
      return true;
    }
    return type_caster_base<diagsparse::Matrix>::load(current_, convert);
  }

 private:
  object current_;
};

}  // namespace pybind11::detail
