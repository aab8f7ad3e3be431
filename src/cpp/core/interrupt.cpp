// The watch of the current thread, which native code queries to see whether it should stop.
#include "core/interrupt.hpp"

namespace diagsparse {

namespace {

thread_local Watch* watch = nullptr;

}  // namespace

Watch* current_watch() { return watch; }
void set_current_watch(Watch* now) { watch = now; }

}  // namespace diagsparse
