// Stands for the header that the kernel builder generates: the same macros, which register nothing.
#pragma once
#ifndef UPSKILL_PREPROCESS
#define TORCH_EXTENSION_NAME upskill_unique_name
#define TORCH_LIBRARY_EXPAND(NAME, MODULE) TORCH_LIBRARY(NAME, MODULE)
#define TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) TORCH_LIBRARY_IMPL(NAME, DEVICE, MODULE)
#define REGISTER_EXTENSION(NAME) extern int upskill_registered_extension;
#endif
