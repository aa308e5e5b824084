// What a training shows of itself: process 0 collects from all and shows it to viewers; the others show theirs to process 0,
// whose clock they are laid on. Private to live/cli.
#pragma once

#include "live/cli/control.h"
#include "live/cli/training.h"
#include "live/comm/clock_sync.h"
#include "live/comm/launch.h"
#include "live/comm/store.h"
#include "live/stream/collector.h"
#include "live/stream/gather.h"
#include "live/stream/keys.h"
#include "live/stream/publisher.h"

#include <memory>
#include <string>
#include <vector>

namespace live::cli {

class TrainingStream {
public:
    /// `store`: between several processes, else null; all of them make theirs at once. What is given must outlive it.
    TrainingStream(const TrainingRequest&, const LaunchEnvironment&, Store* store, Run&, const std::string& device, Control&);

    Collector& collector() { return *m_collector; }
    /// Between two steps, on all processes: how their clocks went on.
    void compareClocks();
    /// No step is to come. False: some processes' last spans did not arrive in time.
    bool finish();

private:
    void showToFirst(RunDescription, const KeyPair& own, const std::string& endpoint);
    void collectFromAll(RunDescription, const KeyPair& own, const std::vector<ClockOffset>&);
    void publish();

    const TrainingRequest& m_request;
    const LaunchEnvironment& m_environment;
    Store* const m_store;
    Run& m_run;
    Control& m_control;
    std::vector<std::unique_ptr<Recorder>> m_remoteRecorders;
    std::unique_ptr<Collector> m_collector;
    std::unique_ptr<ClockRounds> m_clocks;                ///< between several processes
    std::vector<std::unique_ptr<ClockLine>> m_clockLines; ///< of the processes after the first; the gatherer reads them
    std::unique_ptr<SpanGatherer> m_gatherer;
    std::unique_ptr<Publisher> m_publisher;
};

} // namespace live::cli
