#include "snug/data/renumbered.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "snug/base/error.h"
#include "snug/data/slot_rows.h"

namespace snug {
namespace {

constexpr int64_t kPieceRows = 256;

}  // namespace

RenumberedSource::RenumberedSource(SourcePtr source) : source_(std::move(source)) {
  SNUG_CHECK(source_->access() == Access::random);
}

int64_t RenumberedSource::number(int64_t row) const {
  int64_t number = 0;
  renumber({&row, 1}, {&number, 1});
  return number;
}

void RenumberedSource::read(int field, std::span<const int64_t> rows, const Tensor& slot) {
  std::array<int64_t, kPieceRows> numbers{};
  for (int64_t done = 0; done < std::ssize(rows); done += kPieceRows) {
    const auto some = static_cast<size_t>(std::min(kPieceRows, std::ssize(rows) - done));
    const std::span<int64_t> piece = std::span(numbers).first(some);
    renumber(rows.subspan(static_cast<size_t>(done), some), piece);
    source_->read(field, piece, rows_of(slot, done, static_cast<int64_t>(some)));
  }
}

void RenumberedSource::read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) {
  std::array<int64_t, kPieceRows> numbers{};
  SlotRows pieces(slots);
  for (int64_t done = 0; done < std::ssize(rows); done += kPieceRows) {
    const auto some = static_cast<size_t>(std::min(kPieceRows, std::ssize(rows) - done));
    const std::span<int64_t> piece = std::span(numbers).first(some);
    renumber(rows.subspan(static_cast<size_t>(done), some), piece);
    source_->read_rows(piece, pieces.at(done, static_cast<int64_t>(some)));
  }
}

int64_t RenumberedSource::next(int64_t count, std::span<const Tensor> slots) {
  const int64_t rows = std::min(count, size() - position_);
  std::array<int64_t, kPieceRows> numbers{};
  SlotRows pieces(slots);
  for (int64_t done = 0; done < rows; done += kPieceRows) {
    const int64_t some = std::min(kPieceRows, rows - done);
    const std::span<int64_t> piece = std::span(numbers).first(static_cast<size_t>(some));
    std::iota(piece.begin(), piece.end(), position_ + done);
    read_rows(piece, pieces.at(done, some));
  }
  position_ += rows;
  return rows;
}

void RenumberedSource::begin_pass(uint64_t pass) {
  source_->begin_pass(pass);
  position_ = 0;
}

}  // namespace snug
