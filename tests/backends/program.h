// SPDX-License-Identifier: Apache-2.0
// Runs the program in a child process, where libraries read their environment anew.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace samebits {

struct Output {
  int status = -1;
  std::string text;  // stdout and stderr
};

inline Output run_program(const std::string& environment, const std::string& arguments) {
  Output out;
  const std::string line = "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE -u OPENBLAS_NUM_THREADS " + environment + " " SAMEBITS_PROGRAM " " + arguments + " 2>&1";
  std::FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out.text.append(buffer.data(), n);
  const int status = pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return out;
}

}  // namespace samebits
