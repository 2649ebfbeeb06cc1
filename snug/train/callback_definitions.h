// The callbacks that run files can name, for the list of them.
#pragma once

#include <memory>

#include "snug/train/callbacks.h"

namespace snug {

std::shared_ptr<CallbackDefinition> make_early_stopping(const EarlyStoppingOptions& options);
std::shared_ptr<CallbackDefinition> make_reduce_lr_on_plateau(
    const ReduceLROnPlateauOptions& options);
std::shared_ptr<CallbackDefinition> make_csv_logger(const Path& filename,
                                                    const CSVLoggerOptions& options,
                                                    FileSystem& files);
std::shared_ptr<CallbackDefinition> make_backup_and_restore(const Path& backup_dir,
                                                            const BackupAndRestoreOptions& options,
                                                            FileSystem& files);
std::shared_ptr<CallbackDefinition> make_model_checkpoint(const std::string& filepath,
                                                          const ModelCheckpointOptions& options,
                                                          FileSystem& files);
std::shared_ptr<CallbackDefinition> make_tensor_board(const std::string& log_dir,
                                                      const TensorBoardOptions& options,
                                                      FileSystem& files);
std::shared_ptr<CallbackDefinition> make_terminate_on_nan(const TerminateOnNaNOptions& options);

}  // namespace snug
