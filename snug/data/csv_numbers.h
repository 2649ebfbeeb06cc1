// Tables of nothing but numbers: packed from what the scan has kept, so that they are parsed once.
#pragma once

#include <memory>

#include "snug/data/csv_scan.h"
#include "snug/data/packed_rows.h"
#include "snug/data/row_encoder.h"

namespace snug {

// The rows of a table, or null where one of them cannot be encoded or a column is to be read as
// categories: then the table has to be gone over again, to say what is wrong. The memory of the
// numbers is given back as they are packed, so that both together take little more than the
// numbers.
std::unique_ptr<MemoryRows> pack_numbers(TableNumbers numbers, const RowEncoder& encoder,
                                         int threads);

}  // namespace snug
