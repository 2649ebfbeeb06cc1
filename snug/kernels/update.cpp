#include "snug/kernels/update.h"

#include <hwy/cache_control.h>

#include "snug/kernels/row_calls.h"
#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/update.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

HWY_INLINE V square_root_plus(V x, V epsilon) { return hn::Sqrt(hn::Add(x, epsilon)); }

// Each rule takes the decayed weight and the clipped gradient, writes its slots in place and
// answers the new weight.
template <int kSlotCount>
struct Rule {
  static constexpr int kSlots = kSlotCount;
};

struct SgdRule : Rule<0> {
  V rate;
  SgdRule(const UpdateStep& step) : rate(set(step.learning_rate)) {}
  HWY_INLINE V operator()(V w, V g, V*) const { return hn::Sub(w, hn::Mul(g, rate)); }
};

template <bool kNesterov>
struct MomentumRule : Rule<1> {
  V rate, momentum;
  MomentumRule(const UpdateStep& step, const Momentum& rule)
      : rate(set(step.learning_rate)), momentum(set(rule.momentum)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    const V move = hn::Mul(g, rate);
    slot[0] = hn::Sub(hn::Mul(slot[0], momentum), move);
    return hn::Add(w, kNesterov ? hn::Sub(hn::Mul(slot[0], momentum), move) : slot[0]);
  }
};

template <bool kLargest>
struct AdamRule : Rule<kLargest ? 3 : 2> {
  V alpha, rate1, rate2, epsilon;
  explicit AdamRule(const Adam& rule)
      : alpha(set(rule.alpha)),
        rate1(set(rule.one_minus_beta1)),
        rate2(set(rule.one_minus_beta2)),
        epsilon(set(rule.epsilon)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    slot[0] = hn::Add(slot[0], hn::Mul(hn::Sub(g, slot[0]), rate1));
    slot[1] = hn::Add(slot[1], hn::Mul(hn::Sub(hn::Mul(g, g), slot[1]), rate2));
    V v = slot[1];
    if constexpr (kLargest) v = slot[2] = nan_max(slot[2], v);
    return hn::Sub(w, hn::Div(hn::Mul(slot[0], alpha), hn::Add(hn::Sqrt(v), epsilon)));
  }
};

// Slots: v, then the average if centered, then the moment.
template <bool kCentered, bool kMoment>
struct RmsPropRule : Rule<1 + kCentered + kMoment> {
  V rate, rho, rest, momentum, epsilon;
  RmsPropRule(const UpdateStep& step, const RmsProp& rule)
      : rate(set(step.learning_rate)),
        rho(set(rule.rho)),
        rest(set(rule.one_minus_rho)),
        momentum(set(rule.momentum)),
        epsilon(set(rule.epsilon)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    slot[0] = hn::Add(hn::Mul(rho, slot[0]), hn::Mul(rest, hn::Mul(g, g)));
    V spread = slot[0];
    if constexpr (kCentered) {
      slot[1] = hn::Add(hn::Mul(rho, slot[1]), hn::Mul(rest, g));
      spread = hn::Sub(spread, hn::Mul(slot[1], slot[1]));
    }
    const V move = hn::Div(hn::Mul(rate, g), square_root_plus(spread, epsilon));
    if constexpr (!kMoment) return hn::Sub(w, move);
    V& moment = slot[kCentered ? 2 : 1];
    moment = hn::Add(hn::Mul(momentum, moment), move);
    return hn::Sub(w, moment);
  }
};

struct AdagradRule : Rule<1> {
  V rate, epsilon;
  AdagradRule(const UpdateStep& step, float epsilon_value)
      : rate(set(step.learning_rate)), epsilon(set(epsilon_value)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    slot[0] = hn::Add(slot[0], hn::Mul(g, g));
    return hn::Sub(w, hn::Div(hn::Mul(rate, g), square_root_plus(slot[0], epsilon)));
  }
};

struct AdadeltaRule : Rule<2> {
  V rate, rho, rest, epsilon;
  AdadeltaRule(const UpdateStep& step, const Adadelta& rule)
      : rate(set(step.learning_rate)),
        rho(set(rule.rho)),
        rest(set(rule.one_minus_rho)),
        epsilon(set(rule.epsilon)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    slot[0] = hn::Add(hn::Mul(rho, slot[0]), hn::Mul(rest, hn::Mul(g, g)));
    const V top = hn::Mul(hn::Neg(square_root_plus(slot[1], epsilon)), g);
    const V move = hn::Div(top, square_root_plus(slot[0], epsilon));
    slot[1] = hn::Add(hn::Mul(rho, slot[1]), hn::Mul(rest, hn::Mul(move, move)));
    return hn::Add(w, hn::Mul(rate, move));
  }
};

struct AdamaxRule : Rule<2> {
  V rate, rate1, beta2, power, epsilon;
  AdamaxRule(const UpdateStep& step, const Adamax& rule)
      : rate(set(step.learning_rate)),
        rate1(set(rule.one_minus_beta1)),
        beta2(set(rule.beta2)),
        power(set(rule.one_minus_beta1_power)),
        epsilon(set(rule.epsilon)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    slot[0] = hn::Add(slot[0], hn::Mul(hn::Sub(g, slot[0]), rate1));
    slot[1] = nan_max(hn::Mul(beta2, slot[1]), hn::Abs(g));
    const V scale = hn::Mul(power, hn::Add(slot[1], epsilon));
    return hn::Sub(w, hn::Div(hn::Mul(rate, slot[0]), scale));
  }
};

struct NadamRule : Rule<2> {
  V rate, rate1, rate2, next, now, product_next, product, power, epsilon;
  NadamRule(const UpdateStep& step, const Nadam& rule)
      : rate(set(step.learning_rate)),
        rate1(set(rule.one_minus_beta1)),
        rate2(set(rule.one_minus_beta2)),
        next(set(rule.u_next)),
        now(set(rule.one_minus_u)),
        product_next(set(rule.one_minus_product_next)),
        product(set(rule.one_minus_product)),
        power(set(rule.one_minus_beta2_power)),
        epsilon(set(rule.epsilon)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    slot[0] = hn::Add(slot[0], hn::Mul(hn::Sub(g, slot[0]), rate1));
    slot[1] = hn::Add(slot[1], hn::Mul(hn::Sub(hn::Mul(g, g), slot[1]), rate2));
    const V m_hat =
        hn::Add(hn::Div(hn::Mul(next, slot[0]), product_next), hn::Div(hn::Mul(now, g), product));
    const V v_hat = hn::Div(slot[1], power);
    return hn::Sub(w, hn::Div(hn::Mul(m_hat, rate), hn::Add(hn::Sqrt(v_hat), epsilon)));
  }
};

struct LionRule : Rule<1> {
  V rate, beta1, rest1, beta2, rest2;
  LionRule(const UpdateStep& step, const Lion& rule)
      : rate(set(step.learning_rate)),
        beta1(set(rule.beta1)),
        rest1(set(rule.one_minus_beta1)),
        beta2(set(rule.beta2)),
        rest2(set(rule.one_minus_beta2)) {}
  HWY_INLINE V operator()(V w, V g, V* slot) const {
    const V mix = hn::Add(hn::Mul(slot[0], beta1), hn::Mul(g, rest1));
    // sign(mix) * rate, where 0 and NaN stay themselves.
    const M moves = hn::Gt(hn::Abs(mix), hn::Zero(d));
    slot[0] = hn::Add(hn::Mul(slot[0], beta2), hn::Mul(g, rest2));
    return hn::Sub(w, hn::IfThenElse(moves, hn::CopySign(rate, mix), mix));
  }
};

// Scale, clip, decay, rule; and how far the written values reach.
struct Pass {
  V scale, high, low, decay, rate;
  VI weight_bits, slot_bits;

  explicit Pass(const UpdateStep& step)
      : scale(set(step.gradient_scale)),
        high(set(step.clip_value)),
        low(set(-step.clip_value)),
        decay(set(step.weight_decay)),
        rate(set(step.learning_rate)),
        weight_bits(hn::Zero(di)),
        slot_bits(hn::Zero(di)) {}

  template <class R>
  HWY_INLINE V apply(const R& rule, V w, V g, V* slot) {
    g = least(greatest(hn::Mul(g, scale), low), high);
    w = hn::Sub(w, hn::Mul(hn::Mul(w, decay), rate));
    w = rule(w, g, slot);
    weight_bits = hn::Max(weight_bits, magnitude_bits(w));
    for (int k = 0; k < R::kSlots; ++k) {
      slot_bits = hn::Max(slot_bits, magnitude_bits(slot[k]));
    }
    return w;
  }

  UpdateReach reach() const {
    return {largest_magnitude(weight_bits), largest_magnitude(slot_bits)};
  }
};

constexpr int64_t kLineFloats = 16;
constexpr int64_t kAhead = 32 * kLineFloats;

// A line that another core has read is not this one's to write: a store waits until the other one
// has let go of it, one line after the other (Zen 4, the weights of W3 on two threads: 95 to 490 us
// for an update of 33; which it is changes by the minute, as the host moves its guests). Stores of
// nothing else wait for many lines at a time: 50 to 153 us.
HWY_INLINE void claim(float* w, int64_t n) {
  for (int64_t i = 0; i < n; i += kLineFloats) {
    volatile float* line = w + i;
    *line = *line;
  }
}

HWY_INLINE void flush(const float* w, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += kLineFloats) hwy::FlushCacheline(w + i);
}

// The same for `n` elements side by side, of which i are done: taken out of all caches some lines
// ahead, a line comes back as this core's own: 52 to 59 us (flushes_lines_soon() says where).
HWY_INLINE void take_back(const float* w, int64_t i, int64_t n) {
  if (i == 0) flush(w, 0, HWY_MIN(2 * kAhead, n));
  flush(w, i + 2 * kAhead, HWY_MIN(i + 3 * kAhead, n));
  for (int64_t next = i + kAhead; next < HWY_MIN(i + 2 * kAhead, n); next += kLineFloats)
    __builtin_prefetch(w + next, /*rw=*/1);
}

// `n` elements that stand side by side.
template <class R>
HWY_INLINE void run_stretch(Pass& pass, const UpdateStep& step, const R& rule, float* w,
                            const float* g, float* const (&slots)[3], int64_t n) {
  V slot[3];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    if (step.takes_back && i % kAhead == 0) take_back(w, i, n);
    for (int k = 0; k < R::kSlots; ++k) slot[k] = load(slots[k] + i);
    store(pass.apply(rule, load(w + i), load(g + i), slot), w + i);
    for (int k = 0; k < R::kSlots; ++k) store(slot[k], slots[k] + i);
  }
  if (i >= n) return;
  // The lanes behind the end must not show in the reach, which 0 / 0 would.
  const int64_t rest = n - i;
  Pass last(step);
  for (int k = 0; k < R::kSlots; ++k) slot[k] = load_part(slots[k] + i, rest);
  store_part(last.apply(rule, load_part(w + i, rest), load_part(g + i, rest), slot), w + i, rest);
  for (int k = 0; k < R::kSlots; ++k) store_part(slot[k], slots[k] + i, rest);
  const auto inside = hn::FirstN(di, static_cast<size_t>(rest));
  pass.weight_bits = hn::Max(pass.weight_bits, hn::IfThenElseZero(inside, last.weight_bits));
  pass.slot_bits = hn::Max(pass.slot_bits, hn::IfThenElseZero(inside, last.slot_bits));
}

// Rows are claimed so many before their turn: a load right behind a store to its line waits for it.
constexpr int64_t kRowsClaimed = 8;

template <class R>
HWY_INLINE void call_for(const float* w, float* const (&slots)[3], int64_t first, int64_t columns) {
  call_for_row(w + first, columns);
  for (int k = 0; k < R::kSlots; ++k) call_for_row(slots[k] + first, columns);
}

template <class R>
HWY_INLINE void run_rows(Pass& pass, const UpdateStep& step, const R& rule, float* w,
                         const float* g, float* const (&slots)[3], const UpdateRange& range) {
  const int64_t columns = range.columns;
  UpdateStep claimed = step;
  claimed.takes_back = false;
  for (int64_t i = 0; i < HWY_MIN(kRowsAhead, range.count); ++i)
    call_for<R>(w, slots, range.rows[i] * columns, columns);
  for (int64_t i = 0; i < range.count; ++i) {
    if (i + kRowsAhead < range.count)
      call_for<R>(w, slots, range.rows[i + kRowsAhead] * columns, columns);
    if (step.takes_back && i + kRowsClaimed < range.count)
      claim(w + range.rows[i + kRowsClaimed] * columns, columns);
    const int64_t first = range.rows[i] * columns;
    float* at[3] = {};
    for (int k = 0; k < R::kSlots; ++k) at[k] = slots[k] + first;
    run_stretch(pass, claimed, rule, w + first, range.one_gradient ? g : g + i * columns, at,
                columns);
  }
}

template <class R>
UpdateReach run(const UpdateStep& step, const R& rule, float* w, const float* g,
                float* const (&slots)[3], const UpdateRange& range) {
  Pass pass(step);
  if (range.rows == nullptr)
    run_stretch(pass, step, rule, w, g, slots, range.columns);
  else
    run_rows(pass, step, rule, w, g, slots, range);
  return pass.reach();
}

UpdateReach sgd(const UpdateStep& step, float* w, const float* g, const UpdateRange& range) {
  return run(step, SgdRule(step), w, g, {}, range);
}

UpdateReach sgd_momentum(const UpdateStep& step, const Momentum& rule, float* w, const float* g,
                         float* m, const UpdateRange& range) {
  if (rule.nesterov) return run(step, MomentumRule<true>(step, rule), w, g, {m}, range);
  return run(step, MomentumRule<false>(step, rule), w, g, {m}, range);
}

UpdateReach adam(const UpdateStep& step, const Adam& rule, float* w, const float* g, float* m,
                 float* v, float* largest_v, const UpdateRange& range) {
  if (largest_v) return run(step, AdamRule<true>(rule), w, g, {m, v, largest_v}, range);
  return run(step, AdamRule<false>(rule), w, g, {m, v}, range);
}

UpdateReach rms_prop(const UpdateStep& step, const RmsProp& rule, float* w, const float* g,
                     float* v, float* average, float* moment, const UpdateRange& range) {
  if (average && moment) {
    return run(step, RmsPropRule<true, true>(step, rule), w, g, {v, average, moment}, range);
  }
  if (average) return run(step, RmsPropRule<true, false>(step, rule), w, g, {v, average}, range);
  if (moment) return run(step, RmsPropRule<false, true>(step, rule), w, g, {v, moment}, range);
  return run(step, RmsPropRule<false, false>(step, rule), w, g, {v}, range);
}

UpdateReach adagrad(const UpdateStep& step, float epsilon, float* w, const float* g, float* a,
                    const UpdateRange& range) {
  return run(step, AdagradRule(step, epsilon), w, g, {a}, range);
}

UpdateReach adadelta(const UpdateStep& step, const Adadelta& rule, float* w, const float* g,
                     float* a, float* delta, const UpdateRange& range) {
  return run(step, AdadeltaRule(step, rule), w, g, {a, delta}, range);
}

UpdateReach adamax(const UpdateStep& step, const Adamax& rule, float* w, const float* g, float* m,
                   float* u, const UpdateRange& range) {
  return run(step, AdamaxRule(step, rule), w, g, {m, u}, range);
}

UpdateReach nadam(const UpdateStep& step, const Nadam& rule, float* w, const float* g, float* m,
                  float* v, const UpdateRange& range) {
  return run(step, NadamRule(step, rule), w, g, {m, v}, range);
}

UpdateReach lion(const UpdateStep& step, const Lion& rule, float* w, const float* g, float* m,
                 const UpdateRange& range) {
  return run(step, LionRule(step, rule), w, g, {m}, range);
}

// y = f(x, y) element by element.
template <class F>
HWY_INLINE void combine(const float* x, float* y, int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(f(load(x + i), load(y + i)), y + i);
  if (i < n) store_part(f(load_part(x + i, n - i), load_part(y + i, n - i)), y + i, n - i);
}

void ema(float momentum, const float* w, float* average, int64_t n) {
  const V keep = set(momentum), rest = set(1.0f - momentum);
  combine(w, average, n,
          [=](V x, V y) HWY_ATTR { return hn::Add(hn::Mul(keep, y), hn::Mul(rest, x)); });
}

void add_scaled(float a, const float* x, float* y, int64_t n) {
  const V va = set(a);
  combine(x, y, n, [=](V vx, V vy) HWY_ATTR { return hn::MulAdd(va, vx, vy); });
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(sgd);
HWY_EXPORT(sgd_momentum);
HWY_EXPORT(adam);
HWY_EXPORT(rms_prop);
HWY_EXPORT(adagrad);
HWY_EXPORT(adadelta);
HWY_EXPORT(adamax);
HWY_EXPORT(nadam);
HWY_EXPORT(lion);
HWY_EXPORT(ema);
HWY_EXPORT(add_scaled);

UpdateReach update_sgd(const UpdateStep& step, float* w, const float* g,
                       const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(sgd)(step, w, g, range);
}

UpdateReach update_sgd_momentum(const UpdateStep& step, const Momentum& rule, float* w,
                                const float* g, float* m, const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(sgd_momentum)(step, rule, w, g, m, range);
}

UpdateReach update_adam(const UpdateStep& step, const Adam& rule, float* w, const float* g,
                        float* m, float* v, float* largest_v, const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(adam)(step, rule, w, g, m, v, largest_v, range);
}

UpdateReach update_rms_prop(const UpdateStep& step, const RmsProp& rule, float* w, const float* g,
                            float* v, float* average, float* moment,
                            const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(rms_prop)(step, rule, w, g, v, average, moment, range);
}

UpdateReach update_adagrad(const UpdateStep& step, float epsilon, float* w, const float* g,
                           float* a, const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(adagrad)(step, epsilon, w, g, a, range);
}

UpdateReach update_adadelta(const UpdateStep& step, const Adadelta& rule, float* w, const float* g,
                            float* a, float* d, const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(adadelta)(step, rule, w, g, a, d, range);
}

UpdateReach update_adamax(const UpdateStep& step, const Adamax& rule, float* w, const float* g,
                          float* m, float* u, const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(adamax)(step, rule, w, g, m, u, range);
}

UpdateReach update_nadam(const UpdateStep& step, const Nadam& rule, float* w, const float* g,
                         float* m, float* v, const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(nadam)(step, rule, w, g, m, v, range);
}

UpdateReach update_lion(const UpdateStep& step, const Lion& rule, float* w, const float* g,
                        float* m, const UpdateRange& range) noexcept {
  return HWY_DYNAMIC_DISPATCH(lion)(step, rule, w, g, m, range);
}

void update_ema(float momentum, const float* w, float* average, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(ema)(momentum, w, average, n);
}

void axpy(float a, const float* x, float* y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(add_scaled)(a, x, y, n);
}

}  // namespace snug::kernels
#endif
