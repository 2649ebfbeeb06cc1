// One source that several threads read, as the two sides of a split do.
#pragma once

#include "snug/data/source.h"

namespace snug::data {

// The source for readers that may come from several threads: those that read ahead for training
// and for validation. They take turns where they read the source itself; its twins are as they
// were. A source in memory, which no other thread reads, is given back as it is.
SourcePtr shared(SourcePtr source);

}  // namespace snug::data
