// The module rankscope_live_mpi: the only code that needs an MPI library, loaded where the program was started by mpirun. Sends
// and receives only; what is summed, and in which order, is the communicator's, so that sums have the same bits as without MPI.
#include "live/comm/transport.h"
#include "live/kernels/modules.h"

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mpi.h>
#include <vector>

namespace live {
namespace {

/// MPI counts in int; longer messages go in several.
constexpr std::int64_t kPartBytes = 1 << 30;

void check(int code, const char* what)
{
    if (code == MPI_SUCCESS)
        return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw sim::Error(std::string(what) + " failed: " + text.data());
}

class MpiTransport : public Transport {
public:
    MpiTransport(int process, int processes)
    {
        int initialised = 0;
        MPI_Initialized(&initialised);
        int threads = MPI_THREAD_SINGLE;
        if (initialised) {
            MPI_Query_thread(&threads);
        } else {
            check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads), "MPI_Init_thread");
            m_finalise = true;
        }
        int rank = 0, size = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (rank != process || size != processes)
            throw sim::Error("MPI counts this process as " + std::to_string(rank) + " of " + std::to_string(size) +
                             ", the launcher's variables as " + std::to_string(process) + " of " + std::to_string(processes) +
                             ": was the module built with the MPI library of this mpirun?");
        if (threads < MPI_THREAD_SERIALIZED)
            throw sim::Error("this MPI library allows calls from one thread only (MPI_THREAD_SERIALIZED is needed)");
        MPI_Comm_dup(MPI_COMM_WORLD, &m_communicator);
        MPI_Comm_set_errhandler(m_communicator, MPI_ERRORS_RETURN);
    }
    ~MpiTransport() override
    {
        if (m_abandoned) // the others may be dead: finalising would wait for them
            return;
        MPI_Comm_free(&m_communicator);
        if (m_finalise)
            MPI_Finalize();
    }
    MpiTransport(const MpiTransport&) = delete;
    MpiTransport& operator=(const MpiTransport&) = delete;

    std::string name() const override
    {
        std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
        int length = 0;
        MPI_Get_library_version(text.data(), &length);
        const std::string version = text.data();
        return "MPI (" + version.substr(0, version.find_first_of(",\n")) + ")";
    }
    int maxTag() const override
    {
        const int* bound = nullptr;
        int found = 0;
        MPI_Comm_get_attr(m_communicator, MPI_TAG_UB, static_cast<void*>(&bound), &found);
        return found ? *bound : 32767; // what the standard promises
    }

    void send(int process, int tag, const void* data, std::int64_t bytes, Transfer& transfer) override
    {
        inParts(bytes, transfer, [&](std::int64_t offset, int count, MPI_Request& request) {
            return MPI_Isend(static_cast<const std::byte*>(data) + offset, count, MPI_BYTE, process, tag, m_communicator,
                             &request);
        });
    }
    void receive(int process, int tag, void* data, std::int64_t capacity, Transfer& transfer) override
    {
        inParts(capacity, transfer, [&](std::int64_t offset, int count, MPI_Request& request) {
            return MPI_Irecv(static_cast<std::byte*>(data) + offset, count, MPI_BYTE, process, tag, m_communicator, &request);
        });
    }

    bool poll() override
    {
        if (m_requests.empty() || m_abandoned)
            return false;
        m_indices.resize(m_requests.size());
        m_statuses.resize(m_requests.size());
        int done = 0;
        const int code =
            MPI_Testsome(static_cast<int>(m_requests.size()), m_requests.data(), &done, m_indices.data(), m_statuses.data());
        if (code == MPI_ERR_IN_STATUS)
            for (int i = 0; i < done; ++i)
                check(m_statuses[static_cast<std::size_t>(i)].MPI_ERROR, "a message over MPI");
        check(code, "MPI_Testsome");
        if (done <= 0)
            return false;
        for (int i = 0; i < done; ++i) {
            Transfer& transfer = *m_transfers[static_cast<std::size_t>(m_indices[static_cast<std::size_t>(i)])];
            int count = 0;
            MPI_Get_count(&m_statuses[static_cast<std::size_t>(i)], MPI_BYTE, &count);
            transfer.bytes += std::max(count, 0); // of a send: undefined, and nobody asks
            if (--transfer.parts == 0)
                --*transfer.open;
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < m_requests.size(); ++i)
            if (m_requests[i] != MPI_REQUEST_NULL) {
                m_requests[kept] = m_requests[i];
                m_transfers[kept++] = m_transfers[i];
            }
        m_requests.resize(kept);
        m_transfers.resize(kept);
        return true;
    }

    void abandon() noexcept override
    {
        m_abandoned = true;
        for (MPI_Request& request : m_requests) {
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
        m_requests.clear();
        m_transfers.clear();
    }

private:
    template <class Start>
    void inParts(std::int64_t bytes, Transfer& transfer, Start start)
    {
        transfer.bytes = 0;
        transfer.parts = static_cast<int>(std::max<std::int64_t>((bytes + kPartBytes - 1) / kPartBytes, 1));
        for (int part = 0; part < transfer.parts; ++part) {
            const std::int64_t offset = part * kPartBytes;
            MPI_Request request = MPI_REQUEST_NULL;
            check(start(offset, static_cast<int>(std::min(kPartBytes, bytes - offset)), request), "a message over MPI");
            m_requests.push_back(request);
            m_transfers.push_back(&transfer);
        }
    }

    MPI_Comm m_communicator = MPI_COMM_NULL;
    bool m_finalise = false, m_abandoned = false;
    std::vector<MPI_Request> m_requests;
    std::vector<Transfer*> m_transfers; ///< beside m_requests
    std::vector<int> m_indices;
    std::vector<MPI_Status> m_statuses;
};

} // namespace
} // namespace live

/// The build that the module is of.
extern "C" {
extern const live::ModuleHeader rankscopeMpiModule;
const live::ModuleHeader rankscopeMpiModule{};
}

/// The module's one entry. Null with an error's text.
extern "C" live::Transport* rankscopeMakeMpiTransport(int process, int processes, std::string* error)
{
    try {
        return new live::MpiTransport(process, processes); // the program owns it
    } catch (const std::exception& failure) {
        *error = failure.what();
        return nullptr;
    }
}
