// How much longer a rank computes than its peers: the other ranks of its place in the pipeline, which have the same work. It is
// not one of them: a mean with it among them would call it less slow than it is.
#pragma once

namespace sim {

/// Of all ranks of one place, who asks among them.
struct PeersBusy {
    double sumNs = 0, ranks = 0;
    void add(double busyNs, double of = 1)
    {
        sumNs += busyNs * of;
        ranks += of;
    }
    /// Less a rank's own.
    PeersBusy without(double busyNs) const { return {sumNs - busyNs, ranks - 1}; }
    double meanNs() const { return ranks > 0 ? sumNs / ranks : 0; }
    /// 0.3: a rank of such busy time takes 30 % longer than its peers; 0 where it has none, or they compute nothing.
    double against(double busyNs) const
    {
        const double mean = without(busyNs).meanNs();
        return mean > 0 ? busyNs / mean - 1 : 0;
    }
};

} // namespace sim
