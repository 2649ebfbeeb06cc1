// Bands of rows of an image, as the loops of direct_tiles.h read them.
#pragma once

#include "snug/kernels/direct_tiles.h"
#include "snug/kernels/im2col.h"

namespace snug {

// Bytes of so many floats in whole cache lines.
size_t line_bytes(int64_t floats);

// The threads that a convolution of this shape deserves.
int band_threads(const ConvolutionShape& shape, int threads);

// For the copy of what so many rows of y read; 0 where no copy is needed.
size_t padded_band_bytes(const ConvolutionShape& shape, int64_t rows);

// Without pixels: for its measures.
DirectBand empty_band(const ConvolutionShape& shape, int64_t rows);
// Rows [begin, begin + rows) of y of one image of x; `padded` is for a copy.
DirectBand make_band(const ConvolutionShape& shape, const float* image, int64_t begin, int64_t rows,
                     float* padded);

}  // namespace snug
