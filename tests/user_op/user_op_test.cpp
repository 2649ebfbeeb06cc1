// An op that stands outside snug/, through the public header alone: y = a * x + y0 with a of its
// own.

#include <gtest/gtest.h>
#include <snug/op.h>

#include "snug/testing/check_op.h"

namespace mine {

class Axpy final : public snug::Op {
 public:
  explicit Axpy(float a) : a_(a) {}

  std::string_view name() const override { return "axpy"; }

  snug::Types infer(const snug::Types& in) const override {
    if (in[0] != in[1]) {
      throw snug::ShapeError("axpy: {} and {} differ; they must be the same", in[0].text(),
                             in[1].text());
    }
    return {in[0]};
  }

  snug::Values gradient(const snug::Node&, const snug::Values& dy) const override {
    return {snug::ops::multiply_scalar(dy[0], a_), dy[0]};
  }

  snug::Rows rows(const snug::Types&) const override { return snug::Rows::each; }
  snug::Cost cost(const snug::Types& in) const override {
    return snug::ops::elementwise_cost(in, in[0].shape, 2);
  }

  std::unique_ptr<snug::Kernel> kernel(const snug::Types& in, const snug::Target&) const override {
    return std::make_unique<AxpyKernel>(in[0].shape.size(), a_);
  }

 private:
  class AxpyKernel final : public snug::Kernel {
   public:
    AxpyKernel(int64_t size, float a) : size_(size), a_(a) {}
    std::vector<int> overwrites(int) const override { return {0, 1}; }
    void run(const snug::Run& run) const noexcept override {
      for (int64_t i = 0; i < size_; ++i) run.output()[i] = a_ * run.input(0)[i] + run.input(1)[i];
    }

   private:
    int64_t size_;
    float a_;
  };

  float a_;
};

snug::Value axpy(float a, snug::Value x, snug::Value y) { return x.graph().add<Axpy>({x, y}, a); }

TEST(UserOp, PassesEveryCheckOfOurOwn) {
  using snug::testing::Doubles;
  snug::testing::check_op({.inputs = {{snug::DType::float32, {snug::kRows, 3}},
                                      {snug::DType::float32, {snug::kRows, 3}}},
                           .build = [](const snug::Values& in) { return axpy(2.5f, in[0], in[1]); },
                           .reference =
                               [](const std::vector<Doubles>& in) {
                                 Doubles y;
                                 for (size_t i = 0; i < in[0].size(); ++i)
                                   y.push_back(2.5 * in[0][i] + in[1][i]);
                                 return y;
                               },
                           .result = {snug::kRows, 3}});
}

TEST(UserOp, ReportsItsOwnMistakes) {
  snug::Graph graph;
  const snug::Value x = graph.input("x", {snug::DType::float32, {2}});
  const snug::Value y = graph.input("y", {snug::DType::float32, {3}});
  EXPECT_EQ(snug::testing::error_of([&] { axpy(1, x, y); }),
            "axpy: float32[2] and float32[3] differ; they must be the same");
}

}  // namespace mine
