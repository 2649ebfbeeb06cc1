#include "snug/data/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

template <typename T>
std::string bytes_of(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::string npy_file(const std::string& descr, const std::string& shape, const std::string& body,
                     bool fortran = false) {
  const std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n",
                                         descr, fortran ? "True" : "False", shape);
  return std::string("\x93NUMPY\x01\x00", 8) + bytes_of(static_cast<uint16_t>(header.size())) +
         header + body;
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

std::string deflated(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

struct Member {
  std::string name, content;
  bool pack = false;
  uint16_t flags = 0;
};

std::string zip_file(const std::vector<Member>& members) {
  std::string file, directory;
  for (const Member& member : members) {
    const std::string packed = member.pack ? deflated(member.content) : member.content;
    const auto crc =
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(member.content.data()),
                                    static_cast<uInt>(member.content.size())));
    const std::string method = bytes_of(static_cast<uint16_t>(member.pack ? 8 : 0));
    const std::string sizes = bytes_of(crc) + bytes_of(static_cast<uint32_t>(packed.size())) +
                              bytes_of(static_cast<uint32_t>(member.content.size())) +
                              bytes_of(static_cast<uint16_t>(member.name.size()));
    const std::string flags = bytes_of(member.flags);
    directory += "PK\x01\x02" + std::string(4, '\0') + flags + method + std::string(4, '\0') +
                 sizes + std::string(12, '\0') + bytes_of(static_cast<uint32_t>(file.size())) +
                 member.name;
    file += "PK\x03\x04" + std::string(2, '\0') + flags + method + std::string(4, '\0') + sizes +
            std::string(2, '\0') + member.name + packed;
  }
  const std::string count = bytes_of(static_cast<uint16_t>(members.size()));
  return file + directory + "PK\x05\x06" + std::string(4, '\0') + count + count +
         bytes_of(static_cast<uint32_t>(directory.size())) +
         bytes_of(static_cast<uint32_t>(file.size())) + std::string(2, '\0');
}

// As numpy.savez writes the values of a pandas table.
TEST(Npz, ArraysInFortranOrderArePutInRows) {
  for (const bool pack : {false, true}) {
    MemoryFiles files;
    write_text(
        files, "d.npz",
        zip_file({{"x.npy", npy_file("<f4", "(3, 2)", floats({1, 3, 5, 2, 4, 6}), true), pack},
                  {"y.npy", npy_file("|u1", "(3,)", std::string("\0\1\0", 3)), pack}}));
    data::NpzOptions options{.file = "d.npz", .files = &files};
    expect_within(message_of<DataError>([&] { data::npz(options); }), "it is in Fortran order");
    options.cache = "cache";
    for (int time = 0; time < 2; ++time) {
      const SourcePtr source = data::npz(options);
      EXPECT_EQ(read_rows(*source, 0, {0, 1, 2}), (std::vector<float>{1, 2, 3, 4, 5, 6})) << pack;
      EXPECT_EQ(read_rows<int32_t>(*source, 1, {1}), (std::vector<int32_t>{1}));
    }
  }
}

std::vector<Member> two_arrays(bool pack) {
  return {{"x.npy", npy_file("<f4", "(3, 2)", floats({1, 2, 3, 4, 5, 6})), pack},
          {"y.npy", npy_file("|u1", "(3,)", std::string("\0\1\0", 3)), pack}};
}

SourcePtr open_npz(MemoryFiles& files, const std::string& bytes, data::NpzOptions options = {}) {
  write_text(files, "t.npz", bytes);
  options.file = "t.npz";
  options.files = &files;
  return data::npz(options);
}

TEST(Npz, ReadsStoredAndPackedArrays) {
  for (const bool pack : {false, true}) {
    for (const char* cache : {"", "cache"}) {
      MemoryFiles files;
      data::NpzOptions options;
      options.cache = cache;
      const SourcePtr source = open_npz(files, zip_file(two_arrays(pack)), options);
      EXPECT_EQ(source->fields()[0].name, "t.npz: x");
      EXPECT_EQ(read_rows(*source, 0, {2, 0}), (std::vector<float>{5, 6, 1, 2}));
      EXPECT_EQ(read_rows<int32_t>(*source, 1, {0, 1, 2}), (std::vector<int32_t>{0, 1, 0}));
      expect_random_source(*source);
      if (pack && cache[0] != '\0') {
        EXPECT_EQ(files.list("cache").size(), 2u);
      }
    }
  }
}

// Whatever a member is called, its inflated copy stays in the cache.
TEST(Npz, NamesAreNoPaths) {
  MemoryFiles files;
  files.create_directories("evil");
  std::vector<Member> members = two_arrays(true);
  members[0].name = "/../../evil/x.npy";
  members[1].name = "train/y.npy";
  data::NpzOptions options{.file = {}, .x = {"/../../evil/x"}, .y = {"train/y"}};
  options.cache = "cache";
  EXPECT_EQ(read_rows(*open_npz(files, zip_file(members), options), 0, {1}),
            (std::vector<float>{3, 4}));
  EXPECT_EQ(files.list("cache").size(), 2u);
  EXPECT_EQ(files.list("evil").size(), 0u);
}

TEST(Npz, FindsArraysByName) {
  MemoryFiles files;
  std::vector<Member> members = two_arrays(false);
  members[0].name = "b.npy";
  members[1].name = "a.npy";
  data::NpzOptions options{.file = {}, .x = {"b"}, .y = {"a"}};
  EXPECT_EQ(read_rows(*open_npz(files, zip_file(members), options), 0, {1}),
            (std::vector<float>{3, 4}));
  EXPECT_EQ(open_npz(files, zip_file(members))->fields()[0].name, "t.npz: b") << "the first";
  options.x = {"c"};
  expect_within(message_of([&] { open_npz(files, zip_file(members), options); }),
                "no array \"c\"; it has b, a");
}

// As zip files have it where an array was added once more.
TEST(Npz, OfTwoArraysOfANameTheLastOneCounts) {
  MemoryFiles files;
  const SourcePtr source =
      open_npz(files, zip_file({{"x.npy", npy_file("<f4", "(2,)", floats({1, 2}))},
                                {"y.npy", npy_file("<f4", "(2,)", floats({5, 6}))},
                                {"x.npy", npy_file("<f4", "(2,)", floats({3, 4}))}}));
  EXPECT_EQ(source->fields().size(), 2u);
  EXPECT_EQ(read_rows(*source, 0, {0, 1}), (std::vector<float>{3, 4}));
}

TEST(Npz, NotesAndFoldersAreNoArrays) {
  MemoryFiles files;
  std::vector<Member> members = two_arrays(false);
  members.insert(members.begin(), {Member{"data/", ""}, Member{"readme.txt", "made by hand"}});
  members[2].name = "data/p.npy";
  members[3].name = "data/q.npy";
  EXPECT_EQ(open_npz(files, zip_file(members))->fields()[0].name, "t.npz: data/p");
  expect_within(message_of<DataError>([&] { open_npz(files, zip_file({})); }),
                "it has no arrays; save them with numpy.savez");
}

// As NumPy, which trains on no damaged numbers either.
TEST(Npz, ChecksumsOfStoredArrays) {
  MemoryFiles files;
  std::string file = zip_file(two_arrays(false));
  const size_t at = file.find(floats({3, 4}));
  file[at] = static_cast<char>(file[at] ^ 1);
  const std::string message = message_of<DataError>([&] { open_npz(files, file); });
  expect_within(message, "t.npz: x: it has a wrong checksum");
  data::NpzOptions large;
  large.most_summed = 10;
  EXPECT_EQ(read_rows(*open_npz(files, file, large), 0, {0}), (std::vector<float>{1, 2}));
}

// As savez(label=..., x=...) and the like write them: whichever comes first.
TEST(Npz, GuessesWhichArrayIsWhich) {
  MemoryFiles files;
  const std::vector<Member> arrays = two_arrays(false);
  const auto roles = [&](const std::vector<std::pair<int, const char*>>& named,
                         const char* weight = "") {
    std::vector<Member> members;
    for (const auto& [array, name] : named) {
      members.push_back(arrays[static_cast<size_t>(array)]);
      members.back().name = std::string(name) + ".npy";
    }
    const SourcePtr source =
        open_npz(files, zip_file(members), {.file = {}, .sample_weight = weight});
    std::string text;
    for (const Field& field : source->fields()) text += field.name.substr(7) + " ";
    return text;
  };
  EXPECT_EQ(roles({{1, "label"}, {0, "x"}}), "x label ");
  EXPECT_EQ(roles({{1, "y"}, {0, "data"}}), "data y ");
  EXPECT_EQ(roles({{1, "Labels"}, {0, "Images"}}), "Images Labels ");
  EXPECT_EQ(roles({{1, "y"}, {0, "rows"}}), "rows y ") << "the one that is left";
  EXPECT_EQ(roles({{1, "kinds"}, {0, "x"}}), "x kinds ");
  EXPECT_EQ(roles({{1, "w"}, {0, "x"}, {1, "kinds"}}, "w"), "x kinds w ");
  EXPECT_EQ(roles({{0, "arr_0"}, {1, "arr_1"}}), "arr_0 arr_1 ");
  EXPECT_EQ(roles({{1, "a"}, {0, "x"}, {1, "b"}}), "x ") << "no targets";
  expect_within(message_of([&] {
                  roles({{1, "y"}, {0, "a"}, {0, "b"}});
                }),
                "t.npz: which array is x? Give its name and that of y: it has y, a, b");
}

TEST(Npz, RefusesDamage) {
  MemoryFiles files;
  const auto refusal = [&](const std::string& bytes, data::NpzOptions options = {}) {
    return message_of<DataError>([&] { open_npz(files, bytes, std::move(options)); });
  };
  const std::string whole = zip_file(two_arrays(true));
  expect_within(refusal(""), "no .npz file");
  expect_within(refusal("hello, this is no zip file at all"), "no .npz file");
  expect_within(refusal(whole.substr(0, whole.size() - 5)), "directory of a zip file is missing");
  std::vector<Member> members = two_arrays(false);
  members[0].flags = 1;
  expect_within(refusal(zip_file(members)), "encrypted");
  members = two_arrays(false);
  members[0].content.resize(members[0].content.size() - 4);
  expect_within(refusal(zip_file(members)), "3 rows");
  members = two_arrays(true);
  members[0].content = npy_file("<f4", "(100000000, 2)", floats({1, 2}));
  expect_within(refusal(zip_file(members)), "100000000 rows");
  members[0].content = npy_file("<f4", "(1048576,)", std::string(4 << 20, '\0'));
  data::NpzOptions small;
  small.most_in_memory = 1 << 20;
  expect_within(refusal(zip_file(members), small), "4.0 MiB when inflated");
}

// Whatever byte is changed or wherever it is cut: arrays or a message.
TEST(Npz, NoDamageIsAFaultOfOurs) {
  const std::string whole = zip_file(two_arrays(true));
  MemoryFiles files;
  const auto read = [&](const std::string& bytes) {
    try {
      const SourcePtr source = open_npz(files, bytes);
      if (*source->rows() > 0) read_rows(*source, 0, {0});
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error&) {
      return;
    }
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    read(whole.substr(0, at));
    for (const int change : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      read(changed);
    }
  }
}

}  // namespace
}  // namespace snug::testing
