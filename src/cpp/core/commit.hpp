// The commit that a module was built from: benchmarks store it with their results.
#pragma once

namespace diagsparse {

extern const char* const built_from;  // forty digits, "-dirty" behind them where files had been changed; or "unknown"

}  // namespace diagsparse
