// Products of all members of a batch.
#include "core/batch.hpp"

namespace diagsparse {

Matrix member(const Matrix& all, int64 i) {
  Matrix one = all;
  one.values.data = all.values.as<char>() + i * member_stride(all) * item_size(all.dtype);
  one.values.shape = all.structure->values_shape;
  return one;
}

Dense member(const Dense& rows, int64 i, int64 columns) {
  char* data = rows.as<char>() + i * rows.row_stride * item_size(rows.dtype);
  const int64 height = rows.cols / columns;
  return {data, rows.dtype, height, columns, columns, columns == 1 ? height : 1};
}

Matrix batch_result(const Plan& plan, int64 count, DType dtype) {
  const int64 size = plan.c->values_shape.size();
  const bool padded = plan.c->stored() != size;
  return {plan.c, padded ? Array::zeros(dtype, {count, size}) : Array::empty(dtype, {count, size})};
}

}  // namespace diagsparse
