// One command on a machine with several GPUs: the program starts itself once for each, as a launcher would, and waits for them.
#pragma once

namespace live::cli {

/// Starts this very command in so many processes, each of which finds its place in the environment (live/comm/launch.h). Hands
/// Ctrl-C and SIGTERM on to all of them; they end where this process dies. Returns when all have ended; throws sim::Error where
/// one has failed (it has said why).
void runInProcesses(int processes);

} // namespace live::cli
