#include "snug/kernels/update.h"

#include <cmath>
#include <functional>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

// One element's state in double: the weight and three slots.
struct State {
  double w = 0;
  double slot[3] = {};
};

struct Case {
  const char* name;
  std::function<UpdateReach(const UpdateStep&, float* w, const float* g, float* a, float* b,
                            float* c, int64_t n)>
      run;
  std::function<void(State&, double g, double rate)> reference;  // After scale, clip and decay.
};

double square(double x) { return x * x; }

Case adam_case(bool largest) {
  const Adam rule{.alpha = 0.003f};
  return {largest ? "amsgrad" : "adam",
          [=](const UpdateStep& step, float* w, const float* g, float* a, float* b, float* c,
              int64_t n) { return update_adam(step, rule, w, g, a, b, largest ? c : nullptr, n); },
          [=](State& s, double g, double) {
            s.slot[0] += (g - s.slot[0]) * 0.1f;
            s.slot[1] += (g * g - s.slot[1]) * 0.001f;
            if (largest) s.slot[2] = std::max(s.slot[2], s.slot[1]);
            s.w -= s.slot[0] * 0.003f / (std::sqrt(s.slot[largest ? 2 : 1]) + 1e-7f);
          }};
}

Case momentum_case(bool nesterov) {
  return {
      nesterov ? "nesterov" : "momentum",
      [=](const UpdateStep& step, float* w, const float* g, float* a, float*, float*, int64_t n) {
        return update_sgd_momentum(step, {0.8f, nesterov}, w, g, a, n);
      },
      [=](State& s, double g, double rate) {
        s.slot[0] = s.slot[0] * 0.8f - g * rate;
        s.w += nesterov ? s.slot[0] * 0.8f - g * rate : s.slot[0];
      }};
}

Case rms_prop_case(bool centered, bool moment) {
  const RmsProp rule{.momentum = 0.7f, .epsilon = 1e-3f};
  return {"rms_prop",
          [=](const UpdateStep& step, float* w, const float* g, float* a, float* b, float* c,
              int64_t n) {
            return update_rms_prop(step, rule, w, g, a, centered ? b : nullptr,
                                   moment ? c : nullptr, n);
          },
          [=](State& s, double g, double rate) {
            s.slot[0] = 0.9f * s.slot[0] + 0.1f * g * g;
            if (centered) s.slot[1] = 0.9f * s.slot[1] + 0.1f * g;
            const double move = rate * g / std::sqrt(s.slot[0] - square(s.slot[1]) + 1e-3f);
            if (moment) s.slot[2] = 0.7f * s.slot[2] + move;
            s.w -= moment ? s.slot[2] : move;
          }};
}

Case adadelta_case() {
  return {"adadelta",
          [](const UpdateStep& step, float* w, const float* g, float* a, float* b, float*,
             int64_t n) { return update_adadelta(step, {.epsilon = 1e-3f}, w, g, a, b, n); },
          [](State& s, double g, double rate) {
            s.slot[0] = 0.95f * s.slot[0] + 0.05f * g * g;
            const double move = -std::sqrt(s.slot[1] + 1e-3f) * g / std::sqrt(s.slot[0] + 1e-3f);
            s.slot[1] = 0.95f * s.slot[1] + 0.05f * square(move);
            s.w += rate * move;
          }};
}

Case nadam_case() {
  const Nadam rule{.u_next = 0.6f,
                   .one_minus_u = 0.45f,
                   .one_minus_product = 0.4f,
                   .one_minus_product_next = 0.7f,
                   .one_minus_beta2_power = 0.002f};
  return {"nadam",
          [=](const UpdateStep& step, float* w, const float* g, float* a, float* b, float*,
              int64_t n) { return update_nadam(step, rule, w, g, a, b, n); },
          [](State& s, double g, double rate) {
            s.slot[0] += (g - s.slot[0]) * 0.1f;
            s.slot[1] += (g * g - s.slot[1]) * 0.001f;
            const double m_hat = 0.6f * s.slot[0] / 0.7f + 0.45f * g / 0.4f;
            s.w -= m_hat * rate / (std::sqrt(s.slot[1] / 0.002f) + 1e-7f);
          }};
}

std::vector<Case> cases() {
  return {
      {"sgd",
       [](const UpdateStep& step, float* w, const float* g, float*, float*, float*, int64_t n) {
         return update_sgd(step, w, g, n);
       },
       [](State& s, double g, double rate) { s.w -= g * rate; }},
      momentum_case(false),
      momentum_case(true),
      adam_case(false),
      adam_case(true),
      rms_prop_case(false, false),
      rms_prop_case(true, false),
      rms_prop_case(false, true),
      rms_prop_case(true, true),
      adadelta_case(),
      nadam_case(),
      {"adagrad",
       [](const UpdateStep& step, float* w, const float* g, float* a, float*, float*, int64_t n) {
         return update_adagrad(step, 1e-7f, w, g, a, n);
       },
       [](State& s, double g, double rate) {
         s.slot[0] += g * g;
         s.w -= rate * g / std::sqrt(s.slot[0] + 1e-7f);
       }},
      {"adamax",
       [](const UpdateStep& step, float* w, const float* g, float* a, float* b, float*, int64_t n) {
         return update_adamax(step, {.one_minus_beta1_power = 0.3f}, w, g, a, b, n);
       },
       [](State& s, double g, double rate) {
         s.slot[0] += (g - s.slot[0]) * 0.1f;
         s.slot[1] = std::max(0.999f * s.slot[1], std::abs(g));
         s.w -= rate * s.slot[0] / (0.3f * (s.slot[1] + 1e-7f));
       }},
      {"lion",
       [](const UpdateStep& step, float* w, const float* g, float* a, float*, float*, int64_t n) {
         return update_lion(step, {}, w, g, a, n);
       },
       [](State& s, double g, double rate) {
         const double mix = s.slot[0] * 0.9f + g * 0.1f;
         s.w -= rate * (mix > 0 ? 1 : mix < 0 ? -1 : 0);
         s.slot[0] = s.slot[0] * 0.99f + g * 0.01f;
       }},
  };
}

// Three steps on n weights against the reference, slots and reach included.
void check(const Case& c, int64_t n, bool takes_back) {
  SCOPED_TRACE(testing::Message() << c.name << ", n " << n);
  const UpdateStep step{.learning_rate = 0.01f,
                        .gradient_scale = 0.5f,
                        .clip_value = 0.8f,
                        .weight_decay = 0.1f,
                        .takes_back = takes_back};
  Floats w = random_values(n), slots[3];
  std::vector<State> states(w.size());
  for (size_t i = 0; i < w.size(); ++i) states[i].w = w[i];
  for (Floats& slot : slots) slot.assign(w.size(), 0.0f);
  for (unsigned t = 0; t < 3; ++t) {
    const Floats g = random_values(n, -3, 3, 10 + t);
    const UpdateReach reach =
        c.run(step, w.data(), g.data(), slots[0].data(), slots[1].data(), slots[2].data(), n);
    double largest_weight = 0, largest_slot = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      State& s = states[i];
      s.w -= s.w * 0.1f * 0.01f;
      c.reference(s, std::clamp(g[i] * 0.5, -double{0.8f}, double{0.8f}), 0.01f);
      EXPECT_NEAR(w[i], s.w, 1e-6 * std::abs(s.w) + 1e-6) << "weight " << i;
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(slots[k][i], s.slot[k], 1e-5 * std::abs(s.slot[k]) + 1e-7) << "slot " << k;
        largest_slot = std::max(largest_slot, std::abs(s.slot[k]));
      }
      largest_weight = std::max(largest_weight, std::abs(s.w));
    }
    EXPECT_NEAR(reach.weight, largest_weight, 1e-5);
    EXPECT_NEAR(reach.slot, largest_slot, 1e-5);
  }
}

TEST(Update, MeetsTheReference) {
  for (const Case& c : cases()) {
    for (const int64_t n : kTestLengths) check(c, n, false);
    for (const int64_t n : {16, 511, 513, 1500}) check(c, n, true);
  }
}

TEST(Update, ReachShowsNaN) {
  for (const Case& c : cases()) {
    for (const size_t bad : {0u, 4u, 16u}) {
      Floats w(17, 1.0f), g(17, 0.1f), a(17, 0.0f), b(17, 0.0f), v(17, 0.0f);
      g[bad] = kTestNaN;
      const UpdateReach reach =
          c.run({.learning_rate = 0.01f}, w.data(), g.data(), a.data(), b.data(), v.data(), 17);
      EXPECT_TRUE(std::isnan(reach.weight)) << c.name;
    }
  }
}

// Three steps of Keras's Adam, whose bits must be met: the same operations in float32, one by one.
TEST(Update, AdamRoundsAfterEveryOperation) {
  const Floats g = random_values(37, -1, 1, 5);
  Floats w = random_values(37, -1, 1, 6), m(37, 0.0f), v(37, 0.0f);
  Floats expected = w, em = m, ev = v;
  for (int t = 1; t <= 3; ++t) {
    const float alpha =
        0.01f * std::sqrt(1 - std::pow(0.999f, float(t))) / (1 - std::pow(0.9f, float(t)));
    update_adam({.learning_rate = 0.01f}, {.alpha = alpha}, w.data(), g.data(), m.data(), v.data(),
                nullptr, 37);
    for (size_t i = 0; i < w.size(); ++i) {
      volatile float step = g[i] - em[i];
      step = step * 0.1f;
      em[i] = em[i] + step;
      volatile float square = g[i] * g[i];
      square = square - ev[i];
      square = square * 0.001f;
      ev[i] = ev[i] + square;
      volatile float move = em[i] * alpha;
      move = move / (std::sqrt(ev[i]) + 1e-7f);
      expected[i] = expected[i] - move;
    }
    EXPECT_EQ(w, expected);
    EXPECT_EQ(m, em);
    EXPECT_EQ(v, ev);
  }
}

TEST(Update, AverageAndAxpy) {
  for (const int64_t n : kTestLengths) {
    const Floats x = random_values(n);
    const Floats start = random_values(n, -1, 1, 3);
    Floats average = start, axpied = start;
    update_ema(0.75f, x.data(), average.data(), n);
    axpy(-3.0f, x.data(), axpied.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(average[i], 0.75 * start[i] + 0.25 * x[i], 1e-6);
      EXPECT_NEAR(axpied[i], start[i] - 3.0 * x[i], 2e-6);
    }
  }
}

}  // namespace
}  // namespace snug::kernels
