// Rows of XLA's profiler (JAX, MaxText, TensorFlow) in its Chrome trace: its events have no categories, what a row holds is in
// the names of its process and thread. Facts: openxla/xprof's trace viewer.
#pragma once

namespace sim {

class RecordingBuilder;
struct Recording;

/// Once all is there: spans of "/device:GPU:0" and "/device:TPU:0" become what they are, and each of several devices a worker of
/// its own; the host's rows go with the first. Other files are left as they are. Whether there are several.
bool settleXlaRows(RecordingBuilder&);
/// The host asks all of its devices at once: its steps are those of each. Of the several devices of one file.
void shareXlaSteps(Recording&);

} // namespace sim
