// Products of blocks as they are planned in the thesis (Berger Alvarez 2024): a list of tasks, sorted by blocks of C.
#pragma once

#include "formats/bmsparse/products.hpp"

namespace diagsparse::cuda::bmsparse {

enum class TaskList { none, triples, numbers, segments, adaptive, short_segments };

constexpr int64 kBytesOfTask = 48;  // while it is sorted

// The list with which a kernel of this name is planned; none: it uses no such list.
TaskList task_list_of(const std::string& kernel);

BlocksOfProduct blocks_by_tasks(const BlockOperand& a, const BlockOperand& b, TaskList list, const Request& request);

}  // namespace diagsparse::cuda::bmsparse
