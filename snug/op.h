// For ops of one's own: the contract that Snug's own ops keep.
#pragma once

#include "snug/base/error.h"
#include "snug/graph/graph.h"
#include "snug/graph/op.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"
