// SPDX-License-Identifier: Apache-2.0
// A shell command in a process group of its own, which ends with this object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace samebits::adapters {

class Process {
 public:
  // Its environment says `threads` in OMP_, OPENBLAS_ and MKL_NUM_THREADS. Standard error goes to the file `log`; so does
  // standard output, with nothing to read as standard input, unless `conversation`: then both are ours.
  Process(std::string line, std::string log, int threads, bool conversation);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Waits for the end. Throws Error(backend) when it takes longer or the status is not 0.
  void finish(double seconds);
  // Writes `question` and reads the answer, one line each, without the newline. Throws Error(backend) when that takes
  // longer, or the program ends.
  std::string ask(const std::string& question, double seconds);
  // What the program last wrote to the log, as "; it wrote:\n...", or nothing.
  std::string last_words() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  // False where it still runs at that time.
  bool wait(Time end);
  [[noreturn]] void fail_late(double seconds);
  [[noreturn]] void fail_ended();
  void kill_group();

  std::string line_, log_, unread_;
  pid_t child_ = 0;
  int socket_ = -1;  // to its standard input and output
  int status_ = 0;
  bool ended_ = false, killed_ = false;
};

}  // namespace samebits::adapters
