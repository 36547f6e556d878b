// The files of a job: inputs that are read in order, and an output that appears complete or not at all, as
// formats/target.py writes it. What is unusual, or fails, is declined.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "svmfast.hpp"

namespace svmfast {

class InputFile {
  public:
    // A pipe is not opened, since its writer would see that.
    explicit InputFile(const std::string &path) {
        require(stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0);
        file_.reset(std::fopen(path.c_str(), "rbe"));
        require(file_ && std::setvbuf(file_.get(), nullptr, _IONBF, 0) == 0);
    }

    // Fills all of [to, to + room) unless the file ends before.
    std::size_t read(char *to, std::size_t room) {
        const std::size_t count = std::fread(to, 1, room, file_.get());
        // A file that became shorter may have lost the rest of a line that was read in part.
        struct stat now;
        require(count == room || (!std::ferror(file_.get()) && fstat(fileno(file_.get()), &now) == 0 &&
                                  ftello(file_.get()) <= now.st_size));
        return count;
    }

    struct stat status{};

  private:
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file_{nullptr, std::fclose};
};

// The input: whole lines of a file, chunk by chunk, with the padding that the tokenizer needs.
class InputLines {
  public:
    explicit InputLines(InputFile &file)
        : file_(file),
          text_(std::min<std::size_t>(CHUNK, static_cast<std::size_t>(file.status.st_size) + 1) + BEHIND, '\0') {}

    // Moves to the next lines, [0, end()); false at the end of the file.
    bool next() {
        std::copy(text_.data() + end_, text_.data() + filled_, text_.data());
        filled_ -= end_;
        const std::size_t room = text_.size() - BEHIND - filled_, count = file_.read(text_.data() + filled_, room);
        filled_ += count;
        if (count < room) {
            if (filled_ && text_[filled_ - 1] != '\n') text_[filled_++] = '\n';
            end_ = filled_;
        } else {
            end_ = std::string_view(text_.data(), filled_).rfind('\n') + 1;  // npos + 1 is 0
            require(end_ > 0);
        }
        return end_ > 0;
    }

    std::size_t end() const { return end_; }
    In1<std::uint8_t> text() const { return {reinterpret_cast<const std::uint8_t *>(text_.data()), {text_.size()}}; }

  private:
    // Bytes that are read at a time; longer lines are left to Python.
    static constexpr std::size_t CHUNK = std::size_t{2} << 20;
    static constexpr std::size_t BEHIND = text::padding + 1;  // and a missing last line end

    InputFile &file_;
    std::string text_;
    std::size_t filled_ = 0, end_ = 0;
};

// A file under a temporary name in the same folder, standard output ("-"), or /dev/null.
class OutputFile {
  public:
    // Declines another path that is not the place of a regular file that can be written, a link, a device or a folder
    // for example, and the inputs, which must not be overwritten.
    void open(const std::string &path, std::initializer_list<struct stat> inputs) {
        struct stat now{};
        const bool present = (path == "-" ? fstat(1, &now) : lstat(path.c_str(), &now)) == 0;
        require(present || (path != "-" && errno == ENOENT));
        for (const struct stat &input : inputs)
            require(!present || now.st_dev != input.st_dev || now.st_ino != input.st_ino);
        if (path == "-") {
            descriptor_ = 1;
        } else if (path == "/dev/null") {
            descriptor_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        } else {
            require(!present || (S_ISREG(now.st_mode) && access(path.c_str(), W_OK) == 0));
            const std::size_t slash = path.rfind('/') + 1;  // npos + 1 is 0
            const std::string folder = path.substr(0, slash), name = path.substr(slash);
            constexpr std::size_t shown_name = 100;
            require(!name.empty() && name != "." && name != ".." && name.size() <= shown_name);
            std::random_device device;
            char unique[13];
            std::snprintf(unique, sizeof unique, "%08x%04x", static_cast<unsigned>(device()),
                          static_cast<unsigned>(device() & 0xffff));
            temporary_ = folder + "." + name + "." + unique + ".svmfast.tmp";
            descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (descriptor_ < 0) temporary_.clear();
            place_ = path;
            mode_ = present ? now.st_mode & 0777 : 0;
        }
        require(descriptor_ >= 0);
    }

    // A closed pipe swallows the rest.
    void write(const char *text, std::size_t size) {
        while (size) {
            const ssize_t count = ::write(descriptor_, text, size);
            if (count < 0 && errno == EINTR) continue;
            require(count >= 0 || (errno == EPIPE && temporary_.empty()));
            if (count < 0) return;
            text += count;
            size -= static_cast<std::size_t>(count);
        }
    }

    // Gives the file its name.
    void finish() {
        if (temporary_.empty()) return;
        require(close(std::exchange(descriptor_, -1)) == 0);
        require(!mode_ || chmod(temporary_.c_str(), mode_) == 0);
        require(rename(temporary_.c_str(), place_.c_str()) == 0);
        temporary_.clear();
    }

    ~OutputFile() {
        if (temporary_.empty()) return;
        if (descriptor_ >= 0) close(descriptor_);
        unlink(temporary_.c_str());
    }

  private:
    std::string place_, temporary_;
    int descriptor_ = -1;
    mode_t mode_ = 0;  // of an existing file
};

}  // namespace svmfast
