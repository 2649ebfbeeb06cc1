#include "snug/data/csv_numbers.h"

#include <atomic>

#include "snug/base/threads.h"

namespace snug {
namespace {

bool pack_piece(const TableNumbers::Piece& piece, const RowEncoder& encoder,
                std::span<uint32_t> to) {
  const size_t columns = encoder.columns().columns.size(), words = encoder.words();
  if (encoder.encode_numbers(piece.values, piece.first_line, to)) return true;
  for (size_t row = 0; row * columns < piece.values.size(); ++row) {
    const auto values = piece.values.subspan(row * columns, columns);
    const int64_t line = piece.first_line + static_cast<int64_t>(row);
    if (!encoder.encode_values(values, line, to.subspan(row * words, words))) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<MemoryRows> pack_numbers(const TableNumbers& numbers, const RowEncoder& encoder,
                                         int threads) {
  const size_t columns = encoder.columns().columns.size(), words = encoder.words();
  auto packed = std::make_unique<MemoryRows>(numbers.rows, words);
  std::vector<size_t> first = {0};  // Word of each piece.
  for (const TableNumbers::Piece& piece : numbers.pieces) {
    first.push_back(first.back() + piece.values.size() / columns * words);
  }
  std::atomic<size_t> next = 0;
  std::atomic<bool> good = true;
  parallel_parts(threads, [&](int) {
    const FlushDenormals flush;
    for (size_t i = next++; good && i < numbers.pieces.size(); i = next++) {
      const auto to = packed->rows().subspan(first[i], first[i + 1] - first[i]);
      if (!pack_piece(numbers.pieces[i], encoder, to)) good = false;
    }
  });
  return good ? std::move(packed) : nullptr;
}

}  // namespace snug
