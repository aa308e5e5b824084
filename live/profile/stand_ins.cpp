#include "live/profile/stand_ins.h"

#include "live/kernels/normal.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

namespace live {
namespace {

using sim::asIndex;

constexpr std::size_t kMadeUpNumbers = std::size_t{1} << 16U; ///< numbers that activations are made of, over and over
constexpr double kMadeUpDeviation = 0.02;
/// Pieces of memory are taken in turn, as many as are together more than a core's own cache and no more: where they would fill
/// others too, transfers took longer than among ranks.
constexpr std::size_t kMostPieces = 32, kFewestPieces = 2, kBytesOfAll = std::size_t{4} << 20U;

/// The bytes of `from`, again and again.
void fillWith(const Tensor& to, const Tensor& from)
{
    const auto all = static_cast<std::size_t>(to.bytes()), piece = static_cast<std::size_t>(from.bytes());
    for (std::size_t done = 0; piece > 0 && done < all; done += piece)
        std::memcpy(to.as<std::byte>() + done, from.data, std::min(piece, all - done));
}

/// Rows that `from` sends to `to` in an all-to-all of which one member's are known: others send to those as far behind them as
/// many as it does. A ring stays a ring.
std::int64_t rowsBetween(const CommRequest& known, int from, int to)
{
    const int size = known.group->size();
    if (from == known.member)
        return known.sendRows[asIndex(to)];
    if (to == known.member)
        return known.receiveRows[asIndex(from)];
    return known.sendRows[asIndex((known.member + to - from + size) % size)];
}

/// Whether these are a rank's numbers of tokens for each expert.
bool tellsCounts(const CommRequest& request)
{
    return std::string_view(request.what).ends_with("moe.counts");
}

/// Whether they must fit what the rank has: numbers of something, parts of a loss, of which logarithms are taken.
bool tellsNumbers(const CommRequest& request)
{
    const DType type = request.input.type;
    constexpr std::int64_t kSmallBytes = 1 << 12;
    return (type != DType::f32 && type != DType::bf16) || request.input.bytes() < kSmallBytes || request.what.starts_with("loss");
}

/// How many tokens a rank has for each expert, as another member says it: its own, dealt to other ranks' experts in turn.
void dealCounts(const Tensor& counts, int by, int members)
{
    auto* const first = counts.as<std::int64_t>();
    const std::int64_t experts = counts.elements();
    const std::int64_t further = ((by * experts / members) % experts + experts) % experts; // several may share an expert's rank
    std::rotate(first, first + (experts - further) % experts, first + experts);
}

} // namespace

StandInCommunicator::StandInCommunicator(WorkerPool& pool) : m_pool(pool), m_local(makeLocalCommunicator(pool))
{
    m_doubles.resize(kMadeUpNumbers);
    normalDeviates(1, 0, 0, m_doubles);
    for (double& value : m_doubles) {
        value *= kMadeUpDeviation;
        m_singles.push_back(static_cast<float>(value));
    }
}

/// What activations that nobody has computed are made of, over and over; nothing where they are neither single nor double.
Tensor StandInCommunicator::madeUp(DType type) const
{
    const auto row = [&](const void* data) {
        return Tensor{.data = const_cast<void*>(data), // only read
                      .type = type,
                      .rows = 1,
                      .columns = static_cast<std::int64_t>(kMadeUpNumbers),
                      .stride = static_cast<std::int64_t>(kMadeUpNumbers)};
    };
    return type == DType::f32 ? row(m_singles.data()) : type == DType::f64 ? row(m_doubles.data()) : Tensor{};
}

StandInCommunicator::OwnGroup& StandInCommunicator::ownGroup(const CommRequest& request)
{
    const int rank = request.group->ranks[asIndex(request.member)];
    const auto [place, isNew] = m_groups.try_emplace({rank, request.group->id});
    if (isNew) {
        place->second.group = *request.group;
        place->second.group.id = static_cast<int>(m_groups.size());
        place->second.memory.resize(request.group->ranks.size());
    }
    return place->second;
}

/// `rows` rows as `like` has them. Others' activations do not lie in this core's cache, so that they are not written just before
/// they are read, but when the memory is taken, or half a turn of the pieces ago.
Tensor StandInCommunicator::tensorOf(Pool& pool, Use use, const Tensor& like, std::int64_t rows, int members) const
{
    Tensor tensor{.data = nullptr, .type = like.type, .rows = rows, .columns = like.columns, .stride = like.columns};
    const std::size_t bytes = static_cast<std::size_t>(tensor.bytes() * members);
    const std::size_t pieces = std::clamp(kBytesOfAll / std::max<std::size_t>(1, bytes), kFewestPieces, kMostPieces);
    pool.pieces.resize(kMostPieces);
    Buffer& buffer = pool.pieces[pool.next++ % pieces];
    if (buffer.bytes.size() < static_cast<std::size_t>(tensor.bytes()) || buffer.type != like.type) {
        buffer.bytes.assign(static_cast<std::size_t>(tensor.bytes()), std::byte{0});
        buffer.type = like.type;
        makeUp(buffer);
    }
    tensor.data = buffer.bytes.data();
    if (use == Use::mirrored)
        fillWith(tensor, like);
    else if (use == Use::summed)
        makeUp(pool.pieces[(pool.next + pieces / 2) % pieces]);
    return tensor;
}

void StandInCommunicator::makeUp(Buffer& buffer) const
{
    const Tensor row = madeUp(buffer.type);
    if (row)
        fillWith({.data = buffer.bytes.data(),
                  .type = buffer.type,
                  .rows = 1,
                  .columns = static_cast<std::int64_t>(buffer.bytes.size()) / bytesOf(buffer.type)},
                 row);
}

/// What a member that is not there would issue.
CommRequest StandInCommunicator::standIn(OwnGroup& own, const CommRequest& known, int member) const
{
    CommRequest made = known;
    made.group = &own.group;
    made.member = member;
    const auto tensor = [&](Use use, const Tensor& like, std::int64_t rows) {
        return tensorOf(own.memory[asIndex(member)][static_cast<std::size_t>(use)], use, like, rows, known.group->size());
    };
    const Use given = tellsNumbers(known) ? Use::mirrored : Use::given;
    switch (known.kind) {
    case CommKind::send:
        made.kind = CommKind::receive;
        made.peer = known.member;
        made.output = tensor(Use::written, known.input, known.input.rows);
        made.input = {};
        return made;
    case CommKind::receive:
        made.kind = CommKind::send;
        made.peer = known.member;
        made.input = tensor(Use::given, known.output, known.output.rows);
        made.output = {};
        return made;
    case CommKind::allToAll: {
        const int size = known.group->size();
        for (int other = 0; other < size; ++other) {
            made.sendRows[asIndex(other)] = rowsBetween(known, member, other);
            made.receiveRows[asIndex(other)] = rowsBetween(known, other, member);
        }
        const auto sum = [](const std::vector<std::int64_t>& rows) {
            return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
        };
        made.input = tensor(given, known.input, sum(made.sendRows));
        made.output = tensor(Use::written, known.output, sum(made.receiveRows));
        return made;
    }
    case CommKind::broadcast:
        made.output = tensor(Use::written, known.output, known.output.rows);
        made.input = member == 0 ? tensor(Use::mirrored, known.output, known.output.rows) : Tensor{};
        return made;
    case CommKind::barrier:
        return made;
    default:
        break;
    }
    const bool isInPlace = known.kind == CommKind::allReduce && known.output.data == known.input.data; // a gathering's is a part
    const Use input = given == Use::given && isInPlace ? Use::summed : given;
    made.input = tensor(input, known.input, known.input.rows);
    made.output = isInPlace ? made.input : tensor(Use::written, known.output, known.output.rows);
    if (tellsCounts(known))
        dealCounts(made.input, member - known.member, known.group->size());
    return made;
}

void StandInCommunicator::issue(const CommRequest& request, Completion& completion)
{
    OwnGroup& own = ownGroup(request);
    membersOf[static_cast<std::uint64_t>(request.sequence) + 1] = request.group->size();
    if (tellsCounts(request)) {
        const auto* const first = request.input.as<std::int64_t>();
        routings.emplace_back(first, first + request.input.elements());
    }
    std::deque<CommRequest> requests; // each stays where it is
    std::deque<Completion> completions;
    for (int member = 0; member < request.group->size(); ++member)
        if (member != request.member)
            m_local->issue(requests.emplace_back(standIn(own, request, member)), completions.emplace_back());
    CommRequest mine = request;
    mine.group = &own.group;
    Completion done; // by when issue returns: the last member carries it out
    m_local->issue(mine, done);
    completion.issuedNs = done.issuedNs;
    completion.readyNs = done.readyNs;
    completion.doneNs = done.doneNs;
    completion.cpuNs = done.cpuNs;
    try {
        done.await_resume();
    } catch (...) {
        completion.fail(m_pool, std::current_exception());
        return;
    }
    m_due.push_back(&completion);
}

bool StandInCommunicator::poll()
{
    if (m_due.empty())
        return false;
    Completion& next = *m_due.front();
    m_due.pop_front();
    next.finish(m_pool);
    return true;
}

void StandInCommunicator::abort(const std::string& why)
{
    for (Completion* const pending : std::exchange(m_due, {}))
        pending->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
    m_local->abort(why);
}

} // namespace live
