// Group normalisation: the channels of one group, over all places of one row.

#include <algorithm>
#include <array>
#include <cmath>

#include "snug/kernels/norm.h"
#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/norm_groups.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// One group of one row: `spatial` stretches of `width` channels, `stride` apart.
struct Group {
  int64_t spatial, width, stride;
  int64_t start;    // of its first stretch in the array
  int64_t channel;  // its first channel

  Group(const GroupNorm& norm, int64_t row, int64_t group)
      : spatial(norm.spatial),
        width(norm.channels / norm.groups),
        stride(norm.channels),
        start(row * norm.spatial * norm.channels + group * width),
        channel(group * width) {}
  double count() const { return static_cast<double>(spatial * width); }
};

// Calls f(reader, writer, offset in the array, channel) for every vector of the group.
template <class F>
HWY_INLINE void for_group(const Group& group, const F& f) {
  for (int64_t s = 0; s < group.spatial; ++s) {
    const int64_t at = group.start + s * group.stride;
    int64_t i = 0;
    for (; i + kLanes <= group.width; i += kLanes) {
      f(Reader<false>{kLanes}, Writer<false>{kLanes}, at + i, group.channel + i);
    }
    const int64_t rest = group.width - i;
    if (rest > 0) f(Reader<true>{rest}, Writer<true>{rest}, at + i, group.channel + i);
  }
}

template <bool kPart>
HWY_INLINE V within(const Reader<kPart>& reader, V v) {
  if constexpr (!kPart) return v;
  return hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(reader.count)), v);
}

// The kSums sums over the group, to which add(reader, offset in the array, channel, sums) adds:
// float32 over some places, double from there on.
template <int kSums, class F>
HWY_INLINE std::array<double, kSums> sum_group(const Group& group, const F& add) {
  constexpr int64_t kStretch = 4096;
  const int64_t places = std::max<int64_t>(1, kStretch / group.width);
  std::array<double, kSums> totals{};
  for (int64_t done = 0; done < group.spatial; done += places) {
    Group some = group;
    some.start += done * group.stride;
    some.spatial = std::min(places, group.spatial - done);
    V sums[kSums];
    for (V& sum : sums) sum = hn::Zero(d);
    for_group(some, [&](const auto& read, const auto&, int64_t at, int64_t c)
                        HWY_ATTR { add(read, at, c, sums); });
    for (int k = 0; k < kSums; ++k) totals[k] += sum_of_lanes(sums[k]);
  }
  return totals;
}

template <class R>
HWY_INLINE V scaled(const R& read, V v, const float* gamma, int64_t channel) {
  return gamma ? hn::Mul(v, read(gamma + channel)) : v;
}

void forward_group(const GroupNorm& norm, const Group& group, const float* x, float* y, float* mean,
                   float* rstd) {
  const auto [sum] = sum_group<1>(group, [=](const auto& read, int64_t at, int64_t, V* sums)
                                             HWY_ATTR { *sums = hn::Add(*sums, read(x + at)); });
  *mean = static_cast<float>(sum / group.count());
  const V m = set(*mean);
  const auto [squares] =
      sum_group<1>(group, [=](const auto& read, int64_t at, int64_t, V* sums) HWY_ATTR {
        const V v = within(read, hn::Sub(read(x + at), m));
        *sums = hn::MulAdd(v, v, *sums);
      });
  *rstd = 1.0f / std::sqrt(static_cast<float>(squares / group.count()) + norm.epsilon);
  const V r = set(*rstd);
  for_group(group, [&](const auto& read, const auto& write, int64_t at, int64_t c) HWY_ATTR {
    V v = scaled(read, hn::Mul(hn::Sub(read(x + at), m), r), norm.gamma, c);
    if (norm.beta) v = hn::Add(v, read(norm.beta + c));
    write(v, y + at);
  });
}

// As layer norm: dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) with g = dy * gamma.
void gradient_group(const GroupNorm& norm, const Group& group, const float* x, const float* dy,
                    float mean, float rstd, float* dx) {
  const V m = set(mean), r = set(rstd);
  const auto [plain, products] =
      sum_group<2>(group, [&](const auto& read, int64_t at, int64_t c, V* sums) HWY_ATTR {
        const V g = scaled(read, read(dy + at), norm.gamma, c);
        sums[0] = hn::Add(sums[0], g);
        const V product = hn::Mul(g, hn::Mul(hn::Sub(read(x + at), m), r));
        sums[1] = hn::Add(sums[1], within(read, product));
      });
  const V mean_g = set(static_cast<float>(plain / group.count()));
  const V mean_product = set(static_cast<float>(products / group.count()));
  for_group(group, [&](const auto& read, const auto& write, int64_t at, int64_t c) HWY_ATTR {
    const V g = hn::Sub(scaled(read, read(dy + at), norm.gamma, c), mean_g);
    const V normal = hn::Mul(hn::Sub(read(x + at), m), r);
    write(hn::Mul(r, hn::NegMulAdd(normal, mean_product, g)), dx + at);
  });
}

void group_forward(const GroupNorm& norm, const float* x, float* y, float* mean, float* rstd) {
  for (int64_t i = 0; i < norm.rows * norm.groups; ++i) {
    forward_group(norm, Group(norm, i / norm.groups, i % norm.groups), x, y, mean + i, rstd + i);
  }
}

void group_backward(const GroupNorm& norm, const float* x, const float* dy, const float* mean,
                    const float* rstd, float* dx) {
  for (int64_t i = 0; i < norm.rows * norm.groups; ++i) {
    gradient_group(norm, Group(norm, i / norm.groups, i % norm.groups), x, dy, mean[i], rstd[i],
                   dx);
  }
}

// Sums of dy * xhat and dy over the places of one row; mean and rstd are of each channel.
struct GroupParameterBody {
  static constexpr int kSums = 2;
  const float *x, *dy, *mean, *rstd;
  int64_t stride;

  struct Column {
    const float *x, *dy;
    int64_t stride;
    V mean, rstd;
    template <class R>
    HWY_INLINE void add(const R& reader, int64_t row, V (&sums)[2]) const {
      const V g = reader(dy + row * stride);
      const V normal = hn::Mul(hn::Sub(reader(x + row * stride), mean), rstd);
      sums[0] = hn::MulAdd(g, normal, sums[0]);
      sums[1] = hn::Add(sums[1], g);
    }
  };
  template <class R>
  HWY_INLINE Column column(const R& reader, int64_t c) const {
    return {x + c, dy + c, stride, reader(mean + c), reader(rstd + c)};
  }
};

void group_parameter_sums(const GroupNorm& norm, const float* x, const float* dy, const float* mean,
                          const float* rstd, float* dgamma, float* dbeta, Output output) {
  if (output == Output::write) {
    if (dgamma) std::fill_n(dgamma, norm.channels, 0.0f);
    if (dbeta) std::fill_n(dbeta, norm.channels, 0.0f);
  }
  constexpr int64_t kSome = 1024;  // Channels.
  HWY_ALIGN float means[kSome], rstds[kSome];
  const int64_t row_size = norm.spatial * norm.channels, width = norm.channels / norm.groups;
  for (int64_t r = 0; r < norm.rows; ++r) {
    for (int64_t first = 0; first < norm.channels; first += kSome) {
      const int64_t some = std::min(kSome, norm.channels - first);
      for (int64_t c = 0; c < some; ++c) {
        const int64_t group = r * norm.groups + (first + c) / width;
        means[c] = mean[group];
        rstds[c] = rstd[group];
      }
      const int64_t at = r * row_size + first;
      const FloatFlush<2> flush{
          {dgamma ? dgamma + first : nullptr, dbeta ? dbeta + first : nullptr}};
      sum_columns<4>(GroupParameterBody{x + at, dy + at, means, rstds, norm.channels}, norm.spatial,
                     some, flush);
    }
  }
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(group_forward);
HWY_EXPORT(group_backward);
HWY_EXPORT(group_parameter_sums);

namespace {

// Groups of a few channels, which would leave most lanes of a vector empty: sums of each channel
// first, as of a batch norm of one row, then of each group.
class NarrowGroups {
 public:
  static bool serve(const GroupNorm& norm) {
    return norm.channels / norm.groups < kNarrow && norm.channels <= kMostChannels;
  }

  explicit NarrowGroups(const GroupNorm& norm)
      : norm_(norm),
        width_(norm.channels / norm.groups),
        count_(static_cast<double>(norm.spatial * width_)) {}

  void forward(const float* x, float* y, float* mean, float* rstd) {
    batch_norm_sums(x, x, first_, second_, norm_.spatial, norm_.channels, Output::write);
    const auto places = static_cast<double>(norm_.spatial);
    for (int64_t group = 0; group < norm_.groups; ++group) {
      double sum = 0, squares = 0;
      for_channels(group, [&](int64_t c) {
        sum += first_[c] + places * x[c];
        squares += second_[c] + double{x[c]} * (2 * first_[c] + places * x[c]);
      });
      const double centre = sum / count_, variance = squares / count_ - centre * centre;
      mean[group] = static_cast<float>(centre);
      rstd[group] = static_cast<float>(1 / std::sqrt(std::max(variance, 0.0) + norm_.epsilon));
      for_channels(group, [&](int64_t c) {
        a_[c] = rstd[group] * gamma(c);
        b_[c] = (norm_.beta ? norm_.beta[c] : 0) - mean[group] * a_[c];
      });
    }
    batch_norm_apply(x, a_, b_, y, norm_.spatial, norm_.channels);
  }

  // dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) with g = dy * gamma.
  void gradient(const float* x, const float* dy, const float* mean, const float* rstd, float* dx) {
    for (int64_t c = 0; c < norm_.channels; ++c) a_[c] = mean[c / width_], b_[c] = rstd[c / width_];
    batch_norm_gradient_sums(x, dy, a_, b_, first_, second_, norm_.spatial, norm_.channels,
                             Output::write);
    for (int64_t group = 0; group < norm_.groups; ++group) {
      double plain = 0, products = 0;
      for_channels(group, [&](int64_t c) {
        plain += first_[c] * gamma(c);
        products += second_[c] * gamma(c);
      });
      const double r = rstd[group], slope = -r * r * products / count_;
      for_channels(group, [&](int64_t c) {
        a_[c] = rstd[group] * gamma(c);
        b_[c] = static_cast<float>(slope);
        c_[c] = static_cast<float>(-r * plain / count_ - slope * mean[group]);
      });
    }
    batch_norm_gradient(x, dy, a_, b_, c_, dx, norm_.spatial, norm_.channels);
  }

 private:
  static constexpr int64_t kNarrow = 64, kMostChannels = 2048;

  template <class F>
  void for_channels(int64_t group, const F& f) const {
    for (int64_t c = group * width_; c < (group + 1) * width_; ++c) f(c);
  }
  float gamma(int64_t c) const { return norm_.gamma ? norm_.gamma[c] : 1; }

  const GroupNorm& norm_;
  int64_t width_;
  double count_;  // Elements of a group.
  double first_[kMostChannels], second_[kMostChannels];
  float a_[kMostChannels], b_[kMostChannels], c_[kMostChannels];
};

}  // namespace

void group_norm(const GroupNorm& norm, const float* x, float* y, float* mean,
                float* rstd) noexcept {
  if (!NarrowGroups::serve(norm)) {
    HWY_DYNAMIC_DISPATCH(group_forward)(norm, x, y, mean, rstd);
    return;
  }
  NarrowGroups groups(norm);
  for (int64_t row = 0; row < norm.rows; ++row) {
    const int64_t at = row * norm.spatial * norm.channels, group = row * norm.groups;
    groups.forward(x + at, y + at, mean + group, rstd + group);
  }
}

void group_norm_gradient(const GroupNorm& norm, const float* x, const float* dy, const float* mean,
                         const float* rstd, float* dx) noexcept {
  if (!NarrowGroups::serve(norm)) {
    HWY_DYNAMIC_DISPATCH(group_backward)(norm, x, dy, mean, rstd, dx);
    return;
  }
  NarrowGroups groups(norm);
  for (int64_t row = 0; row < norm.rows; ++row) {
    const int64_t at = row * norm.spatial * norm.channels, group = row * norm.groups;
    groups.gradient(x + at, dy + at, mean + group, rstd + group, dx + at);
  }
}

void group_norm_parameter_gradients(const GroupNorm& norm, const float* x, const float* dy,
                                    const float* mean, const float* rstd, float* dgamma,
                                    float* dbeta, Output output) noexcept {
  HWY_DYNAMIC_DISPATCH(group_parameter_sums)(norm, x, dy, mean, rstd, dgamma, dbeta, output);
}

}  // namespace snug::kernels
#endif
