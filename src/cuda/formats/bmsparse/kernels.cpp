// The kernels of bmsparse on the GPU, the default first.
#include "formats/bmsparse/kernels.hpp"

#include "formats/bmsparse/layout.hpp"

namespace diagsparse::cuda::bmsparse {

static FormatKernels make() {
  return {{by_rows(), by_base(), by_batch()},
          {by_fragments(), by_tf32(), by_fp16(), by_bf16(), by_cuda_cores("baseline"), by_cuda_cores("indexed"),
           by_cuda_cores("segmented_sort"), by_cuda_cores("adaptive"), by_cuda_cores("short_segments"),
           by_cuda_cores("cuda_cores"), by_tc_naive(), by_tc_2blk(), by_tc_2tsk()}};
}
static const RegisterKernels registered("bmsparse", 0, make);

}  // namespace diagsparse::cuda::bmsparse
