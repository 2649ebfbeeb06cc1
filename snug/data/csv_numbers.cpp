#include "snug/data/csv_numbers.h"

#include <atomic>
#include <iterator>
#include <map>

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

// Gives back each block of memory with the last of its pieces.
class Returning {
 public:
  explicit Returning(TableNumbers& numbers) : memory_(numbers.memory), left_(memory_.size()) {
    std::map<const void*, size_t> blocks;
    for (size_t i = 0; i < memory_.size(); ++i) blocks.emplace(memory_[i].data(), i);
    for (const TableNumbers::Piece& piece : numbers.pieces) {
      block_of_.push_back(std::prev(blocks.upper_bound(piece.values.data()))->second);
      ++left_[block_of_.back()];
    }
  }
  void done(size_t piece) {
    if (--left_[block_of_[piece]] == 0) memory_[block_of_[piece]] = Arena();
  }

 private:
  std::vector<Arena>& memory_;
  std::vector<std::atomic<size_t>> left_;
  std::vector<size_t> block_of_;
};

}  // namespace

std::unique_ptr<MemoryRows> pack_numbers(TableNumbers numbers, const RowEncoder& encoder,
                                         int threads) {
  const size_t columns = encoder.columns().columns.size(), words = encoder.words();
  auto packed = std::make_unique<MemoryRows>(numbers.rows, words);
  std::vector<size_t> first = {0};  // Word of each piece.
  for (const TableNumbers::Piece& piece : numbers.pieces) {
    first.push_back(first.back() + piece.values.size() / columns * words);
  }
  Returning memory(numbers);
  std::atomic<size_t> next = 0;
  std::atomic<bool> good = true;
  parallel_parts(threads, [&](int) {
    const FlushDenormals flush;
    for (size_t i = next++; good && i < numbers.pieces.size(); i = next++) {
      const auto to = packed->rows().subspan(first[i], first[i + 1] - first[i]);
      if (!pack_piece(numbers.pieces[i], encoder, to)) good = false;
      memory.done(i);
    }
  });
  return good ? std::move(packed) : nullptr;
}

}  // namespace snug
