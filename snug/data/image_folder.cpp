#include "snug/data/image_folder.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/data/image_scaler.h"
#include "snug/data/parallel_rows.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

constexpr int64_t kMostSide = 1 << 15;

// The largest of all pictures.
struct Extremes {
  int64_t widest = 0, decoder_bytes = 0;
};

// What readers on several threads share.
struct Pictures {
  ImageFolderOptions options;
  FolderIndex index;
  FileSystem& files;
  Extremes largest;
};

class ImageFolderSource final : public RandomSource {
 public:
  ImageFolderSource(std::shared_ptr<const Pictures> pictures, int threads)
      : pictures_(std::move(pictures)),
        options_(pictures_->options),
        index_(pictures_->index),
        files_(pictures_->files),
        largest_(pictures_->largest) {
    const ImageFolderOptions& options = options_;
    std::vector<Field> fields = {{.name = options.folder.string(),
                                  .role = FieldRole::input,
                                  .stored = StoredType::float32,
                                  .row = {options.height, options.width, options.channels}}};
    const auto classes = static_cast<int64_t>(index_.class_names().size());
    if (options.label_mode == LabelMode::index) {
      fields.push_back({"label", FieldRole::target, StoredType::int32, {}});
    } else if (options.label_mode == LabelMode::categorical) {
      fields.push_back({"label", FieldRole::target, StoredType::float32, {classes}});
    } else if (options.label_mode == LabelMode::binary) {
      fields.push_back({"label", FieldRole::target, StoredType::float32, {1}});
    }
    set_fields(fields, std::vector<int64_t>(fields.size(), index_.size()));
    for (int i = 0; i < threads; ++i) scalers_.emplace_back(size());
  }

  SourcePtr twin() override { return std::make_shared<ImageFolderSource>(pictures_, 1); }
  int64_t batches_ahead() const override { return kAsManyAsHelp; }

  size_t buffer_bytes() const override {
    const int64_t decoder = largest_.decoder_bytes + kImageInputBytes +
                            ImageScaler::buffer_bytes(size(), largest_.widest) +
                            options_.width * options_.channels * int64_t{sizeof(float)};
    return index_.bytes() + scalers_.size() * static_cast<size_t>(decoder);
  }
  std::string place(int /*field*/, int64_t row) override { return index_.path(row).string(); }

  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    if (field != 0) return RandomSource::read(field, rows, slot);
    auto* to = static_cast<std::byte*>(slot.data);
    const size_t bytes = static_cast<size_t>(fields()[0].row.size()) * size_of(slot.dtype());
    parallel_rows(decoders(), std::ssize(rows), [&](int decoder, int64_t i) {
      SNUG_CHECK(rows[i] >= 0 && rows[i] < index_.size(), "row {} of {}", rows[i], index_.size());
      decode(decoder, rows[i], to + static_cast<size_t>(i) * bytes, slot.dtype());
    });
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    auto* at = static_cast<std::byte*>(to);
    const size_t bytes = static_cast<size_t>(fields()[field].row.size()) * size_of(dtype);
    if (field == 0) {
      return parallel_rows(decoders(), count, [&](int decoder, int64_t i) {
        decode(decoder, first + i, at + static_cast<size_t>(i) * bytes, dtype);
      });
    }
    for (int64_t i = 0; i < count; ++i) {
      put_label(index_.label(first + i), at + static_cast<size_t>(i) * bytes, dtype);
    }
  }

 private:
  ScaledSize size() const {
    return {options_.height, options_.width, options_.channels, options_.bilinear,
            options_.crop_to_aspect_ratio};
  }

  int decoders() const { return static_cast<int>(scalers_.size()); }

  void decode(int decoder, int64_t row, std::byte* to, DType dtype) {
    const Path path = index_.path(row);
    const std::string where = path.string();
    const std::unique_ptr<File> file = files_.open(path, OpenMode::read);
    const ImageHeader header = read_image_header(*file, where, options_.limits);
    if (header.width > largest_.widest || header.decoder_bytes > largest_.decoder_bytes) {
      throw FileError("{}: it was changed during the run; leave the file alone and start again",
                      where);
    }
    const std::unique_ptr<PixelRows> rows = decode_image(*file, header, options_.channels, where);
    ImageScaler& scaler = scalers_[static_cast<size_t>(decoder)];
    if (dtype == DType::float32) return scaler.scale(*rows, header, reinterpret_cast<float*>(to));
    std::vector<float> line(static_cast<size_t>(options_.width * options_.channels));
    scaler.begin(*rows, header);
    for (int64_t i = 0; i < options_.height; ++i, to += line.size() * size_of(dtype)) {
      scaler.next(line.data());
      if (stage(line.data(), StoredType::float32, std::ssize(line), to, dtype))
        throw DataError("{}: its scaled pixels are no whole numbers; use float32", where);
    }
    scaler.end();
  }

  void put_label(int32_t label, std::byte* to, DType dtype) const {
    const Field& field = fields()[1];
    if (options_.label_mode != LabelMode::categorical) {
      stage(&label, StoredType::int32, 1, to, dtype);
      return;
    }
    for (int32_t i = 0; i < field.row.size(); ++i) {
      const int32_t own = i == label ? 1 : 0;
      stage(&own, StoredType::int32, 1, to + static_cast<size_t>(i) * size_of(dtype), dtype);
    }
  }

  std::shared_ptr<const Pictures> pictures_;
  const ImageFolderOptions& options_;
  const FolderIndex& index_;
  FileSystem& files_;
  const Extremes& largest_;
  std::vector<ImageScaler> scalers_;  // One a thread.
};

Extremes look_at_headers(const ImageFolderOptions& options, const FolderIndex& index,
                         FileSystem& files) {
  Extremes largest;
  for (int64_t row = 0; row < index.size(); ++row) {
    const Path path = index.path(row);
    const std::unique_ptr<File> file = files.open(path, OpenMode::read);
    try {
      const ImageHeader header = read_image_header(*file, path.string(), options.limits);
      largest.widest = std::max(largest.widest, header.width);
      largest.decoder_bytes = std::max(largest.decoder_bytes, header.decoder_bytes);
    } catch (const DataError&) {
      if (options.refuse_bad) throw;
    }
  }
  return largest;
}

void check_options(const ImageFolderOptions& options) {
  const auto refuse = [&](std::string_view what) {
    throw Error("{}: {}", options.folder.string(), what);
  };
  if (options.height < 1 || options.width < 1 || options.height > kMostSide ||
      options.width > kMostSide) {
    refuse(fmt::format("image_size is [{}, {}]; each must be from 1 to {}", options.height,
                       options.width, kMostSide));
  }
  if (options.channels != 1 && options.channels != 3 && options.channels != 4) {
    refuse(fmt::format("{} channels; give 1 (grayscale), 3 (rgb) or 4 (rgba)", options.channels));
  }
}

}  // namespace

ImageFolder image_folder(const ImageFolderOptions& options) {
  check_options(options);
  FileSystem& files = options.files != nullptr ? *options.files : real_files();
  FolderIndex index(files, {.folder = options.folder,
                            .endings = {kPictureEndings.begin(), kPictureEndings.end()},
                            .labelled = options.label_mode != LabelMode::none,
                            .class_names = options.class_names,
                            .known_classes = options.known_classes,
                            .validation_split = options.validation_split,
                            .subset = options.subset,
                            .seed = options.seed});
  std::vector<std::string> names = index.class_names();
  if (options.label_mode == LabelMode::binary && names.size() != 2) {
    throw Error("{}: binary labels are for two classes, but there are {}: {}",
                options.folder.string(), names.size(), fmt::join(names, ", "));
  }
  const Extremes largest = look_at_headers(options, index, files);
  const auto pictures =
      std::make_shared<const Pictures>(Pictures{options, std::move(index), files, largest});
  const int threads = options.threads > 0 ? options.threads : hardware_threads();
  return {std::make_shared<ImageFolderSource>(pictures, threads), std::move(names)};
}

}  // namespace snug::data
