// SPDX-License-Identifier: Apache-2.0
// Any program as a backend: it reads A and B from .npy files and writes C to one.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "backends/entries.h"
#include "io/npy.h"
#include "samebits/error.h"

extern char** environ;

namespace samebits::adapters {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    auto pattern = (std::filesystem::temp_directory_path() / "samebits-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error(Code::backend, fmt::format("cannot make a directory {}: {}", pattern, std::strerror(errno)));
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string quoted(const std::string& path) {
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

std::string last_lines(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const auto size = static_cast<std::int64_t>(in.tellg());
  const auto keep = std::min<std::int64_t>(size, 400);
  std::string text(static_cast<std::size_t>(keep), '\0');
  in.seekg(size - keep);
  in.read(text.data(), keep);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? text : "; it wrote:\n" + text;
}

// Runs `line` in a shell that leads a process group of its own; the whole group is gone when this returns.
void run_program(const std::string& line, const std::string& log, int threads, double limit_seconds) {
  std::vector<std::string> variables;
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    variables.push_back(fmt::format("{}={}", name, threads));
  const auto own = variables.size();
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string entry = *v;
    const auto same = [&](const std::string& x) { return x.compare(0, x.find('='), entry, 0, entry.find('=')) == 0; };
    if (std::none_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(own), same)) variables.push_back(entry);
  }
  std::vector<char*> environment;
  for (auto& v : variables) environment.push_back(v.data());
  environment.push_back(nullptr);
  std::string shell = "/bin/sh", flag = "-c", text = line;
  char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, shell.c_str(), &files, &attributes, arguments, environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) throw Error(Code::backend, fmt::format("cannot start \"{}\": {}", line, std::strerror(failed)));

  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_seconds);
  int status = 0;
  bool late = false;
  auto pause = std::chrono::microseconds(500);
  while (true) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR)) break;
    if (std::chrono::steady_clock::now() > end) {
      late = true;
      kill(-child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  kill(-child, SIGKILL);  // what the program may have left running
  if (late)
    throw Error(Code::backend, fmt::format("\"{}\" did not end within {:g} s and was stopped{}", line, limit_seconds, last_lines(log)));
  if (WIFSIGNALED(status))
    throw Error(Code::backend, fmt::format("\"{}\" was ended by signal {} ({}){}", line, WTERMSIG(status),
                                           strsignal(WTERMSIG(status)), last_lines(log)));
  if (WEXITSTATUS(status) != 0)
    throw Error(Code::backend, fmt::format("\"{}\" ended with status {}{}", line, WEXITSTATUS(status), last_lines(log)));
}

class Command final : public TypedBackend<Command> {
 public:
  explicit Command(const Specification& s) : name_(s.text), program_(s.argument) {
    s.only("timeout");
    if (program_.empty()) throw Error(Code::syntax, "command needs a program: command:\"python3 my.py {a} {b} {c}\"");
    for (const char* hole : {"{a}", "{b}", "{c}"})
      if (program_.find(hole) == std::string::npos)
        throw Error(Code::syntax, fmt::format("command \"{}\" must contain {{a}}, {{b}} and {{c}}; {} is missing", program_, hole));
    const auto limit = s.option("timeout", "60");
    char* end = nullptr;
    limit_ = std::strtod(limit.c_str(), &end);
    if (*end != '\0' || !(limit_ > 0)) throw Error(Code::syntax, fmt::format("timeout must be seconds > 0, found \"{}\"", limit));
  }
  std::string name() const override { return name_; }
  std::string description() const override { return fmt::format("program \"{}\", at most {:g} s a call", program_, limit_); }

  template <class T>
  void run(const BackendCall<T>& x) const {
    if (x.alpha != 1 || x.beta != 0) throw Error(Code::unsupported, "a command multiplies only: alpha = 1 and beta = 0");
    const TemporaryDirectory directory;
    const auto a = directory.file("a.npy"), b = directory.file("b.npy"), c = directory.file("c.npy");
    // A stored transposed becomes a Fortran-ordered file of the m x k matrix, which NumPy loads as that view.
    write(a, x.a, x.m, x.k, x.lda, x.trans_a);
    write(b, x.b, x.k, x.n, x.ldb, x.trans_b);
    auto line = replaced(replaced(replaced(program_, "{a}", quoted(a)), "{b}", quoted(b)), "{c}", quoted(c));
    line = replaced(line, "{threads}", std::to_string(x.threads));
    const auto log = directory.file("log");
    run_program(line, log, x.threads, limit_);
    if (!std::filesystem::exists(c))
      throw Error(Code::backend, fmt::format("\"{}\" ended well but wrote no {{c}}{}", program_, last_lines(log)));
    read(c, x);
  }

 private:
  template <class T>
  static void write(const std::string& path, const T* data, Index rows, Index cols, Index ld, bool transposed) {
    const auto stored = transposed ? row_major(data, cols, rows, ld).transposed() : row_major(data, rows, cols, ld);
    auto array = io::from_matrix(stored);
    array.fortran = transposed;
    io::write_npy(path, array);
  }

  template <class T>
  void read(const std::string& path, const BackendCall<T>& x) const {
    io::Array c;
    try {
      c = io::read_npy(path);
    } catch (const Error& e) {
      throw Error(Code::backend, fmt::format("\"{}\" wrote a file that cannot be read: {}", program_, e.what()));
    }
    if (c.dtype() != dtype_of<T> || c.shape != std::vector<Index>{x.m, x.n})
      throw Error(Code::backend, fmt::format("\"{}\" wrote {} of shape {}; expected {} of shape ({}, {})", program_,
                                             io::name(c.stored), c.shape_text(),
                                             io::name(sizeof(T) == 4 ? io::Stored::f32 : io::Stored::f64), x.m, x.n));
    for (Index i = 0; i < x.m; ++i)
      for (Index j = 0; j < x.n; ++j) {
        const auto at = static_cast<std::size_t>(i * x.n + j);
        x.c[i * x.ldc + j] = sizeof(T) == 4 ? static_cast<T>(c.f32[at]) : static_cast<T>(c.f64[at]);
      }
  }

  std::string name_, program_;
  double limit_ = 60;
};

}  // namespace

std::unique_ptr<Backend> open_command(const Specification& s) { return std::make_unique<Command>(s); }

}  // namespace samebits::adapters
