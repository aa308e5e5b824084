#include "sim/recovery/axes.h"

#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace sim {
namespace {

/// A shape of groups with what is known of its purpose.
struct Candidate {
    Partition partition;
    GroupRole role = GroupRole::unknown;
    bool isNamed = false; ///< by a description
    double sure = 0;
    std::string why;
    bool sumsActivations = false; ///< by use: sums ahead of any backward, as many and as large as layers have
    bool sums = false;            ///< by use
    /// By use, a step and rank: all-to-alls that are no exchange of heads; whether the ranks name tables of embeddings.
    double allToAlls = 0;
    bool namesTables = false;
};

constexpr std::array kSums{Exchange::allReduce, Exchange::reduceScatter, Exchange::reduce};

/// Of the losses, norms and counts that all ranks sum there are few in a forward, or they are small.
bool areSumsOfActivations(const Carried& carried)
{
    constexpr double kOfTwoLayers = 4, kSmallBytes = 65536;
    double sums = 0, bytes = 0;
    for (const Exchange exchange : kSums) {
        sums += carried.of(exchange);
        bytes += carried.bytes[static_cast<std::size_t>(exchange)];
    }
    return carried.earlyReduces >= kOfTwoLayers && bytes >= kSmallBytes * sums;
}

std::string groupsText(const Partition& partition)
{
    return std::to_string(partition.groups.size()) + (partition.groups.size() == 1 ? " group of " : " groups of ") +
           std::to_string(partition.size()) + " ranks " + std::to_string(partition.digits.front().stride) + " apart";
}

std::vector<int> divisorsOf(int number)
{
    std::vector<int> divisors;
    for (int divisor = 1; divisor * divisor <= number; ++divisor)
        if (number % divisor == 0) {
            divisors.push_back(divisor);
            if (divisor * divisor != number)
                divisors.push_back(number / divisor);
        }
    std::sort(divisors.begin(), divisors.end());
    return divisors;
}

/// Members that are known are those that were recorded: the smallest even lattice of the world around them that holds none of the
/// other recorded ranks. Nothing where there is none.
std::optional<std::vector<int>> completedMembers(const std::vector<int>& members, int world, const std::vector<bool>& isRecorded)
{
    int apart = 0;
    for (const int member : members)
        apart = std::gcd(apart, member - members.front());
    constexpr int kMostRanks = 1 << 20; // members are written out
    if (apart == 0 || world > kMostRanks || members.back() >= world)
        return std::nullopt;
    const auto recordedOf =
        std::count_if(members.begin(), members.end(), [&](int rank) { return isRecorded[static_cast<std::size_t>(rank)]; });
    const std::vector<int> strides = divisorsOf(apart);
    for (const int size : divisorsOf(world)) {
        if (size < static_cast<int>(members.size()))
            continue;
        for (auto each = strides.rbegin(); each != strides.rend(); ++each) {
            const int stride = *each;
            const std::int64_t end = static_cast<std::int64_t>(stride) * size;
            if (end > world || world % end != 0)
                continue;
            const int first = static_cast<int>(members.front() / end * end + members.front() % stride);
            const auto holds = [&](int rank) { return rank >= first && rank < first + end && (rank - first) % stride == 0; };
            if (!std::all_of(members.begin(), members.end(), holds))
                continue;
            // Of the lattice's ranks those that were recorded are the members, and no others. The first that is none ends it.
            std::ptrdiff_t known = 0;
            for (int i = 0; i < size && known <= recordedOf; ++i)
                known += isRecorded[static_cast<std::size_t>(first + i * stride)] ? 1 : 0;
            if (known != recordedOf)
                continue;
            std::vector<int> all;
            for (int i = 0; i < size; ++i)
                all.push_back(first + i * stride);
            return all;
        }
    }
    return std::nullopt;
}

std::vector<KnownGroup> completed(std::span<const KnownGroup> groups, int world, std::span<const int> recorded)
{
    std::vector<KnownGroup> whole;
    std::vector<bool> isRecorded(static_cast<std::size_t>(std::max(0, world))); // [rank]
    for (const int rank : recorded)
        if (rank >= 0 && rank < world)
            isRecorded[static_cast<std::size_t>(rank)] = true;
    for (const KnownGroup& group : groups) {
        if (!group.isPartial || group.ranks.empty()) {
            whole.push_back(group);
        } else if (auto members = completedMembers(group.ranks, world, isRecorded)) {
            whole.push_back(group);
            whole.back().ranks = std::move(*members);
        }
    }
    return whole;
}

/// Groups that a description gives a role are looked at by role: two roles may have one shape, and a role's groups must tile.
std::vector<Candidate> candidatesOf(std::span<const KnownGroup> groups, int world, std::span<const int> recorded,
                                    std::vector<std::string>& problems)
{
    std::map<GroupRole, std::vector<std::size_t>> named;
    std::vector<std::size_t> all, ofAllExperts;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const GroupRole role = roleFromDescription(groups[i].description);
        if (holdsAllExperts(groups[i].description) && groups[i].carried.of(Exchange::allToAll) > 0)
            ofAllExperts.push_back(i);
        if (role != GroupRole::ends)
            all.push_back(i);
        if (role != GroupRole::unknown && role != GroupRole::ends)
            named[role].push_back(i);
    }
    std::vector<Candidate> candidates;
    const auto add = [&](const std::vector<std::size_t>& which, GroupRole role) {
        std::vector<std::vector<int>> members;
        for (const std::size_t i : which)
            members.push_back(groups[i].ranks);
        std::vector<Partition> partitions = partitionsOf(members, recorded);
        for (Partition& partition : partitions) {
            for (std::size_t& group : partition.groups)
                group = which[group];
            Candidate candidate{.partition = std::move(partition), .role = role, .isNamed = true, .sure = 0, .why = {}};
            candidate.sure = partitions.size() == 1 ? 0.98 : 0.7;
            const KnownGroup& first = groups[candidate.partition.groups.front()];
            candidate.why = groupsText(candidate.partition) + ", called \"" + first.description + "\"";
            candidates.push_back(std::move(candidate));
        }
        if (partitions.size() > 1 && role != GroupRole::composite)
            problems.push_back("groups called \"" + groups[which.front()].description + "\" have " +
                               std::to_string(partitions.size()) + " shapes: the job may have made its grid more than once");
    };
    for (const auto& [role, which] : named)
        if (role != GroupRole::composite)
            add(which, role);
    if (!named.contains(GroupRole::expert) && !named.contains(GroupRole::expertTensor) && !ofAllExperts.empty())
        add(ofAllExperts, GroupRole::expert); // tokens go round in it, and nothing cuts an expert

    // What has no name, or none that is an axis, by shape alone.
    std::set<std::vector<Digit>> known;
    for (const Candidate& candidate : candidates)
        known.insert(candidate.partition.digits);
    std::vector<std::vector<int>> members;
    for (const std::size_t i : all)
        members.push_back(groups[i].ranks);
    for (Partition& partition : partitionsOf(members, recorded)) {
        // "dp_cp" names a shape and not its parts: where rings or attention use it, it is the context's too.
        if (known.contains(partition.digits)) {
            const bool isOnlyBoth = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
                return c.partition.digits != partition.digits || c.role == GroupRole::dataAndContext;
            });
            if (!isOnlyBoth || named.contains(GroupRole::context))
                continue;
            Carried use;
            for (const std::size_t group : partition.groups)
                use += groups[all[group]].carried;
            for (const GuessedRole& guessed : rolesFromUse(use, partition.size() < world))
                if (guessed.role == GroupRole::context) {
                    Candidate context{.partition = partition, .role = guessed.role, .sure = guessed.sure, .why = {}};
                    context.why = groupsText(partition) + ": " + guessed.why;
                    for (std::size_t& group : context.partition.groups)
                        group = all[group];
                    candidates.push_back(std::move(context));
                }
            continue;
        }
        Candidate candidate;
        bool isComposite = false;
        Carried carried;
        for (std::size_t& group : partition.groups) {
            group = all[group];
            carried += groups[group].carried;
            isComposite |= roleFromDescription(groups[group].description) == GroupRole::composite;
        }
        candidate.partition = std::move(partition);
        candidate.why = groupsText(candidate.partition);
        candidate.sums = std::any_of(kSums.begin(), kSums.end(), [&](Exchange e) { return carried.of(e) > 0; });
        const bool isPart = candidate.partition.size() < world;
        const std::vector<GuessedRole> guesses = isComposite ? std::vector<GuessedRole>() : rolesFromUse(carried, isPart);
        candidate.allToAlls = exchangesHeads(carried) ? 0 : carried.of(Exchange::allToAll);
        candidate.namesTables = carried.namedTables > 0;
        if (guesses.empty()) {
            candidate.role = isComposite ? GroupRole::composite : GroupRole::unknown;
            candidates.push_back(std::move(candidate));
            continue;
        }
        for (const GuessedRole& guessed : guesses) {
            Candidate fitting = candidate;
            fitting.role = guessed.role;
            fitting.sure = guessed.sure;
            fitting.why += ": " + guessed.why;
            fitting.sumsActivations = guessed.role == GroupRole::tensor && areSumsOfActivations(carried);
            candidates.push_back(std::move(fitting));
        }
    }
    return candidates;
}

/// Where digits begin and end, as a chain of divisors from 1 to the world.
class Cuts {
public:
    explicit Cuts(int world) : m_cuts{1, world} {}
    /// False, and nothing changes, where a digit would begin inside a factor that another one needs whole.
    bool add(const std::vector<Digit>& digits)
    {
        std::set<int> wider = m_cuts;
        for (const Digit& digit : digits) {
            wider.insert(digit.stride);
            wider.insert(digit.end());
        }
        int before = 1;
        for (const int cut : wider) {
            if (cut % before != 0)
                return false;
            before = cut;
        }
        if (*wider.rbegin() != *m_cuts.rbegin())
            return false;
        m_cuts = std::move(wider);
        return true;
    }
    std::vector<Digit> atoms() const
    {
        std::vector<Digit> atoms;
        for (auto cut = m_cuts.begin(); std::next(cut) != m_cuts.end(); ++cut)
            atoms.push_back({*cut, *std::next(cut) / *cut});
        return atoms;
    }

private:
    std::set<int> m_cuts;
};

/// The finest stride first: of the shapes that begin where the last axis ended the smallest, and so on. Gaps are axes too.
std::vector<Digit> finestStrides(const std::vector<Candidate>& candidates, int world)
{
    std::vector<Digit> axes;
    int stride = 1;
    while (stride < world) {
        std::optional<Digit> next;
        int nearest = world;
        for (const Candidate& candidate : candidates) {
            if (candidate.partition.digits.size() != 1)
                continue;
            const Digit& digit = candidate.partition.digits.front();
            const bool isWorld = digit.stride == 1 && digit.size == world;
            if (isWorld || world % digit.end() != 0)
                continue;
            if (digit.stride == stride && (!next || digit.size < next->size))
                next = digit;
            else if (digit.stride > stride && digit.stride % stride == 0)
                nearest = std::min(nearest, digit.stride);
        }
        axes.push_back(next.value_or(Digit{stride, nearest / stride}));
        stride = axes.back().end();
    }
    return axes;
}

class AxisFinder {
public:
    AxisFinder(std::vector<Candidate> candidates, int world, RecoveredAxes& result)
        : m_candidates(std::move(candidates)), m_world(world), m_result(result)
    {
    }

    /// Dense axes as the recorder names them.
    void take(std::span<const NamedAxis> axes, const std::string& evidence)
    {
        for (const NamedAxis& axis : axes) {
            const Digit digit{axis.stride, axis.size};
            if (axis.name != "ep")
                m_result.atoms.push_back(digit);
            m_result.axes.push_back({.name = axis.name,
                                     .size = axis.size,
                                     .stride = axis.stride,
                                     .parts = {digit},
                                     .evidence = evidence,
                                     .sure = 1,
                                     .partNames = {}});
        }
        std::sort(m_result.atoms.begin(), m_result.atoms.end());
        std::sort(m_result.axes.begin(), m_result.axes.end(), [](const RecoveredAxis& a, const RecoveredAxis& b) {
            return std::pair(a.name == "ep", a.stride) < std::pair(b.name == "ep", b.stride);
        });
        std::erase_if(m_candidates, [](const Candidate& c) { return !c.isNamed; });
        if (m_result.find("ep") == nullptr)
            addExperts();
    }

    void find()
    {
        if (m_world < 2)
            return;
        std::erase_if(m_candidates, [this](const Candidate& c) {
            return std::any_of(c.partition.digits.begin(), c.partition.digits.end(),
                               [this](const Digit& digit) { return m_world % digit.size != 0; });
        });
        // What a description says of a role holds; a group of the whole world, which carries sums of losses and norms, is tensor
        // parallel only where it is the one group there is, or where it sums what layers do and no smaller one does.
        const auto isNamedRole = [this](GroupRole role) {
            return std::any_of(m_candidates.begin(), m_candidates.end(),
                               [role](const Candidate& c) { return c.isNamed && c.role == role; });
        };
        const std::vector<Digit> whole{{1, m_world}};
        const bool isOnlyOne = std::all_of(m_candidates.begin(), m_candidates.end(),
                                           [&whole](const Candidate& c) { return c.partition.digits == whole; });
        const bool isSummedInside = std::any_of(m_candidates.begin(), m_candidates.end(), [&whole](const Candidate& c) {
            return c.role == GroupRole::tensor && c.partition.digits != whole;
        });
        std::erase_if(m_candidates, [&](const Candidate& c) {
            if (c.isNamed || c.role == GroupRole::unknown || c.role == GroupRole::composite)
                return false;
            return isNamedRole(c.role);
        });
        for (Candidate& c : m_candidates) {
            const bool isKept = isOnlyOne || (c.sumsActivations && !isSummedInside);
            if (!c.isNamed && c.role == GroupRole::tensor && !isKept && c.partition.digits == whole)
                c.role = GroupRole::unknown;
        }
        const bool anyRole = std::any_of(m_candidates.begin(), m_candidates.end(), [](const Candidate& c) {
            return c.role != GroupRole::unknown && c.role != GroupRole::composite;
        });
        if (!anyRole)
            findUnnamed();
        else
            findNamed();
    }

private:
    void findUnnamed();
    void findNamed();
    RecoveredAxis unnamedAxis(const Digit& atom) const;
    void addExperts();
    void addAllToAlls();
    const Candidate* best(std::initializer_list<GroupRole>, const Digit& atom) const;
    const Candidate* ofDataAcross(const Digit& atom) const;

    std::vector<Candidate> m_candidates;
    int m_world;
    RecoveredAxes& m_result;
};

void AxisFinder::findUnnamed()
{
    m_result.atoms = finestStrides(m_candidates, m_world);
    if (m_candidates.empty()) // unknownGrid() tells
        return;
    for (const Digit& atom : m_result.atoms)
        m_result.axes.push_back(unnamedAxis(atom));
    addAllToAlls();
}

/// Neither a description nor use says what for.
RecoveredAxis AxisFinder::unnamedAxis(const Digit& atom) const
{
    const auto source = std::find_if(m_candidates.begin(), m_candidates.end(),
                                     [&atom](const Candidate& c) { return c.partition.digits == std::vector<Digit>{atom}; });
    const bool isSeen = source != m_candidates.end();
    return {.name = {},
            .size = atom.size,
            .stride = atom.stride,
            .parts = {atom},
            .evidence =
                (isSeen ? source->why : "no group joins these ranks, others leave room for them") + "; nothing says what for",
            .sure = isSeen ? 0.6 : 0.3,
            .partNames = {}};
}

/// The smallest shape of one of these roles that holds the atom; what a description says before what use suggests.
const Candidate* AxisFinder::best(std::initializer_list<GroupRole> roles, const Digit& atom) const
{
    const Candidate* found = nullptr;
    for (const Candidate& candidate : m_candidates) {
        if (std::find(roles.begin(), roles.end(), candidate.role) == roles.end() || !candidate.partition.holds(atom))
            continue;
        const auto rank = [](const Candidate& c) { return std::pair(!c.isNamed, c.partition.size()); };
        if (found == nullptr || rank(candidate) < rank(*found))
            found = &candidate;
    }
    return found;
}

/// Gradients are reduced in groups that lie across the named axes (shards of dp x cp), or in wider ones. Of such the first that
/// holds the atom, if one does, and of these the first that is seen to sum.
const Candidate* AxisFinder::ofDataAcross(const Digit& atom) const
{
    const auto rank = [&atom](const Candidate& c) { return std::pair(c.partition.holds(atom), c.sums); };
    const Candidate* found = nullptr;
    for (const Candidate& candidate : m_candidates) {
        const bool isOfData = candidate.role == GroupRole::data || candidate.role == GroupRole::dataShard ||
                              candidate.role == GroupRole::dataReplicate || candidate.role == GroupRole::dataAndContext;
        const bool isWider =
            candidate.sums && candidate.partition.holds(atom) && candidate.partition.digits != std::vector<Digit>{atom};
        if ((isOfData || isWider) && (found == nullptr || rank(candidate) > rank(*found)))
            found = &candidate;
    }
    return found;
}

void AxisFinder::findNamed()
{
    // Roles that cut the dense grid, surest first; what does not fit the cuts so far lies across (experts, shards).
    constexpr std::array kOrder{GroupRole::tensor,        GroupRole::pipeline,  GroupRole::context,       GroupRole::data,
                                GroupRole::dataReplicate, GroupRole::dataShard, GroupRole::dataAndContext};
    Cuts cuts(m_world);
    for (const bool isNamed : {true, false})
        for (const GroupRole role : kOrder)
            for (const Candidate& candidate : m_candidates)
                if (candidate.role == role && candidate.isNamed == isNamed)
                    cuts.add(candidate.partition.digits);
    m_result.atoms = cuts.atoms();

    // An atom belongs to the first of these axes that has it.
    struct Labelled {
        std::string name;
        const Candidate* by = nullptr;
    };
    const bool dataIsNamed = std::any_of(m_candidates.begin(), m_candidates.end(),
                                         [](const Candidate& c) { return c.isNamed && c.role == GroupRole::data; });
    std::vector<Labelled> labels;
    for (const Digit& atom : m_result.atoms) {
        Labelled label;
        if ((label.by = best({GroupRole::tensor}, atom)) != nullptr)
            label.name = "tp";
        else if ((label.by = best({GroupRole::pipeline}, atom)) != nullptr)
            label.name = "pp";
        else if ((label.by = best({GroupRole::context}, atom)) != nullptr)
            label.name = "cp";
        else if ((label.by = best({GroupRole::data, GroupRole::dataReplicate, GroupRole::dataShard}, atom)) != nullptr)
            label.name = "dp";
        else if (!dataIsNamed && (label.by = best({GroupRole::dataAndContext}, atom)) != nullptr)
            label.name = "dp";
        labels.push_back(label);
    }
    bool hasData = std::any_of(labels.begin(), labels.end(), [](const Labelled& label) { return label.name == "dp"; });
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const Digit& atom = m_result.atoms[i];
        // Of the axes without a name it is the one that data are parallel over.
        const Candidate* const across = labels[i].by == nullptr && !hasData ? ofDataAcross(atom) : nullptr;
        if (across != nullptr) {
            const bool isOneGroup = across->partition.groups.size() == 1;
            m_result.axes.push_back(
                {.name = "dp",
                 .size = atom.size,
                 .stride = atom.stride,
                 .parts = {atom},
                 .evidence = (across->sums ? groupsText(across->partition) + (isOneGroup ? " that sums" : " sum") : across->why) +
                             "; what the named axes leave of them is data parallel",
                 .sure = 0.5,
                 .partNames = {}});
            hasData = true;
            continue;
        }
        if (labels[i].by == nullptr) {
            m_result.axes.push_back(unnamedAxis(atom));
            m_result.problems.push_back("what the " + std::to_string(atom.size) + " ranks that lie " +
                                        std::to_string(atom.stride) +
                                        " apart have to do with another is not known: where a layout is asked for they count as "
                                        "data parallel");
            continue;
        }
        const std::string &name = labels[i].name, &why = labels[i].by->why;
        const double sure = labels[i].by->sure;
        std::string part;
        if (labels[i].by->role == GroupRole::dataReplicate || labels[i].by->role == GroupRole::dataShard)
            part = groupRoleName(labels[i].by->role);
        const auto same = std::find_if(m_result.axes.begin(), m_result.axes.end(),
                                       [&name](const RecoveredAxis& axis) { return axis.name == name; });
        if (same == m_result.axes.end()) {
            m_result.axes.push_back({.name = name,
                                     .size = atom.size,
                                     .stride = atom.stride,
                                     .parts = {atom},
                                     .evidence = why,
                                     .sure = sure,
                                     .partNames = {}});
            if (!part.empty())
                m_result.axes.back().partNames.push_back(part);
            continue;
        }
        same->size *= atom.size;
        if (same->parts.back().end() == atom.stride && part.empty())
            same->parts.back().size *= atom.size;
        else
            same->parts.push_back(atom);
        same->sure = std::min(same->sure, sure);
        if (!part.empty())
            same->partNames.push_back(part);
        if (same->evidence != why)
            same->evidence += "; " + why;
    }
    addExperts();
}

void AxisFinder::addExperts()
{
    const Candidate* expert = nullptr;
    for (const Candidate& candidate : m_candidates)
        if (candidate.role == GroupRole::expert && (expert == nullptr || candidate.isNamed > expert->isNamed ||
                                                    (candidate.isNamed == expert->isNamed && candidate.sure > expert->sure)))
            expert = &candidate;
    if (expert == nullptr)
        return addAllToAlls();
    m_result.axes.push_back({.name = "ep",
                             .size = expert->partition.size(),
                             .stride = expert->partition.digits.front().stride,
                             .parts = expert->partition.digits,
                             .evidence = expert->why + "; it lies across the other axes",
                             .sure = expert->sure,
                             .partNames = {}});
}

void AxisFinder::addAllToAlls()
{
    const Candidate* most = nullptr;
    for (const Candidate& candidate : m_candidates)
        if (candidate.allToAlls > 0 && (most == nullptr || candidate.allToAlls > most->allToAlls))
            most = &candidate;
    if (most == nullptr)
        return;
    m_result.allToAlls = {.name = {},
                          .size = most->partition.size(),
                          .stride = most->partition.digits.front().stride,
                          .parts = most->partition.digits,
                          .evidence = groupsText(most->partition) + ": all-to-alls, " +
                                      numberText(most->allToAlls, Unit::number) + " a step and rank; " +
                                      (most->namesTables ? "tables of embeddings are named, and no experts"
                                                         : "nothing tells of experts, of heads or of tables"),
                          .sure = most->namesTables ? 0.8 : 0.6,
                          .partNames = {}};
}

} // namespace

const RecoveredAxis* RecoveredAxes::find(std::string_view name) const
{
    const auto found = std::find_if(axes.begin(), axes.end(), [name](const RecoveredAxis& axis) { return axis.name == name; });
    return found == axes.end() ? nullptr : &*found;
}

std::string RecoveredAxes::unknownGrid() const
{
    const bool isAnyNamed =
        std::any_of(axes.begin(), axes.end(), [](const RecoveredAxis& axis) { return !axis.name.empty() && axis.name != "ep"; });
    if (worldSize < 2 || isAnyNamed)
        return {};
    return "how the " + numberText(worldSize, Unit::count) + " ranks lie in a grid is not known, as " +
           (!axes.empty()    ? "nothing tells what their groups are for"
            : areGroupsKnown ? "the groups that are known lie in no strides"
                             : "nothing tells which of them form groups") +
           ": they stand in the order of their numbers, as if none had to do with another";
}

int RecoveredAxes::sizeOf(std::string_view name) const
{
    const RecoveredAxis* axis = find(name);
    return axis == nullptr ? 1 : axis->size;
}

int RecoveredAxes::coordinate(const RecoveredAxis& axis, int rank)
{
    int coordinate = 0, weight = 1;
    for (const Digit& part : axis.parts) {
        coordinate += rank / part.stride % part.size * weight;
        weight *= part.size;
    }
    return coordinate;
}

RecoveredAxes recoverAxes(std::span<const KnownGroup> groups, int worldSize, std::span<const int> recorded)
{
    RecoveredAxes result;
    result.worldSize = worldSize;
    result.areGroupsKnown = std::any_of(groups.begin(), groups.end(), [worldSize](const KnownGroup& group) {
        return group.ranks.size() > 1 && std::ssize(group.ranks) < worldSize;
    });
    std::vector<KnownGroup> whole;
    const bool anyPartial = std::any_of(groups.begin(), groups.end(), [](const KnownGroup& group) { return group.isPartial; });
    if (anyPartial) {
        whole = completed(groups, worldSize, recorded);
        groups = whole;
    }
    AxisFinder(candidatesOf(groups, worldSize, recorded, result.problems), worldSize, result).find();
    if (anyPartial)
        for (RecoveredAxis& axis : result.axes) {
            axis.sure /= 2;
            axis.evidence += "; " + std::to_string(recorded.size()) + " of " + std::to_string(worldSize) +
                             " ranks are recorded, and what the others belong to is not seen";
        }
    return result;
}

RecoveredAxes recoverAxes(std::span<const KnownGroup> groups, int worldSize, std::span<const int> recorded,
                          std::span<const NamedAxis> named, const std::string& evidence)
{
    if (named.empty())
        return recoverAxes(groups, worldSize, recorded);
    RecoveredAxes result;
    result.worldSize = worldSize;
    std::vector<std::string> ofOtherAxes;
    AxisFinder(candidatesOf(groups, worldSize, recorded, ofOtherAxes), worldSize, result).take(named, evidence);
    return result;
}

} // namespace sim
