// What the benches' command lines and clocks have in common.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "snug/base/error.h"

namespace snug::bench {

// Options that each have a place for their value, and names.
class Arguments {
 public:
  // `--name VALUE`.
  template <typename T>
  Arguments& value(const std::string& name, T& place) {
    options_[name] = [&place, name](const char* text) {
      std::istringstream in(text == nullptr ? "" : text);
      if (!(in >> place) || !in.eof())
        throw Error("{} is {}; --help says what it takes", name, text == nullptr ? "last" : text);
      return true;
    };
    return *this;
  }
  // `--name` alone.
  Arguments& flag(const std::string& name, bool& place) {
    options_[name] = [&place](const char*) {
      place = true;
      return false;
    };
    return *this;
  }

  // Fills in the places and returns the names, in their order. Throws Error for anything else.
  std::vector<std::string> parse(int argc, char** argv) const {
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      const auto option = options_.find(word);
      if (option != options_.end())
        i += option->second(i + 1 < argc ? argv[i + 1] : nullptr) ? 1 : 0;
      else if (word.starts_with("-"))
        throw Error("unknown option {}; --help lists them", word);
      else
        names.push_back(word);
    }
    return names;
  }

 private:
  // Take what follows; say whether that was theirs.
  std::map<std::string, std::function<bool(const char*)>> options_;
};

// A bench's main: its help where that is asked for; what it throws, and the exit code of it.
inline int run_bench(const char* name, const char* help, int argc, char** argv,
                     void (*run)(int argc, char** argv)) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(help, stdout);
    return 0;
  }
  try {
    run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return error.exit_code();
  }
  return 0;
}

inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace snug::bench
