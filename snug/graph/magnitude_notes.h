// Kernels that note the magnitudes of what they make, and kernels that need no other look at it. A
// program brings both together where a value is made by one run, whole.
#pragma once

#include <span>

#include "snug/tensor/noted_magnitude.h"

namespace snug {

class NotesMagnitudes {
 public:
  virtual ~NotesMagnitudes() = default;
  // Where every run notes those of its first output from now on, in stretches; empty where it
  // cannot. They stay there as long as the kernel lives.
  virtual std::span<const NotedMagnitude> note_magnitudes() = 0;
};

class TakesMagnitudes {
 public:
  virtual ~TakesMagnitudes() = default;
  // Whether notes do instead of this input.
  virtual bool takes_magnitudes(int input) const = 0;
  // When it runs, the input's are noted there.
  virtual void take_magnitudes(int input, std::span<const NotedMagnitude> notes) = 0;
};

}  // namespace snug
