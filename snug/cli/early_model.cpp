// The model of a run before its data is read.

#include <algorithm>
#include <array>

#include "snug/cli/run_file.h"
#include "snug/data/csv_table.h"

namespace snug::cli {
namespace {

// What the first field of the data will be like, as far as the run file says it.
struct Guess {
  Field field;
  bool is_sure = true;
};

std::optional<Guess> guess_of_images(const YamlValue& files) {
  constexpr int64_t kSide = 256;
  std::vector<int64_t> sides = {kSide, kSide};
  if (const YamlValue* size = files.find("image_size")) sides = size->as_ints();
  if (std::ranges::any_of(sides, [](int64_t side) { return side < 1; })) return std::nullopt;
  const YamlValue* mode = files.find("color_mode");
  const int64_t channels = mode == nullptr || mode->text == "rgb" ? 3
                           : mode->text == "rgba"                 ? 4
                                                                  : 1;
  return Guess{{.name = "image_folder",
                .role = FieldRole::input,
                .stored = StoredType::uint8,
                .row = {sides.at(0), sides.back(), channels}}};
}

std::optional<Guess> guess_of_text(const YamlValue& files) {
  for (const char* key : {"sequence_length", "output_sequence_length"}) {
    if (const YamlValue* length = files.find(key))
      return Guess{{.name = "text",
                    .role = FieldRole::input,
                    .stored = StoredType::int32,
                    .row = Shape{length->as_int()}}};
  }
  return std::nullopt;
}

// A number for each column that is neither a label nor dropped: categories become more.
Guess guess_of_table(const RunFile& run, const YamlValue& data, const YamlValue& files) {
  const CsvTable table(real_files(), {.files = files_of(run, files)});
  auto width = static_cast<int64_t>(table.names().size());
  const YamlValue* label = data.find("label");
  width -= label != nullptr && label->is_list() ? std::ssize(label->list) : 1;
  if (data.find("sample_weight") != nullptr) --width;
  if (const YamlValue* columns = data.find("columns")) {
    width -= std::ranges::count_if(columns->items,
                                   [](const YamlItem& item) { return item.value.text == "drop"; });
  }
  return {{.name = files.text,
           .role = FieldRole::input,
           .stored = StoredType::float32,
           .row = Shape{std::max<int64_t>(width, 1)}},
          /*is_sure=*/false};
}

// Nothing for data that is opened at once, and where something is wrong with the data: whoever
// opens it says so.
std::optional<Guess> guess_of(const RunFile& run) {
  const YamlValue* data = run.section("data");
  const YamlValue* files = data != nullptr ? data->find("train") : nullptr;
  if (files == nullptr || data->find("timeseries") != nullptr) return std::nullopt;
  try {
    if (is_folder(*files)) return guess_of_images(*files);
    if (is_text(*files)) return guess_of_text(*files);
    if (is_csv(*files)) return guess_of_table(run, *data, *files);
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

bool can_be_made(const RunFile& run, const Field& input) {
  try {
    make_model(run, input);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// What fits no row of such a table is wrong whatever its width is.
bool fits_another_width(const RunFile& run, Field input) {
  constexpr int64_t kWidest = 256;
  for (int64_t width = 1; width <= kWidest; ++width) {
    input.row = Shape{width};
    if (can_be_made(run, input)) return true;
  }
  return false;
}

}  // namespace

void check_model_early(const RunFile& run) {
  const YamlValue* layers = run.section("model");
  if (layers == nullptr || !layers->is_list()) return;
  const CompileOptions options = compile_options(run);
  const std::optional<Guess> guess = guess_of(run);
  if (!guess) return;
  if (!guess->is_sure && !can_be_made(run, guess->field) && fits_another_width(run, guess->field))
    return;
  Model model = make_model(run, guess->field);
  placed(place_of(run, "loss"), [&] { model.compile(options); });
}

}  // namespace snug::cli
