// SPDX-License-Identifier: Apache-2.0
// Any program as a backend: it reads A and B from .npy files and writes C to one. It is started for each product, or once,
// and then told the files of each product in a line.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>

#include "backends/entries.h"
#include "backends/process.h"
#include "io/npy.h"
#include "samebits/error.h"

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
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

class Command final : public TypedBackend<Command> {
 public:
  explicit Command(const Specification& s)
      : name_(s.text), program_(s.argument), loop_(s.choice("loop", "no|yes") == "yes") {
    s.only("loop, timeout");
    if (program_.empty()) throw Error(Code::syntax, "command needs a program: command:\"python3 my.py {a} {b} {c}\"");
    for (const char* hole : {"{a}", "{b}", "{c}"})
      if ((program_.find(hole) == std::string::npos) != loop_)
        throw Error(
            Code::syntax,
            loop_ ? fmt::format("command \"{}\" with loop=yes is told its files line by line: leave out {}", program_, hole)
                  : fmt::format("command \"{}\" must contain {{a}}, {{b}} and {{c}}; {} is missing", program_, hole));
    const auto limit = s.option("timeout", "60");
    char* end = nullptr;
    limit_ = std::strtod(limit.c_str(), &end);
    if (*end != '\0' || !(limit_ > 0))
      throw Error(Code::syntax, fmt::format("timeout must be seconds > 0, found \"{}\"", limit));
  }
  std::string name() const override { return name_; }
  bool in_place() const override { return false; }
  std::string description() const override {
    return fmt::format("program \"{}\"{}, at most {:g} s a call", program_, loop_ ? ", started once" : "", limit_);
  }

  template <class T>
  void run(const BackendCall<T>& x) {
    if (x.alpha != 1 || x.beta != 0) throw Error(Code::unsupported, "a command multiplies only: alpha = 1 and beta = 0");
    if (loop_) {
      const std::lock_guard lock(mutex_);
      if (!files_) files_ = std::make_unique<TemporaryDirectory>();
      try {
        converse(x);
      } catch (...) {  // the next call starts it anew
        process_.reset();
        throw;
      }
      return;
    }
    const TemporaryDirectory files;
    write_inputs(files, x);
    auto line = program_;
    for (const char* name : {"a", "b", "c"}) line = replaced(line, fmt::format("{{{}}}", name), quoted(file(files, name)));
    Process process(with_threads(line, x.threads), files.file("log"), x.threads, false);
    process.finish(limit_);
    read_result(files, process, x);
  }

 private:
  static std::string file(const TemporaryDirectory& files, const char* name) {
    return files.file((std::string(name) + ".npy").c_str());
  }
  static std::string with_threads(const std::string& line, int threads) {
    return replaced(line, "{threads}", std::to_string(threads));
  }

  template <class T>
  void converse(const BackendCall<T>& x) {
    if (!process_ || threads_ != x.threads) {  // libraries read their environment once
      process_.reset();
      process_ = std::make_unique<Process>(with_threads(program_, x.threads), files_->file("log"), x.threads, true);
      threads_ = x.threads;
    }
    write_inputs(*files_, x);
    const auto answer =
        process_->ask(fmt::format("{}\t{}\t{}", file(*files_, "a"), file(*files_, "b"), file(*files_, "c")), limit_);
    if (answer != "ok")
      throw Error(Code::backend,
                  fmt::format("\"{}\" answered \"{}\", expected \"ok\"{}", program_, answer, process_->last_words()));
    read_result(*files_, *process_, x);
  }

  template <class T>
  void write_inputs(const TemporaryDirectory& files, const BackendCall<T>& x) const {
    std::error_code ignored;
    std::filesystem::remove(file(files, "c"), ignored);  // of the call before
    // A stored transposed becomes a Fortran-ordered file of the m x k matrix, which NumPy loads as that view.
    write(file(files, "a"), x.a, x.m, x.k, x.lda, x.trans_a);
    write(file(files, "b"), x.b, x.k, x.n, x.ldb, x.trans_b);
  }
  template <class T>
  void read_result(const TemporaryDirectory& files, const Process& process, const BackendCall<T>& x) const {
    const auto c = file(files, "c");
    if (!std::filesystem::exists(c))
      throw Error(Code::backend, fmt::format("\"{}\" {} but wrote no C{}", program_, loop_ ? "answered" : "ended well",
                                             process.last_words()));
    read(c, x);
  }
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
      throw Error(Code::backend,
                  fmt::format("\"{}\" wrote {} of shape {}; expected {} of shape ({}, {})", program_, io::name(c.stored),
                              c.shape_text(), io::name(sizeof(T) == 4 ? io::Stored::f32 : io::Stored::f64), x.m, x.n));
    for (Index i = 0; i < x.m; ++i)
      for (Index j = 0; j < x.n; ++j) {
        const auto at = static_cast<std::size_t>(i * x.n + j);
        x.c[i * x.ldc + j] = sizeof(T) == 4 ? static_cast<T>(c.f32[at]) : static_cast<T>(c.f64[at]);
      }
  }

  std::string name_, program_;
  bool loop_ = false;
  double limit_ = 60;
  // Of a loop:
  std::mutex mutex_;
  std::unique_ptr<TemporaryDirectory> files_;
  std::unique_ptr<Process> process_;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open_command(const Specification& s) {
  return std::make_unique<Command>(s);
}

}  // namespace samebits::adapters
