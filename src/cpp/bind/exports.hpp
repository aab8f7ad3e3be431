// Index arrays of csr, csc and coo in Python's hands, and native matrices that follow what is written there.
//
// Kernels trust index arrays, so they never read those that a user may write to: Python copies them first. From then on
// the matrix has an exporter, an object of Python's (ExportedIndices in python/diagsparse/_formats/) that
// holds these copies. Whoever takes such a matrix from Python as an argument gets the one that the exporter returns:
// validated, and as the arrays are now. A matrix without an exporter costs one comparison with null here.
//
// An exporter belongs to a matrix and to the transposes on the same arrays, which are objects of their own in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "core/matrix.hpp"

namespace diagsparse {

// Owned by all Python objects of these matrices together.
class Exports {
 public:
  explicit Exports(bool sealed = false) : sealed_(sealed) {}
  Exports(const Exports&) = delete;

  bool any() const { return any_.load(std::memory_order_acquire); }
  bool sealed() const { return sealed_; }  // arrays are read-only: they are part of another matrix
  pybind11::object exporter() const {      // None where there is none
    const std::lock_guard<std::mutex> lock(mutex_);
    return exporter_ ? exporter_ : pybind11::none();
  }
  // The one that there is from now on: this one, unless another thread was quicker.
  pybind11::object set(pybind11::object exporter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!exporter_) exporter_ = std::move(exporter);
    any_.store(true, std::memory_order_release);
    return exporter_;
  }
  void drop(const pybind11::object& exporter) {  // to which the caller has a reference, too
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!exporter_.is(exporter)) return;
    any_.store(false, std::memory_order_release);
    exporter_ = {};
  }

  Exports* join() {
    ++owners_;
    return this;
  }
  void leave() {
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

// What Python's object of a matrix owns: the matrix, and what it shares with its transposes once somebody asks for it.
template <class T>
class Owned {
 public:
  explicit Owned(T* matrix) : matrix_(matrix) {}
  Owned(Owned&& other) noexcept : matrix_(std::move(other.matrix_)), exports_(other.exports_.exchange(nullptr)) {}
  ~Owned() {
    if (Exports* known = exports_) known->leave();
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
      result->leave();  // another thread was quicker
    }
    return *known;
  }
  void take(Exports* exports) { exports_ = exports; }  // and a reference to it, for a matrix that has none

 private:
  std::unique_ptr<T> matrix_;
  std::atomic<Exports*> exports_{nullptr};
};

static_assert(sizeof(Owned<Matrix>) == 2 * sizeof(void*));  // small enough for pybind11's simple layout

// Of an object of Python's that is known to be a matrix.
inline Owned<Matrix>& owned(pybind11::handle matrix) {
  auto* object = reinterpret_cast<pybind11::detail::instance*>(matrix.ptr());
  if (object->simple_layout) {  // spares a call for each argument
    return reinterpret_cast<Owned<Matrix>&>(object->simple_value_holder[1]);
  }
  return object->get_value_and_holder().holder<Owned<Matrix>>();
}

}  // namespace diagsparse

PYBIND11_DECLARE_HOLDER_TYPE(T, diagsparse::Owned<T>)

namespace pybind11::detail {

// A matrix as an argument: the one that its exporter returns, where it has one. It lives as long as the caster does.
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
    if (current_.is_none()) {  // nobody holds an array any more, and nothing was written
      exports.drop(exporter);
      return true;
    }
    return type_caster_base<diagsparse::Matrix>::load(current_, convert);
  }

 private:
  object current_;
};

}  // namespace pybind11::detail
