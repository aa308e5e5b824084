#include "live/comm/remote_communicator.h"

#include "live/comm/remote_operation.h"
#include "live/record/recorder.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace live {
namespace {

using remote::Arrival;
using remote::Operation;
using remote::Place;

/// Collectives of one group that can be told apart while they are under way; transfers: channels between the same two processes,
/// and transfers of one channel.
constexpr int kWindow = 1024;
constexpr int kTransferWindow = 8;
constexpr int kChannels = kWindow / kTransferWindow;

class RemoteCommunicator : public Communicator {
public:
    RemoteCommunicator(WorkerPool& pool, std::unique_ptr<Transport> transport, std::vector<int> processOfRank, int process,
                       OnTransportFailure onFailure)
        : m_pool(pool), m_local(makeLocalCommunicator(pool)), m_transport(std::move(transport)),
          m_processOfRank(std::move(processOfRank)), m_process(process), m_onFailure(std::move(onFailure))
    {
    }
    std::string name() const override { return m_transport->name(); }

    void issue(const CommRequest& request, Completion& completion) override
    {
        completion.issuedNs = nowNs();
        std::optional<std::string> lost;
        try {
            GroupState& group = stateOf(*request.group);
            if (isLocal(group.place, request)) {
                m_local->issue(request, completion);
                return;
            }
            checkRequest(request);
            const std::lock_guard lock(m_mutex);
            if (!m_why.empty())
                throw sim::Error(m_why);
            if (auto operation = arrive(group, {&request, &completion})) {
                m_operations.push_back(std::move(operation));
                try {
                    m_operations.back()->start(*m_transport);
                } catch (const sim::Error& error) {
                    lost = error.what();
                }
            }
        } catch (...) {
            completion.readyNs = completion.doneNs = nowNs();
            completion.fail(m_pool, std::current_exception());
            return;
        }
        if (lost)
            fail(*lost);
        else
            poll();
    }

    bool poll() override
    {
        std::list<std::unique_ptr<Operation>> ready;
        Advancing advancing(m_advancing);
        std::optional<std::string> lost;
        bool moved = false;
        {
            const std::unique_lock lock(m_mutex, std::try_to_lock);
            if (!lock || m_operations.empty())
                return false;
            try {
                moved = m_transport->poll();
            } catch (const sim::Error& error) {
                lost = error.what();
            }
            for (auto next = m_operations.begin(); next != m_operations.end();) {
                const auto operation = next++;
                if ((*operation)->ready()) {
                    ready.splice(ready.end(), m_operations, operation);
                    advancing.begin();
                }
            }
        }
        // What has arrived whole is finished even if the connection is gone now.
        const bool any = !ready.empty();
        while (!ready.empty()) {
            if (auto problem = advance(ready); problem && !lost)
                lost = std::move(problem);
            advancing.end();
        }
        if (lost)
            fail(*lost);
        return moved || any;
    }

    void abort(const std::string& why) override
    {
        const std::lock_guard once(m_abortMutex); // who comes second finds all ended, too
        std::vector<Arrival> pending;
        {
            const std::lock_guard lock(m_mutex);
            if (!m_why.empty())
                return;
            m_why = why.empty() ? "the run was ended" : why;
            m_transport->abandon();
            for (const auto& operation : m_operations)
                pending.insert(pending.end(), operation->arrivals().begin(), operation->arrivals().end());
            m_operations.clear();
            const std::lock_guard groups(m_groupsMutex);
            for (auto& [id, group] : m_groups) {
                for (const auto& meeting : group.meetings)
                    pending.insert(pending.end(), meeting.begin(), meeting.end());
                group.meetings.clear();
            }
        }
        const auto failure = std::make_exception_ptr(sim::Error(m_why));
        for (const Arrival& arrival : pending)
            end(arrival, nowNs(), failure);
        m_local->abort(m_why);
        while (m_advancing.load(std::memory_order_acquire) > 0)
            std::this_thread::yield();
    }

private:
    /// Counts operations that are taken further: down again also where memory runs out meanwhile, or abort() would wait for ever.
    class Advancing {
    public:
        explicit Advancing(std::atomic<int>& all) : m_all(all) {}
        ~Advancing() { m_all.fetch_sub(m_mine, std::memory_order_release); }
        Advancing(const Advancing&) = delete;
        Advancing& operator=(const Advancing&) = delete;
        void begin()
        {
            m_all.fetch_add(1, std::memory_order_relaxed);
            ++m_mine;
        }
        void end()
        {
            m_all.fetch_sub(1, std::memory_order_release);
            --m_mine;
        }

    private:
        std::atomic<int>& m_all;
        int m_mine = 0;
    };

    struct GroupState {
        Place place;
        // Under m_mutex:
        std::vector<std::vector<Arrival>> meetings; ///< collectives that not all own members have reached, the oldest first
        std::map<int, std::uint64_t> reached;       ///< by member: collectives issued so far
        std::uint64_t started = 0;                  ///< collectives
        std::map<std::pair<int, int>, std::uint64_t> sends, receives; ///< by own member and peer
    };

    GroupState& stateOf(const CommGroup& group)
    {
        const std::lock_guard lock(m_groupsMutex);
        const auto [found, isNew] = m_groups.try_emplace(group.id);
        if (isNew)
            found->second.place = placeOf(group);
        return found->second;
    }

    Place placeOf(const CommGroup& group) const
    {
        Place place;
        place.group = &group;
        place.own = m_process;
        for (const int rank : group.ranks)
            place.processOf.push_back(m_processOfRank[static_cast<std::size_t>(rank)]);
        place.processes = place.processOf;
        std::sort(place.processes.begin(), place.processes.end());
        place.processes.erase(std::unique(place.processes.begin(), place.processes.end()), place.processes.end());
        place.members = place.membersOf(m_process);
        return place;
    }

    bool isLocal(const Place& place, const CommRequest& request) const
    {
        if (isTransfer(request.kind))
            return request.peer >= 0 && request.peer < request.group->size() &&
                   place.processOf[static_cast<std::size_t>(request.peer)] == m_process;
        return place.processes.size() == 1;
    }

    /// The operation, if this was the last own member that it needed.
    std::unique_ptr<Operation> arrive(GroupState& group, const Arrival& arrival)
    {
        const CommRequest& request = *arrival.request;
        if (isTransfer(request.kind)) {
            const bool isSend = request.kind == CommKind::send;
            const int channel =
                channelOf(group.place, isSend ? request.member : request.peer, isSend ? request.peer : request.member);
            const std::pair pair(request.member, request.peer);
            const std::uint64_t count = (isSend ? group.sends : group.receives)[pair]++;
            return std::make_unique<Operation>(
                group.place, std::vector{arrival},
                tagOf(*request.group, channel * kTransferWindow + static_cast<int>(count % kTransferWindow)));
        }
        const auto place = static_cast<std::size_t>(group.reached[request.member]++ - group.started);
        if (place == group.meetings.size())
            group.meetings.emplace_back();
        group.meetings[place].push_back(arrival);
        if (group.meetings[place].size() < group.place.members.size())
            return nullptr;
        std::vector<Arrival> arrivals = std::move(group.meetings.front()); // own members arrive in the same order
        group.meetings.erase(group.meetings.begin());
        std::sort(arrivals.begin(), arrivals.end(),
                  [](const Arrival& a, const Arrival& b) { return a.request->member < b.request->member; });
        for (const Arrival& other : arrivals)
            if (other.request->kind != arrivals[0].request->kind) {
                endMismatch(arrivals);
                return nullptr;
            }
        return std::make_unique<Operation>(group.place, std::move(arrivals),
                                           tagOf(*request.group, static_cast<int>(group.started++ % kWindow)));
    }

    /// Own members already disagree: nothing is sent, the others learn of it by the abort that follows.
    void endMismatch(const std::vector<Arrival>& arrivals)
    {
        try {
            checkAgreement(arrivals);
        } catch (...) {
            for (const Arrival& arrival : arrivals)
                end(arrival, nowNs(), std::current_exception());
        }
    }

    /// Numbers the pairs of a sender and a receiver that share their two processes.
    static int channelOf(const Place& place, int sender, int receiver)
    {
        const auto among = [&](int member) {
            const std::vector<int> members = place.membersOf(place.processOf[static_cast<std::size_t>(member)]);
            const auto found = std::find(members.begin(), members.end(), member);
            return std::pair(static_cast<int>(found - members.begin()), static_cast<int>(members.size()));
        };
        const auto [receiverIndex, receivers] = among(receiver);
        const int channel = among(sender).first * receivers + receiverIndex;
        if (channel >= kChannels)
            throw sim::Error("group " + place.group->name +
                             " has too many members in two processes for transfers between all of them: "
                             "at most " +
                             std::to_string(kChannels) + " pairs");
        return channel;
    }

    int tagOf(const CommGroup& group, int place) const
    {
        const int largest = m_transport->maxTag() / (kWindow * remote::kTagsPerOperation) - 1;
        if (group.id < 0 || group.id > largest)
            throw sim::Error("group " + group.name + " has the number " + std::to_string(group.id) + "; " + m_transport->name() +
                             " has room for 0 to " + std::to_string(largest));
        return (group.id * kWindow + place) * remote::kTagsPerOperation;
    }

    /// Takes the first of these one round further. A text: the transport has failed.
    std::optional<std::string> advance(std::list<std::unique_ptr<Operation>>& ready)
    {
        Operation& operation = *ready.front();
        std::exception_ptr failure;
        std::optional<std::string> lost;
        try {
            operation.compute(m_pool);
        } catch (...) {
            failure = std::current_exception();
        }
        if (!failure) {
            const std::lock_guard lock(m_mutex);
            if (!m_why.empty()) {
                failure = std::make_exception_ptr(sim::Error(m_why));
            } else {
                try {
                    if (operation.proceed(*m_transport)) {
                        m_operations.splice(m_operations.end(), ready, ready.begin());
                        return std::nullopt;
                    }
                } catch (const std::exception& error) { // memory may run out, too
                    // Some of its messages may be under way: it stays listed until abort() has made the transport forget them.
                    m_operations.splice(m_operations.end(), ready, ready.begin());
                    return error.what();
                }
            }
        }
        const std::vector<Arrival> arrivals = operation.arrivals();
        const std::int64_t readyNs = operation.readyNs();
        ready.pop_front();
        for (const Arrival& arrival : arrivals)
            end(arrival, readyNs, failure);
        return std::nullopt;
    }

    void end(const Arrival& arrival, std::int64_t readyNs, const std::exception_ptr& failure)
    {
        arrival.completion->doneNs = nowNs();
        arrival.completion->readyNs = std::clamp(readyNs, arrival.completion->issuedNs, arrival.completion->doneNs);
        if (failure)
            arrival.completion->fail(m_pool, failure);
        else
            arrival.completion->finish(m_pool);
    }

    void fail(const std::string& why) { abort(m_onFailure ? m_onFailure(why) : why); }

    WorkerPool& m_pool;
    const std::unique_ptr<Communicator> m_local;
    const std::unique_ptr<Transport> m_transport; ///< used under m_mutex
    const std::vector<int> m_processOfRank;
    const int m_process;
    const OnTransportFailure m_onFailure;
    std::mutex m_groupsMutex; ///< of the map, not of what groups hold
    std::map<int, GroupState> m_groups;
    std::mutex m_mutex;
    std::list<std::unique_ptr<Operation>> m_operations; ///< with messages under way
    std::string m_why;                                  ///< of an abort
    std::atomic<int> m_advancing{0};                    ///< operations taken from the list to be taken further
    std::mutex m_abortMutex;
};

} // namespace

std::unique_ptr<Communicator> makeRemoteCommunicator(WorkerPool& pool, std::unique_ptr<Transport> transport,
                                                     std::vector<int> processOfRank, int process, OnTransportFailure onFailure)
{
    return std::make_unique<RemoteCommunicator>(pool, std::move(transport), std::move(processOfRank), process,
                                                std::move(onFailure));
}

} // namespace live
