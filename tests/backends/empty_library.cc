// SPDX-License-Identifier: Apache-2.0
// A shared library without any of the symbols that a backend looks for.
extern "C" int samebits_empty_library() { return 0; }
