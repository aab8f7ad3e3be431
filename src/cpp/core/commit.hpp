// The commit from which a module was built; benchmarks store it with their results.
#pragma once

namespace diagsparse {

extern const char* const built_from;  // forty digits, followed by "-dirty" if files had been changed; or "unknown"

}  // namespace diagsparse
