// SPDX-License-Identifier: Apache-2.0
// Programs as backends: right ones, and each way to be wrong. No process and no file is left behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "io/npy.h"
#include "samebits/backend.h"
#include "samebits/error.h"

namespace samebits {
namespace {

namespace fs = std::filesystem;

class Command : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("samebits-test-" + std::to_string(getpid()));
    fs::create_directories(directory_);
    setenv("TMPDIR", directory_.c_str(), 1);
    // A 2 x 2 result, ready to be copied.
    io::Array c;
    c.shape = {2, 2};
    c.f32 = {1, 2, 3, 4};
    io::write_npy(directory_ / "two.npy", c);
    c.shape = {4};
    io::write_npy(directory_ / "four.npy", c);
    c.shape = {2, 2};
    c.stored = io::Stored::f64;
    c.f64 = {1, 2, 3, 4};
    c.f32.clear();
    io::write_npy(directory_ / "double.npy", c);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    std::size_t left = 0;
    for (const auto& entry : fs::directory_iterator(directory_))
      left += entry.path().filename().string().rfind("samebits-", 0) == 0;
    EXPECT_EQ(left, 0u) << "temporary files are left";
    fs::remove_all(directory_);
  }
  std::string file(const char* name) const { return (directory_ / name).string(); }

  // The process whose number is in the file does not run any more.
  static void expect_gone(const std::string& pid_file) {
    pid_t pid = 0;
    std::ifstream(pid_file) >> pid;
    ASSERT_GT(pid, 0);
    for (int i = 0; i < 200 && kill(pid, 0) == 0; ++i) usleep(10000);  // until init has taken it away
    // A container without an init keeps it as a zombie.
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    status >> number >> name >> state;
    EXPECT_TRUE(state.empty() || state == "Z") << state;
  }

  // The error, or "" and the result in c_.
  std::string run(const std::string& specification) {
    BackendCall<float> x;
    x.m = x.n = x.k = 2, x.lda = x.ldb = x.ldc = 2;
    x.a = a_, x.b = b_, x.c = c_;
    try {
      open_backend(specification)->multiply(x);
    } catch (const Error& e) {
      code_ = e.code();
      return e.what();
    }
    return "";
  }

  fs::path directory_;
  float a_[4] = {1, 2, 3, 4}, b_[4] = {5, 6, 7, 8}, c_[4] = {};
  Code code_{};
};

TEST_F(Command, ReadsWhatTheProgramWrote) {
  EXPECT_EQ(run("command:test -s {a} && test -s {b} && cp " + file("two.npy") + " {c}"), "");
  EXPECT_EQ(c_[0], 1);
  EXPECT_EQ(c_[3], 4);
}

TEST_F(Command, NeedsItsPlaces) {
  EXPECT_NE(run("command:prog {a} {c}").find("{b} is missing"), std::string::npos);
  EXPECT_EQ(code_, Code::syntax);
  EXPECT_NE(run("command").find("needs a program"), std::string::npos);
  EXPECT_NE(run("command(timeout=-1):p {a} {b} {c}").find("timeout"), std::string::npos);
}

TEST_F(Command, NamesEachFault) {
  auto error = run("command:echo no such weight; exit 3; # {a} {b} {c}");
  EXPECT_NE(error.find("ended with status 3"), std::string::npos) << error;
  EXPECT_NE(error.find("no such weight"), std::string::npos) << error;
  EXPECT_EQ(code_, Code::backend);
  error = run("command:true {a} {b} {c}");
  EXPECT_NE(error.find("wrote no C"), std::string::npos) << error;
  error = run("command:: {a} {b}; cp " + file("four.npy") + " {c}");
  EXPECT_NE(error.find("of shape (4"), std::string::npos) << error;
  EXPECT_NE(error.find("expected float32 of shape (2, 2)"), std::string::npos) << error;
  error = run("command:: {a} {b}; cp " + file("double.npy") + " {c}");
  EXPECT_NE(error.find("wrote float64"), std::string::npos) << error;
  error = run("command:: {a} {b}; echo garbage > {c}");
  EXPECT_NE(error.find("cannot be read"), std::string::npos) << error;
  error = run("command:: {a} {b} {c}; kill -SEGV $$");
  EXPECT_NE(error.find("signal 11"), std::string::npos) << error;
  error = run("command:no-such-program-anywhere {a} {b} {c}");
  EXPECT_NE(error.find("status 127"), std::string::npos) << error;
}

TEST_F(Command, StopsWhatHangs) {
  // A child of the shell that would outlive it, and the shell itself.
  const auto pid_file = file("pid");
  const auto start = std::chrono::steady_clock::now();
  const auto error = run("command(timeout=0.5):sleep 300 & echo $! > " + pid_file + "; wait; : {a} {b} {c}");
  EXPECT_NE(error.find("did not end within 0.5 s"), std::string::npos) << error;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  expect_gone(pid_file);
}

// A program that stays: one start for many products.
class Loop : public Command {
 protected:
  BackendCall<float> call() {
    BackendCall<float> x;
    x.m = x.n = x.k = 2, x.lda = x.ldb = x.ldc = 2;
    x.a = a_, x.b = b_, x.c = c_;
    return x;
  }
  // The body of a shell loop over the files $a $b $c of each product.
  std::string loop(const std::string& body, const std::string& options = "loop=yes") const {
    return "command(" + options + "):echo x >> " + file("starts") + "; while IFS=$(printf '\\t') read -r a b c; do " + body +
           "; done";
  }
  std::size_t starts() const {
    std::ifstream in(file("starts"));
    std::string line;
    std::size_t n = 0;
    while (std::getline(in, line)) ++n;
    return n;
  }
  std::string error(const std::string& specification) {
    const auto text = run(specification);
    EXPECT_EQ(code_, Code::backend) << text;
    return text;
  }
};

TEST_F(Loop, IsStartedOnce) {
  {
    const auto backend =
        open_backend(loop("test -s $a && test -s $b && test ! -e $c && cp " + file("two.npy") + " $c; echo ok"));
    for (int i = 0; i < 5; ++i) {
      c_[3] = 0;
      backend->multiply(call());
      EXPECT_EQ(c_[3], 4);
    }
    EXPECT_EQ(starts(), 1u);
    auto x = call();
    x.threads = 2;  // another environment
    backend->multiply(x);
    EXPECT_EQ(starts(), 2u);
  }
  EXPECT_NE(run("command(loop=yes):program {a}").find("leave out {a}"), std::string::npos);
  EXPECT_NE(run("command(loop=maybe):program").find("no|yes"), std::string::npos);
}

TEST_F(Loop, NamesEachFault) {
  EXPECT_NE(error("command(loop=yes):echo no such weight >&2; exit 3")
                .find("ended with status 3 before it answered; it wrote:\nno such weight"),
            std::string::npos);
  EXPECT_NE(error("command(loop=yes):true").find("ended with status 0 before it answered"), std::string::npos);
  EXPECT_NE(error("command(loop=yes):kill -SEGV $$").find("signal 11"), std::string::npos);
  EXPECT_NE(error(loop("echo ok")).find("answered but wrote no C"), std::string::npos);
  EXPECT_NE(error(loop("echo bad shape")).find("answered \"bad shape\", expected \"ok\""), std::string::npos);
  EXPECT_NE(error(loop("cp " + file("four.npy") + " $c; echo ok")).find("expected float32 of shape (2, 2)"),
            std::string::npos);
  EXPECT_NE(error(loop("sleep 60", "loop=yes, timeout=0.3")).find("did not end within 0.3 s"), std::string::npos);
  EXPECT_NE(error("command(loop=yes, timeout=0.3):exec 0<&- 1>&-; sleep 60").find("did not end within 0.3 s"),
            std::string::npos);
}

TEST_F(Loop, GoesOnAfterAnError) {
  const auto backend =
      open_backend(loop("if mkdir " + file("once") + "; then exit 7; fi; cp " + file("two.npy") + " $c; echo ok"));
  EXPECT_THROW(backend->multiply(call()), Error);
  backend->multiply(call());
  EXPECT_EQ(c_[3], 4);
  EXPECT_EQ(starts(), 2u);
}

TEST_F(Loop, LeavesNoProcess) {
  const auto pid_file = file("pid");
  EXPECT_EQ(run(loop("sleep 300 & echo $! > " + pid_file + "; cp " + file("two.npy") + " $c; echo ok")), "");
  expect_gone(pid_file);
}

TEST_F(Command, LeavesNoProcessAfterASuccess) {
  const auto pid_file = file("pid");
  EXPECT_EQ(run("command:sleep 300 & echo $! > " + pid_file + "; : {a} {b}; cp " + file("two.npy") + " {c}"), "");
  expect_gone(pid_file);
}

}  // namespace
}  // namespace samebits
