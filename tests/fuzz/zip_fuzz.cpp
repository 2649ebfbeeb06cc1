// Any bytes as an archive: read, or refused with an error of the user's kind.

#include "snug/interop/zip_archive.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    snug::fuzz::InputFile file("input", {data, size});
    snug::ZipReader archive(file);
    for (const std::string& name : archive.names()) archive.text(name, 1 << 20);
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
    return 0;
  }
  return 0;
}
