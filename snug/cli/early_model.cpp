// The model of a run before its data is read.

#include <algorithm>
#include <cmath>
#include <set>

#include "snug/cli/run_file.h"
#include "snug/data/csv_cell.h"

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

bool is_dropped(const YamlItem& column) {
  const YamlValue* use = column.value.is_map() ? column.value.find("use") : &column.value;
  return use != nullptr && use->text == "drop";
}

// A number for each column that is neither a label nor dropped. Categories become more, and some
// texts are dropped.
Guess guess_of_table(const RunFile& run, const YamlValue& data, const YamlValue& files) {
  const CsvTable table(real_files(), csv_table_options(data, files_of(run, files)));
  auto width = static_cast<int64_t>(table.names().size());
  const YamlValue* label = data.find("label");
  width -= label != nullptr && label->is_list() ? std::ssize(label->list) : 1;
  if (data.find("sample_weight") != nullptr) --width;
  if (const YamlValue* columns = data.find("columns")) {
    width -= std::ranges::count_if(columns->items, is_dropped);
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

// The lengths of all lists in the layers, and their products: what a reshape makes of a row.
void add_sizes(const YamlValue& value, std::set<int64_t>& sizes) {
  constexpr double kLargest = 1 << 20;
  for (const YamlItem& item : value.items) add_sizes(item.value, sizes);
  if (!value.is_list()) return;
  double product = 1;
  for (const YamlValue& element : value.list) {
    add_sizes(element, sizes);
    product *= std::fmax(1, std::fabs(number_of(element.text).value_or(1)));
  }
  sizes.insert({std::ssize(value.list), static_cast<int64_t>(std::fmin(product, kLargest))});
}

// What fits no row of such a table is wrong whatever its width is. Layers take any that is large
// enough, or what is told by the lists in them.
bool fits_another_width(const RunFile& run, Field input) {
  constexpr int64_t kSmall = 256;
  std::set<int64_t> sizes = {kSmall}, widths;
  add_sizes(*run.section("model"), sizes);
  for (int64_t width = 1; width < kSmall; ++width) widths.insert(width);
  for (const int64_t size : sizes) {
    for (int64_t times = 1; times <= kSmall; times *= 2) widths.insert(size * times);
  }
  return std::ranges::any_of(widths, [&](int64_t width) {
    input.row = Shape{width};
    return can_be_made(run, input);
  });
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
