// Threads that wait for work, shared by all callers.
#pragma once

#include "core/interrupt.hpp"
#include "core/types.hpp"

namespace diagsparse {

// Calls task(f, t) for 0 <= t < tasks on the calling thread and, where they come in time, on others: `threads` in all.
// Each thread takes neighbouring tasks in order, and then what is left of the others' shares. So a thread that does not
// get a processor, since another library's threads hold it, is not waited for. Tasks do not throw.
void share_out(int threads, int64 tasks, void (*task)(const void* f, int64 t), const void* f);

}  // namespace diagsparse
