// The kernels of bmsparse on the GPU, the default first.
#include "formats/bmsparse.hpp"

#include "kernels/bmsparse/kernels.hpp"

namespace diagsparse::cuda {

static FormatKernels make() {
  using namespace bitmaps;
  return {{by_rows()}, {by_fragments()}};
}
static const RegisterKernels registered("bmsparse", 0, make);

}  // namespace diagsparse::cuda
