// An output that appears complete or not at all, as formats/target.py writes it.
#pragma once
#include <sys/stat.h>

#include <string>

namespace svmfast {

// A file under a temporary name in the same folder, standard output ("-"), or /dev/null.
class OutputFile {
  public:
    // False for another path that is not the place of a regular file that can be written: a link, a device, a
    // folder. inputs: files that must not be overwritten.
    bool open(const std::string &path, const struct stat *inputs, std::size_t count);
    // False if writing fails; a closed pipe swallows the rest.
    bool write(const char *text, std::size_t size);
    // Gives the file its name; false if that fails.
    bool finish();
    ~OutputFile();

  private:
    std::string place_, temporary_;
    int descriptor_ = -1;
    mode_t mode_ = 0;  // of an existing file
};

}  // namespace svmfast
