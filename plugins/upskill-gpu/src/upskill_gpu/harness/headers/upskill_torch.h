// Just enough of Torch to check that bindings are C++ and name functions that exist. Nothing of it is ever run.
#pragma once
#ifndef UPSKILL_PREPROCESS
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace c10 {
enum class DeviceType { CPU, CUDA, HIP, MPS, XPU };
enum class DispatchKey { CPU, CUDA, MPS, XPU, Meta, CompositeImplicitAutograd, CompositeExplicitAutograd, Autograd };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
constexpr DeviceType kMPS = DeviceType::MPS;
constexpr DeviceType kXPU = DeviceType::XPU;
template <class T> using optional = std::optional<T>;
}  // namespace c10

namespace at {
struct Tensor {};
using namespace c10;
}  // namespace at

namespace torch {
using namespace at;
using at::Tensor;
struct Library {
  Library &def(const char *schema);
  template <class Function> Library &def(const char *schema, Function &&function);
  template <class Function> Library &impl(const char *name, Function &&function);
  template <class Function> Library &impl(const char *name, c10::DeviceType device, Function &&function);
  template <class Function> Library &impl(const char *name, c10::DispatchKey key, Function &&function);
};
}  // namespace torch
#define TORCH_LIBRARY(NAME, MODULE) [[maybe_unused]] static void upskill_library_##NAME(torch::Library &MODULE)
#define TORCH_LIBRARY_FRAGMENT(NAME, MODULE) [[maybe_unused]] static void upskill_fragment_##NAME(torch::Library &MODULE)
#define TORCH_LIBRARY_IMPL(NAME, KEY, MODULE) [[maybe_unused]] static void upskill_impl_##NAME##_##KEY(torch::Library &MODULE)
#endif
