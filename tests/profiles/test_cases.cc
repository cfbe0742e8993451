// SPDX-License-Identifier: Apache-2.0
// Every recorded result, bit for bit, by the profile of the system that made it.
#include <gtest/gtest.h>

#include "io/npy.h"
#include "profiles/replay.h"

namespace samebits {
namespace {

struct Side {
  const char* directory;
  const char* file;
  const char* profile;
  bool trans_b = true;  // x @ w.T, else a @ b
  int threads = 1;
  bool constant = true;
};

template <class T>
std::vector<T> values(const io::Array& array) {
  if constexpr (std::is_same_v<T, float>) {
    return array.f32;
  } else {
    return array.f64;
  }
}

template <class T>
test::Product<T> product(const Side& side) {
  const std::string dir = std::string(SAMEBITS_TEST_DATA "/cases/") + side.directory + "/";
  const io::Array a = io::read_npy(dir + "a.npy"), b = io::read_npy(dir + "b.npy");
  const io::Array y = io::read_npy(dir + side.file + ".npy");
  test::Product<T> p;
  profiles::Call& c = p.call;
  c.dtype = a.dtype();
  c.k = a.shape.back();
  c.m = a.size() / c.k;
  c.n = side.trans_b ? b.shape[b.shape.size() - 2] : b.shape.back();
  c.trans_b = side.trans_b;
  c.a_shape = a.shape;
  c.b_shape = b.shape;
  c.threads = side.threads;
  c.constant_b = side.constant;
  p.a = values<T>(a);
  p.b = values<T>(b);
  p.y = values<T>(y);
  c.bias = std::string_view(side.directory) == "linear-bias";
  if (c.bias) p.bias = values<T>(io::read_npy(dir + "c.npy"));
  return p;
}

class Recorded : public testing::TestWithParam<Side> {};

TEST_P(Recorded, EveryElementIsReproduced) {
  const Side& side = GetParam();
  const Order profile = Order::parse(side.profile);
  auto check = [&](const auto& p) {
    const auto order = profiles::resolve(profile, p.call);
    ASSERT_TRUE(order.has_value());
    const test::Replay replay = test::replay(*order, p);
    EXPECT_GT(replay.all, 0);
    EXPECT_EQ(replay.equal, replay.all) << side.profile << replay.regions;
  };
  if (std::string_view(side.directory).ends_with("f64")) {
    check(product<double>(side));
  } else {
    check(product<float>(side));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Recorded,
    testing::Values(Side{"bmm-small", "torch-cpu", "pytorch-cpu()", false},                                //
                    Side{"bmm-small", "numpy", "numpy(core=skylakex)", false},                             //
                    Side{"gemm-row-1-of-2", "ort-cpu-1-row", "onnxruntime-cpu(op=gemm)", true, 1, false},  //
                    Side{"gemm-row-1-of-2", "torch-cpu-1-row", "pytorch-cpu()"},                           //
                    Side{"gemm-row-1-of-2", "numpy-1-row", "numpy(core=skylakex)"},                        //
                    Side{"gemm-rows-2", "ort-cpu-2-rows", "onnxruntime-cpu(op=gemm)", true, 1, false},     //
                    Side{"gemm-rows-2", "torch-cpu-2-rows", "pytorch-cpu()"},                              //
                    Side{"gemm-rows-2", "numpy-2-rows", "numpy(core=skylakex)"},                           //
                    Side{"linear-5-7-f32", "torch-cpu", "pytorch-cpu()"},                                  //
                    Side{"linear-5-7-f32", "ort-cpu", "onnxruntime-cpu()"},                                //
                    Side{"linear-5-7-f32", "numpy", "numpy()"},                                            //
                    Side{"linear-5-7-f64", "torch-cpu", "pytorch-cpu()"},                                  //
                    Side{"linear-5-7-f64", "ort-cpu", "onnxruntime-cpu()"},                                //
                    Side{"linear-5-7-f64", "numpy", "numpy()"},                                            //
                    Side{"linear-500-64", "torch-cpu", "pytorch-cpu()"},                                   //
                    Side{"linear-500-64", "ort-cpu", "onnxruntime-cpu()"},                                 //
                    Side{"linear-500-64", "ort-cpu-b-is-an-input", "onnxruntime-cpu()", true, 1, false},   //
                    Side{"linear-500-64", "numpy-haswell", "numpy(core=haswell)"},                         //
                    Side{"linear-500-64", "numpy-skylakex", "numpy(core=skylakex)"},                       //
                    Side{"linear-64-64-500-f64", "torch-cpu", "pytorch-cpu()"},                            //
                    Side{"linear-64-64-500-f64", "ort-cpu", "onnxruntime-cpu()"},                          //
                    Side{"linear-64-64-500-f64", "numpy-skylakex", "numpy(core=skylakex)"},                //
                    Side{"linear-bias", "torch-cpu", "pytorch-cpu()"},                                     //
                    Side{"linear-bias", "ort-cpu-gemm", "onnxruntime-cpu(op=gemm)"},                       //
                    Side{"linear-bias", "ort-cpu-matmul-add", "onnxruntime-cpu(op=matmul)"},               //
                    Side{"linear-bias", "numpy", "numpy(core=skylakex)"},                                  //
                    Side{"matmul-48-1000-40", "torch-cpu", "pytorch-cpu()", false},                        //
                    Side{"matmul-48-1000-40", "ort-cpu", "onnxruntime-cpu()", false},                      //
                    Side{"matmul-48-1000-40", "numpy-haswell", "numpy(core=haswell)", false},              //
                    Side{"matmul-48-1000-40", "numpy-skylakex", "numpy(core=skylakex)", false},            //
                    Side{"openblas-threads", "numpy-haswell-1-thread", "numpy(core=haswell)", false},      //
                    Side{"openblas-threads", "numpy-haswell-2-threads", "numpy(core=haswell)", false, 2},  //
                    Side{"ort-threads", "ort-cpu-1-thread", "onnxruntime-cpu()", false, 1, false},         //
                    Side{"ort-threads", "ort-cpu-2-threads", "onnxruntime-cpu()", false, 2, false}),
    [](const testing::TestParamInfo<Side>& info) {
      std::string name = std::string(info.param.directory) + "_" + info.param.file;
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

// Where the address of x modulo 16 is another one, MKL peels other leaves: fewer elements agree.
TEST(Recorded, TheAlignmentOfXIsSeenInTheResult) {
  const auto p = product<float>({"linear-5-7-f32", "torch-cpu", ""});
  std::vector<Index> equal;
  for (const char* offset : {"0", "4", "8", "12"})
    equal.push_back(
        test::replay(*profiles::resolve(Order::parse(std::string("pytorch-cpu(offset=") + offset + ")"), p.call), p).equal);
  EXPECT_EQ(equal, (std::vector<Index>{42, 36, 35, 35}));
}

}  // namespace
}  // namespace samebits
