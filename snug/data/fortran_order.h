// Arrays whose elements stand column after column: NumPy's Fortran order, as a pandas table gives
// it.
#pragma once

#include "snug/data/row_file.h"

namespace snug {

// Throws DataError where the rows of a file stand so and there is no folder to put them in.
void check_order(const RowFile& rows, const Path& cache);

// Where the rows of a file stand so: writes them one row after the other into the folder `cache`,
// once, and reads them from there from now on; found again by later runs. Needs 1 MiB, or a row.
// Throws as check_order() does; FileError without room.
void put_in_rows(RowFile& rows, FileSystem& files, const Path& cache);

}  // namespace snug
