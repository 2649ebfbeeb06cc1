// The settings of a command line: a run remembers them, so that --resume, evaluate and predict need
// not be given them again, and what the program suggests has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/cli/command.h"

namespace snug::cli {

// The settings of both, the later ones in the place of earlier ones of the same path.
std::vector<Override> merged(const std::vector<Override>& earlier,
                             const std::vector<Override>& later);

// Writes them to a file of the run's directory; none: no file. Throws FileError.
void remember_settings(const Path& directory, const std::vector<Override>& settings);
// What it wrote; empty where it wrote nothing. Throws Error on a file that it did not write.
std::vector<Override> remembered_settings(const Path& directory);

// Quoted for a shell, where that is needed.
std::string shell_word(std::string_view word);
// As they were typed, quoted for a shell: "--memory 64MiB 'fit.optimizer={adam: 0.01}'".
std::string typed_text(const std::vector<Override>& settings);

// A command about the same run file with the same settings, and more of them, to be copied to a
// shell: "snug fit run.yaml --memory 64MiB fit.epochs=20". Those that use a model name its run.
std::string suggestion(const Arguments& arguments, std::string_view command,
                       const std::vector<Override>& more = {});
// A command about a run of the file (run_number), which remembers all but its name.
std::string remembered_suggestion(const Arguments& arguments, std::string_view command);
std::string resume_suggestion(const Arguments& arguments);

}  // namespace snug::cli
