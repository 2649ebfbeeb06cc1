// An archive.

#include "snug/interop/zip_archive.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFile file("input", bytes);
  ZipReader archive(file);
  for (const std::string& name : archive.names()) {
    refused_or_read([&] { archive.text(name, 1 << 20); });
  }
}
