// The automatic choices of columns.h.

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/data/column_doubts.h"
#include "snug/data/columns.h"
#include "snug/data/csv_cell.h"

namespace snug {
namespace {

constexpr size_t kMostOneHot = 256;

enum class Role { input, label, weight };

void check_names(const ColumnWishes& wishes, const std::vector<ColumnScan>& scans,
                 std::string_view file) {
  std::vector<std::string_view> names;
  for (const ColumnScan& scan : scans) names.push_back(scan.name);
  const std::unordered_set<std::string_view> known(names.begin(), names.end());
  const auto check = [&](std::string_view name, std::string_view what) {
    if (known.contains(name)) return;
    throw Error("{}: there is no column \"{}\" for {}; {}", file, name, what,
                did_you_mean(name, names));
  };
  for (const std::string& label : wishes.labels) check(label, "label");
  if (!wishes.weight.empty()) check(wishes.weight, "sample_weight");
  for (const auto& [name, setting] : wishes.settings) check(name, "columns");
}

// A column has one role.
void check_roles(const ColumnWishes& wishes, std::string_view file) {
  for (auto label = wishes.labels.begin(); label != wishes.labels.end(); ++label) {
    if (*label == wishes.weight) {
      throw Error("{}: column \"{}\" is the label and the sample_weight; name another one for one",
                  file, *label);
    }
    if (std::find(wishes.labels.begin(), label, *label) != label) {
      throw Error("{}: the label \"{}\" is given twice; name each column once", file, *label);
    }
  }
}

// A text that almost every row has for itself says nothing about other rows. Of few texts, nine of
// ten rows: chance makes many of a few hundred rows differ.
bool has_texts_of_its_own(const ColumnScan& scan) {
  constexpr int64_t kFew = 20;
  const int64_t texts = scan.values.about();
  if (texts > static_cast<int64_t>(kMostOneHot)) return 2 * texts > scan.present();
  return texts > kFew && 10 * texts > 9 * scan.present();
}

ColumnUse chosen_use(const ColumnScan& scan, Role role) {
  if (role == Role::weight) return ColumnUse::as_is;
  if (role == Role::label) return scan.is_number() ? ColumnUse::as_is : ColumnUse::index;
  if (scan.present() == 0 || is_index_of_pandas(scan)) return ColumnUse::drop;
  if (scan.is_number()) return ColumnUse::standardise;
  if (has_texts_of_its_own(scan)) return ColumnUse::drop;
  const bool is_list = !scan.values.is_full() && scan.values.size() <= kMostOneHot;
  return is_list ? ColumnUse::one_hot : ColumnUse::hash;
}

// A number that is missing nowhere here may be missing in the rows that are predicted.
MissingRule chosen_rule(const ColumnScan& scan, const Column& column, Role role,
                        const ColumnWishes& wishes) {
  if (role != Role::input) return MissingRule::refuse;
  if (!column.is_number()) return MissingRule::category;
  const bool lacks = scan.missing > 0 || scan.numbers < scan.present();
  return lacks || wishes.mean_for_others ? MissingRule::mean : MissingRule::refuse;
}

void check_rule(const Column& column, std::string_view file) {
  const bool of_numbers =
      column.missing == MissingRule::mean || column.missing == MissingRule::value ||
      column.missing == MissingRule::median || column.missing == MissingRule::flag;
  if (column.missing == MissingRule::refuse || of_numbers == column.is_number()) return;
  throw Error("{}: column \"{}\" is {}, for which missing cannot be {}; give {}", file, column.name,
              name_of(column.use), name_of(column.missing),
              of_numbers ? "category" : "mean, median, flag or a number");
}

void check_clip(const Column& column, std::string_view file) {
  if (column.is_clipped() && !column.is_number()) {
    throw Error("{}: column \"{}\" is {}, for which there is no clip; leave it out", file,
                column.name, name_of(column.use));
  }
  if (column.low <= column.high) return;
  throw Error("{}: column \"{}\" is clipped from {} to {}; give the lower bound first", file,
              column.name, column.low, column.high);
}

void check_unseen(const Column& column, const ColumnSetting& wish, Role role,
                  std::string_view file) {
  const bool knows = column.use == ColumnUse::one_hot || column.use == ColumnUse::index;
  if (!wish.unseen_is_missing || (knows && role == Role::input)) return;
  throw Error(
      "{}: column \"{}\" is {}, for which unseen means nothing; it is for inputs that are "
      "one_hot or index",
      file, column.name, role == Role::label ? "the label" : name_of(column.use));
}

// A weight is one number for each row.
void check_weight(const Column& column, std::string_view file) {
  if (column.is_number() && column.width() == 1) return;
  throw Error(
      "{}: column \"{}\" is the sample_weight, which cannot be {}; give as_is, min_max or log, "
      "with missing: refuse, mean, median or a number",
      file, column.name, column.is_number() ? "flag" : name_of(column.use));
}

void check_missing_value(const Column& column, Role role, std::string_view file) {
  if (column.missing == MissingRule::refuse) return;
  const float value = column.scaled(column.missing_value);
  if (std::isfinite(value) && (role != Role::weight || value >= 0)) return;
  throw Error(
      "{}: column \"{}\" is {}, where its missing cells, {:.4g}, would become {:.4g}; give {}",
      file, column.name, name_of(column.use), column.missing_value, value,
      role == Role::weight ? "missing: 0 or more, or refuse" : "another missing, or refuse");
}

void fit_number(const ColumnScan& scan, Column& column) {
  const double mean = scan.mean(), deviation = scan.deviation();
  if (column.use == ColumnUse::standardise) {
    column.shift = mean;
    column.scale = deviation > 0 ? 1 / deviation : 1;
  } else if (column.use == ColumnUse::min_max) {
    const double min = std::clamp(scan.min, column.low, column.high);
    const double max = std::clamp(scan.max, column.low, column.high);
    column.shift = min;
    column.scale = max > min ? 1 / (max - min) : 1;
  }
  if (column.missing == MissingRule::median) {
    column.missing_value = scan.sketch.median();
  } else if (column.missing != MissingRule::value) {
    column.missing_value = mean;
  }
  column.note = fmt::format("mean {:.4g}, deviation {:.4g}, {:.4g} to {:.4g}", mean, deviation,
                            scan.min, scan.max);
  if (column.is_clipped())
    column.note += fmt::format("; clipped to {:.4g} .. {:.4g}", column.low, column.high);
  if (scan.min == scan.max) column.note += "; always the same";
}

void fit_categories(const ColumnScan& scan, Column& column, Role role) {
  if (column.use == ColumnUse::hash) {
    column.note =
        fmt::format("{}{} categories in {} numbers", scan.values.is_full() ? "about " : "",
                    scan.values.about(), column.buckets);
    return;
  }
  column.vocabulary = scan.values.sorted();
  std::erase_if(column.vocabulary, [](const std::string& word) { return !is_utf8(word); });
  std::string words;
  for (size_t i = 0; i < std::min<size_t>(3, column.vocabulary.size()); ++i) {
    words += (i > 0 ? ", " : "") + in_quotes(column.vocabulary[i]);
  }
  if (column.vocabulary.size() > 3) words += ", ...";
  column.note = fmt::format("{} {}: {}", column.vocabulary.size(),
                            role == Role::label ? "classes" : "categories", words);
}

std::string reason_to_drop(const ColumnScan& scan) {
  if (scan.present() == 0) return "every cell is missing";
  if (is_index_of_pandas(scan)) return "it numbers the rows; to use it: as_is";
  if (scan.is_number()) return "";
  return fmt::format("{}{} different texts; to use it: hash", scan.values.is_full() ? "about " : "",
                     scan.values.about());
}

// Which of the bounds of a vocabulary it has passed.
std::string too_many_texts(const Vocabulary& values) {
  if (values.about() > static_cast<int64_t>(Vocabulary::kMostWords))
    return fmt::format("more than {} different texts", Vocabulary::kMostWords);
  return fmt::format("about {} different texts, which take more than the {} that are kept for it",
                     values.about(), bytes_text(static_cast<int64_t>(values.most_bytes())));
}

void add_missing_note(const ColumnScan& scan, Column& column) {
  if (scan.missing == 0) return;
  const std::string becomes = column.missing == MissingRule::refuse     ? "refused"
                              : column.missing == MissingRule::category ? "a category of their own"
                              : column.missing == MissingRule::value
                                  ? fmt::format("{:.4g}", column.missing_value)
                              : column.missing == MissingRule::median
                                  ? fmt::format("the median, {:.4g}", column.missing_value)
                              : column.missing == MissingRule::flag ? "the mean, with a flag"
                                                                    : "the mean";
  column.note += fmt::format("; {} missing become {}", scan.missing, becomes);
  if (column.missing == MissingRule::refuse) {
    column.note.replace(column.note.find("become refused"), 14, "are refused");
  }
}

// What no cell here needs is not insisted on: the mean of log(1 + x) may be of no number.
void leave_mean_out(const ColumnScan& scan, const ColumnSetting& wish, Column& column) {
  if (wish.missing || scan.missing > 0 || std::isfinite(column.scaled(column.missing_value)))
    return;
  column.missing = MissingRule::refuse;
}

Column choose_column(const ColumnScan& scan, const ColumnWishes& wishes, Role role,
                     std::string_view file) {
  const auto found = wishes.settings.find(scan.name);
  static const ColumnSetting kNone;
  const ColumnSetting& wish = found == wishes.settings.end() ? kNone : found->second;
  Column column{.name = scan.name, .use = wish.use.value_or(chosen_use(scan, role))};
  column.missing = wish.missing.value_or(chosen_rule(scan, column, role, wishes));
  column.missing_value = wish.missing_value;
  if (column.use == ColumnUse::hash) column.buckets = wish.buckets;
  column.low = wish.low;
  column.high = wish.high;
  column.unseen_is_missing = wish.unseen_is_missing.value_or(false);
  check_rule(column, file);
  check_clip(column, file);
  check_unseen(column, wish, role, file);
  if (role == Role::weight) check_weight(column, file);
  if (column.is_number()) {
    if (scan.numbers == 0) {
      throw DataError(
          "{}: column \"{}\" is to be {}, but no cell of it is a number{}; give {} or drop", file,
          scan.name, name_of(column.use),
          scan.first_text_line > 0
              ? fmt::format(" (line {} has {})", scan.first_text_line, in_quotes(scan.first_text))
              : "",
          "one_hot");
    }
    fit_number(scan, column);
    leave_mean_out(scan, wish, column);
    check_missing_value(column, role, file);
  } else if (column.use != ColumnUse::drop) {
    if (scan.values.is_full() && column.use != ColumnUse::hash) {
      throw DataError("{}: column \"{}\" has {}, too many for {}; {}", file, scan.name,
                      too_many_texts(scan.values), name_of(column.use),
                      role == Role::label ? "is it the right label?" : "give hash or drop");
    }
    if (scan.present() == 0) {
      throw DataError("{}: every cell of column \"{}\" is missing; give another {}, or drop it",
                      file, scan.name, role == Role::label ? "label" : "column");
    }
    fit_categories(scan, column, role);
  }
  if (column.use == ColumnUse::drop) {
    column.note = reason_to_drop(scan);
  } else {
    add_missing_note(scan, column);
  }
  return column;
}

// Of what was left to be chosen, and of categories whoever chose them.
void add_doubts(const ColumnScan& scan, const Column& column, bool chosen,
                std::vector<std::string>& doubts) {
  if (chosen && !column.is_number()) {
    if (std::optional<std::string> doubt = doubt_of_written_numbers(scan))
      doubts.push_back(std::move(*doubt));
    if (std::optional<std::string> doubt = doubt_of_dates(scan))
      doubts.push_back(std::move(*doubt));
  }
  if (column.use >= ColumnUse::one_hot) {
    for (std::string& doubt : words_written_twice(scan)) doubts.push_back(std::move(doubt));
  } else if (!chosen) {
    return;
  } else if (column.use == ColumnUse::drop && is_index_of_pandas(scan)) {
    doubts.push_back(fmt::format(
        "{} has no name and numbers the rows, as pandas's to_csv writes it: it is left out; "
        "to_csv(index=False) writes none",
        scan.name));
  } else if (column.use == ColumnUse::standardise) {
    if (std::optional<std::string> doubt = doubt_of_id(scan)) doubts.push_back(std::move(*doubt));
  }
}

}  // namespace

Columns choose_columns(const std::vector<ColumnScan>& scans, const ColumnWishes& wishes,
                       std::string_view file) {
  check_names(wishes, scans, file);
  check_roles(wishes, file);
  Columns columns{.columns = {}, .labels = wishes.labels, .weight = wishes.weight};
  for (const ColumnScan& scan : scans) {
    const bool label = std::ranges::find(wishes.labels, scan.name) != wishes.labels.end();
    const Role role =
        label ? Role::label : (scan.name == wishes.weight ? Role::weight : Role::input);
    columns.columns.push_back(choose_column(scan, wishes, role, file));
    const auto found = wishes.settings.find(scan.name);
    const bool chosen = found == wishes.settings.end() || !found->second.use;
    add_doubts(scan, columns.columns.back(), chosen, columns.doubts);
    if (label && columns.columns.back().use == ColumnUse::drop) {
      throw Error("{}: the label \"{}\" cannot be dropped", file, scan.name);
    }
  }
  if (columns.input_width() == 0) {
    throw DataError(
        "{}: no column is left to learn from; give columns: {{NAME: hash}} or another file", file);
  }
  return columns;
}

}  // namespace snug
