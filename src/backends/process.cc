// SPDX-License-Identifier: Apache-2.0
#include "backends/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "samebits/error.h"

extern char** environ;

namespace samebits::adapters {
namespace {

std::vector<std::string> environment(int threads) {
  std::vector<std::string> out;
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    out.push_back(fmt::format("{}={}", name, threads));
  const auto own = out.size();
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string entry = *v;
    const auto same = [&](const std::string& x) { return x.compare(0, x.find('='), entry, 0, entry.find('=')) == 0; };
    if (std::none_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(own), same)) out.push_back(entry);
  }
  return out;
}

std::chrono::steady_clock::time_point after(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Process::Process(std::string line, std::string log, int threads, bool conversation)
    : line_(std::move(line)), log_(std::move(log)) {
  auto variables = environment(threads);
  std::vector<char*> pointers;
  for (auto& v : variables) pointers.push_back(v.data());
  pointers.push_back(nullptr);
  std::string shell = "/bin/sh", flag = "-c", text = line_;
  char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};

  // A socket, since a write to a program that has ended then gives an error and no signal.
  int ends[2] = {-1, -1};
  if (conversation && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(Code::backend, fmt::format("cannot start \"{}\": {}", line_, std::strerror(errno)));
  socket_ = ends[0];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 2, log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (conversation) {
    posix_spawn_file_actions_adddup2(&files, ends[1], 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  } else {
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int failed = posix_spawn(&child_, shell.c_str(), &files, &attributes, arguments, pointers.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (conversation) close(ends[1]);
  if (failed != 0) {
    if (conversation) close(socket_);
    throw Error(Code::backend, fmt::format("cannot start \"{}\": {}", line_, std::strerror(failed)));
  }
}

Process::~Process() {
  kill_group();
  if (socket_ >= 0) close(socket_);
}

void Process::finish(double seconds) {
  if (!wait(after(seconds))) fail_late(seconds);
  if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0) fail_ended();
  kill_group();
}

std::string Process::ask(const std::string& question, double seconds) {
  const auto end = after(seconds);
  const std::string text = question + '\n';
  std::size_t written = 0;
  unread_.clear();  // what was said unasked answers nothing
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) fail_late(seconds);
    pollfd file{socket_, static_cast<short>(written < text.size() ? POLLIN | POLLOUT : POLLIN), 0};
    const int ready = poll(&file, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30)));
    if (ready < 0 && errno != EINTR) throw Error(Code::backend, fmt::format("\"{}\": {}", line_, std::strerror(errno)));
    if (ready <= 0) continue;
    if ((file.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      char buffer[4096];
      const auto n = recv(socket_, buffer, sizeof buffer, 0);
      if (n == 0 || (n < 0 && errno != EINTR)) {  // its end is closed
        if (!wait(end)) fail_late(seconds);
        fail_ended();
      }
      if (n > 0) unread_.append(buffer, static_cast<std::size_t>(n));
      if (const auto newline = unread_.find('\n'); newline != std::string::npos && written == text.size())
        return unread_.substr(0, newline);
    }
    if ((file.revents & POLLOUT) != 0 && written < text.size()) {
      const auto n = send(socket_, text.data() + written, text.size() - written, MSG_NOSIGNAL);
      if (n > 0) written += static_cast<std::size_t>(n);
    }
  }
}

std::string Process::last_words() const {
  std::ifstream in(log_, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const auto size = static_cast<std::int64_t>(in.tellg());
  const auto keep = std::min<std::int64_t>(size, 400);
  std::string text(static_cast<std::size_t>(keep), '\0');
  in.seekg(size - keep);
  in.read(text.data(), keep);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? text : "; it wrote:\n" + text;
}

bool Process::wait(Time end) {
  auto pause = std::chrono::microseconds(500);
  while (!ended_) {
    const pid_t done = waitpid(child_, &status_, WNOHANG);
    ended_ = done == child_ || (done < 0 && errno != EINTR);
    if (ended_) break;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  return true;
}

void Process::kill_group() {
  if (killed_) return;  // the number may belong to others by now
  killed_ = true;
  kill(-child_, SIGKILL);  // what the program may have left running, too
  while (!ended_) {
    const pid_t done = waitpid(child_, &status_, 0);
    ended_ = done == child_ || errno != EINTR;
  }
}

void Process::fail_late(double seconds) {
  kill_group();
  throw Error(Code::backend,
              fmt::format("\"{}\" did not end within {:g} s and was stopped{}", line_, seconds, last_words()));
}

void Process::fail_ended() {
  if (WIFSIGNALED(status_))
    throw Error(Code::backend, fmt::format("\"{}\" was ended by signal {} ({}){}", line_, WTERMSIG(status_),
                                           strsignal(WTERMSIG(status_)), last_words()));
  throw Error(Code::backend, fmt::format("\"{}\" ended with status {}{}{}", line_, WEXITSTATUS(status_),
                                         socket_ >= 0 ? " before it answered" : "", last_words()));
}

}  // namespace samebits::adapters
