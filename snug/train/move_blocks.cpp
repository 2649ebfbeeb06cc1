#include "snug/train/move_blocks.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace snug {
namespace {

// The end of all that is read or written.
std::byte* end_of(const std::vector<BlockMove>& moves) {
  std::byte* end = nullptr;
  for (const BlockMove& move : moves)
    end = std::max({end, move.from + move.bytes, move.to + move.bytes});
  return end;
}

// To the end, one behind the other. The highest goes first: what has gone needs no more room than
// it had, so it does not reach down to what is still to go. Returns where they begin.
std::byte* pack(std::vector<BlockMove>& moves, std::byte* end) {
  std::ranges::sort(moves, std::greater<>(), &BlockMove::from);
  for (BlockMove& move : moves) {
    end -= move.bytes;
    std::memmove(end, move.from, move.bytes);
    move.from = end;
  }
  return end;
}

// Puts what is packed into the order of the targets, each in turn in front of the rest.
void order(std::vector<BlockMove>& moves, std::byte* begin) {
  std::ranges::sort(moves, {}, &BlockMove::to);
  for (size_t i = 0; i < moves.size(); ++i) {
    std::byte* const from = moves[i].from;
    std::rotate(begin, from, from + moves[i].bytes);
    for (size_t k = i + 1; k < moves.size(); ++k) {
      if (moves[k].from < from) moves[k].from += moves[i].bytes;
    }
    moves[i].from = begin;
    begin += moves[i].bytes;
  }
}

}  // namespace

void move_blocks(std::vector<BlockMove> moves) {
  std::erase_if(moves, [](const BlockMove& move) { return move.bytes == 0; });
  if (moves.empty()) return;
  order(moves, pack(moves, end_of(moves)));
  // From the lowest on: those that still wait stand at the end, where as many bytes go at least.
  for (const BlockMove& move : moves) std::memmove(move.to, move.from, move.bytes);
}

}  // namespace snug
