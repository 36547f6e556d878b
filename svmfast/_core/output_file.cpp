#include "output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

namespace svmfast {

bool OutputFile::open(const std::string &path, const struct stat *inputs, std::size_t count) {
    const bool to_stdout = path == "-";
    struct stat now{};
    const bool present = (to_stdout ? fstat(1, &now) : lstat(path.c_str(), &now)) == 0;
    if (!present && (to_stdout || errno != ENOENT)) return false;
    for (std::size_t i = 0; present && i < count; ++i)
        if (now.st_dev == inputs[i].st_dev && now.st_ino == inputs[i].st_ino) return false;
    if (to_stdout) {
        descriptor_ = 1;
        return true;
    }
    if (path == "/dev/null") {
        descriptor_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        return descriptor_ >= 0;
    }
    if (present && (!S_ISREG(now.st_mode) || access(path.c_str(), W_OK) != 0)) return false;
    const std::size_t slash = path.rfind('/') + 1;  // npos + 1 is 0
    const std::string folder = path.substr(0, slash), name = path.substr(slash);
    constexpr std::size_t shown_name = 100;
    if (name.empty() || name == "." || name == ".." || name.size() > shown_name) return false;
    std::random_device device;
    char unique[13];
    std::snprintf(unique, sizeof unique, "%08x%04x", static_cast<unsigned>(device()),
                  static_cast<unsigned>(device() & 0xffff));
    temporary_ = folder + "." + name + "." + unique + ".svmfast.tmp";
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) temporary_.clear();
    place_ = path;
    mode_ = present ? now.st_mode & 0777 : 0;
    return descriptor_ >= 0;
}

bool OutputFile::write(const char *text, std::size_t size) {
    while (size) {
        const ssize_t count = ::write(descriptor_, text, size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno == EPIPE && temporary_.empty();
        text += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

bool OutputFile::finish() {
    if (temporary_.empty()) return true;
    const bool closed = close(std::exchange(descriptor_, -1)) == 0;
    if (!closed || (mode_ && chmod(temporary_.c_str(), mode_) != 0)) return false;
    if (rename(temporary_.c_str(), place_.c_str()) != 0) return false;
    temporary_.clear();
    return true;
}

OutputFile::~OutputFile() {
    if (temporary_.empty()) return;
    if (descriptor_ >= 0) close(descriptor_);
    unlink(temporary_.c_str());
}

}  // namespace svmfast
