// SPDX-License-Identifier: Apache-2.0
// One function a backend, called by the registry. Each throws Error(backend) where its backend is not available.
#pragma once

#include <memory>

#include "backends/specification.h"
#include "samebits/backend.h"

namespace samebits::adapters {

std::unique_ptr<Backend> open_samebits(const Specification&);
std::unique_ptr<Backend> open_naive(const Specification&);
std::unique_ptr<Backend> open_eigen(const Specification&);
std::unique_ptr<Backend> open_openblas(const Specification&);
std::unique_ptr<Backend> open_cblas(const Specification&);
std::unique_ptr<Backend> open_onednn(const Specification&);
std::unique_ptr<Backend> open_onnxruntime(const Specification&);
std::unique_ptr<Backend> open_command(const Specification&);

// The two virtual functions of a backend as one template, `run<T>` of Self.
template <class Self>
class TypedBackend : public Backend {
 public:
  void multiply(const BackendCall<float>& call) override { static_cast<Self*>(this)->run(call); }
  void multiply(const BackendCall<double>& call) override { static_cast<Self*>(this)->run(call); }
};

}  // namespace samebits::adapters
