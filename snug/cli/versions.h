#pragma once

#include <map>
#include <string>

namespace snug::cli {

// Snug and the libraries that decide what a run computes, by name.
std::map<std::string, std::string> versions();

// "avx2": the instruction set that the kernels use.
std::string instruction_set();

}  // namespace snug::cli
