// A pool of threads that wait for work, shared by all callers.
#pragma once

#include "core/interrupt.hpp"
#include "core/types.hpp"

namespace diagsparse {

// Calls task(f, t) for 0 <= t < tasks on the calling thread and on helper threads if they start in time, `threads` in
// all. Each thread first processes consecutive tasks of its own chunk in order, then remaining tasks of other chunks. A
// thread that does not get a processor, because threads of another library occupy it, therefore delays nobody. Tasks do
// not throw.
void run_on_pool(int threads, int64 tasks, void (*task)(const void* f, int64 t), const void* f);

}  // namespace diagsparse
