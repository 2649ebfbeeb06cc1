#include <snug/base/bytes.h>
#include <snug/base/error.h>
#include <snug/tensor/shape.h>

#include <cstdio>

// Uses something that is compiled into the library, and catches one of its errors.
int main() {
  const snug::Shape images{snug::kRows, 28, 28, 1};
  std::printf("%s, %s a row\n", images.text().c_str(),
              snug::bytes_text(images.size_per_row() * 4).c_str());
  try {
    snug::parse_bytes("much");
  } catch (const snug::Error& error) {
    return error.exit_code() == 2 ? 0 : 1;
  }
  return 1;
}
