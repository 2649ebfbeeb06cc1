// Numbers of a run that stay where they are, listed once by their addresses: a save copies them and
// waits for no names. The thread that writes gives them their names back.
#pragma once

#include <functional>
#include <vector>

#include "snug/train/checkpoint_file.h"
#include "snug/train/run_state.h"

namespace snug {

class StateNumbers {
 public:
  void clear();
  // Lists what is visited: numbers only, which stay where they are until clear(); vectors keep
  // their lengths. Returns the bytes of the section, as StateWriter writes them now.
  std::vector<std::byte> add(size_t section, const std::function<void(StateVisitor&)>& visit);

  // As they stand now.
  void take() noexcept;
  // Writes what was taken last where it belongs in the bytes of its sections.
  void put_into(std::vector<CheckpointSection>& sections) const;

 private:
  class Lister;
  // All that a copy looks at stands in one list.
  struct Source {
    const void* from;
    size_t bytes;
  };
  enum class Kind { whole, integer, truth };  // As in the section; an int; a bool.
  struct Target {
    size_t section, offset;
    Kind kind;
  };

  std::vector<Source> sources_;
  std::vector<Target> targets_;  // Of each source.
  std::vector<std::byte> copy_;  // Of all of them, each from a multiple of 8 on.
};

}  // namespace snug
