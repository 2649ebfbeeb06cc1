// How fast the machine is just now: for each line on stdin one line of JSON, in about 0.1 s. A
// virtual machine's peak and cache bandwidth change within minutes, so bench/train.py asks beside
// every turn that it times.

#include <cstdio>
#include <iostream>
#include <string>

#include "bench/machine_limits.h"

int main() {
  constexpr int64_t kInSecondCache = 48 * 1024;       // Floats: two arrays of 192 KiB.
  constexpr int64_t kInThirdCache = 2 * 1024 * 1024;  // Two arrays of 8 MiB.
  for (std::string line; std::getline(std::cin, line);) {
    const double peak = snug::bench::peak_gflops();
    const double near = snug::bench::copy_gigabytes(kInSecondCache);
    const double far = snug::bench::copy_gigabytes(kInThirdCache);
    std::printf("{\"gflops\": %.1f, \"l2_gbs\": %.1f, \"l3_gbs\": %.1f}\n", peak, near, far);
    std::fflush(stdout);
  }
}
