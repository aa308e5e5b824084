#include "sim/recovery/kernel_shapes.h"

#include "sim/cancel.h"
#include "sim/recovery/rank_numbers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace sim {
namespace {

using Dims = std::vector<std::vector<std::int64_t>>;

/// In lower case, of letters and digits; "A100-SXM4-80GB" is a100, sxm4, 80gb.
std::vector<std::string> tokensOf(const std::string& name)
{
    std::vector<std::string> tokens(1);
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            tokens.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!tokens.back().empty())
            tokens.emplace_back();
    }
    if (tokens.back().empty())
        tokens.pop_back();
    return tokens;
}

bool has(const std::vector<std::string>& tokens, const std::string& word)
{
    return std::find(tokens.begin(), tokens.end(), word) != tokens.end();
}

const char* precisionOf(const std::string& dtype, bool isTf32)
{
    constexpr std::array<std::pair<const char*, const char*>, 10> kKnown{{{"c10::BFloat16", "bf16"},
                                                                          {"BFloat16", "bf16"},
                                                                          {"c10::Half", "fp16"},
                                                                          {"Half", "fp16"},
                                                                          {"c10::Float8_e4m3fn", "fp8"},
                                                                          {"c10::Float8_e5m2", "fp8"},
                                                                          {"Float8_e4m3fn", "fp8"},
                                                                          {"Float8_e5m2", "fp8"},
                                                                          {"float", "fp32"},
                                                                          {"Float", "fp32"}}};
    for (const auto& [name, precision] : kKnown)
        if (dtype == name)
            return isTf32 && std::string_view(precision) == "fp32" ? "tf32" : precision;
    return nullptr;
}

/// Two matrices of one batch; false where they are none.
bool isProduct(const Dims& dims, std::size_t first, bool isBatched, ShapedWork& work)
{
    if (dims.size() < first + 2)
        return false;
    const std::vector<std::int64_t>&a = dims[first], &b = dims[first + 1];
    const std::size_t rank = isBatched ? 3 : 2;
    if (a.size() != rank || b.size() != rank || a.back() != b[rank - 2] || (isBatched && a.front() != b.front()))
        return false;
    work.batch = isBatched ? a.front() : 1;
    work.m = a[rank - 2];
    work.k = a.back();
    work.n = b.back();
    if (work.batch <= 0 || work.m <= 0 || work.k <= 0 || work.n <= 0)
        return false;
    work.flops = 2.0 * static_cast<double>(work.batch) * static_cast<double>(work.m) * static_cast<double>(work.n) *
                 static_cast<double>(work.k);
    work.shape = (isBatched ? std::to_string(work.batch) + " × " : std::string()) + "m " + std::to_string(work.m) + " n " +
                 std::to_string(work.n) + " k " + std::to_string(work.k);
    return true;
}

/// Queries and keys as [batch, heads, length, width].
bool isAttention(const Dims& dims, bool isBackward, ShapedWork& work)
{
    const std::size_t first = isBackward ? 1 : 0; // a backward has the gradient before them
    if (dims.size() < first + 3)
        return false;
    const std::vector<std::int64_t>&q = dims[first], &k = dims[first + 1];
    const auto isPositive = [](std::int64_t size) { return size > 0; };
    if (q.size() != 4 || k.size() != 4 || !std::all_of(q.begin(), q.end(), isPositive) ||
        !std::all_of(k.begin(), k.end(), isPositive) || q[0] != k[0] || q[3] != k[3])
        return false;
    // Scores and their product with values; backward five products for the forward's two.
    const double products = isBackward ? 5 : 2;
    work.flops = 2 * products * static_cast<double>(q[0]) * static_cast<double>(q[1]) * static_cast<double>(q[2]) *
                 static_cast<double>(k[2]) * static_cast<double>(q[3]);
    work.shape = "batch " + std::to_string(q[0]) + ", " + std::to_string(q[1]) + " heads, " + std::to_string(q[2]) + " × " +
                 std::to_string(k[2]) + ", " + std::to_string(q[3]) + " wide";
    return true;
}

/// False where the inputs are not those of the operator.
bool describe(const RecordedShape& shape, ShapedWork& work)
{
    work.op = shape.op;
    work.dtype = shape.dtype;
    if (shape.op == "aten::mm" || shape.op == "aten::_scaled_mm")
        return isProduct(shape.dims, 0, false, work);
    if (shape.op == "aten::addmm")
        return isProduct(shape.dims, 1, false, work);
    if (shape.op == "aten::bmm")
        return isProduct(shape.dims, 0, true, work);
    if (shape.op == "aten::baddbmm")
        return isProduct(shape.dims, 1, true, work);
    return isAttention(shape.dims, shape.op.ends_with("_backward"), work);
}

/// What a shape came to, before kernels' names are sorted.
struct Counted {
    ShapedWork work;
    std::unordered_map<std::uint32_t, std::int64_t> nsOfName;
    std::set<std::uint64_t> calls; ///< rank and span
};

/// Of each launch the innermost operator with a shape around it: a place in `shapeOf`, kNoSpan where there is none.
std::unordered_map<std::uint32_t, std::uint32_t> operatorsOfLaunches(const RankRecording& rank)
{
    std::unordered_map<std::uint32_t, std::uint32_t> found;
    const RecordedSpans& spans = rank.spans;
    std::vector<std::uint32_t> open; // places in shapeOf
    for (const RecordedTrack& track : rank.tracks) {
        if (track.isDevice)
            continue;
        open.clear();
        auto next = std::lower_bound(rank.shapeOf.begin(), rank.shapeOf.end(), std::pair(track.first, 0U));
        for (std::uint32_t span = track.first; span < track.last; ++span) {
            while (!open.empty() && spans.endNs(rank.shapeOf[open.back()].first) < spans.startNs[span])
                open.pop_back();
            if (next != rank.shapeOf.end() && next->first == span) {
                open.push_back(static_cast<std::uint32_t>(next - rank.shapeOf.begin()));
                ++next;
            } else if (spans.kind[span] == RecordedKind::runtime && !open.empty()) {
                found.emplace(span, open.back());
            }
        }
    }
    return found;
}

} // namespace

std::string gpuOfDeviceName(const Catalogue& catalogue, const std::string& deviceName)
{
    const std::vector<std::string> device = tokensOf(deviceName);
    std::string best;
    int most = 0;
    for (const Catalogue::Entry& gpu : catalogue.gpus()) {
        const std::vector<std::string> tokens = tokensOf(gpu.name);
        if (tokens.empty())
            continue;
        const bool isGeForce = tokens.size() > 2 && tokens.front() == "geforce";
        if (!has(device, isGeForce ? tokens[2] : tokens.front()))
            continue;
        const auto isOn = [](const std::vector<std::string>& of, const char* word) {
            return std::any_of(of.begin(), of.end(), [word](const std::string& token) { return token.starts_with(word); });
        };
        // Boards of a chip that run it otherwise than its others: of those that the catalogue lacks no peak is known.
        constexpr std::array<const char*, 6> kBoards{"nvl", "laptop", "ti", "super", "max", "d"};
        if (isOn(device, "pcie") != isOn(tokens, "pcie") || tokens.front() == "laptop" ||
            std::any_of(kBoards.begin(), kBoards.end(),
                        [&](const char* board) { return has(device, board) != has(tokens, board); }))
            continue;
        int score = 1;
        for (std::size_t i = 1; i + 1 < tokens.size(); ++i) // "80 GB" is one word of a driver's
            score += tokens[i + 1] == "gb" && has(device, tokens[i] + "gb") ? 4 : 0;
        for (const std::string& token : tokens)
            score += has(device, token) ? 1 : 0;
        if (score > most) {
            most = score;
            best = gpu.id;
        }
    }
    return best;
}

std::vector<ShapedWork> shapedWork(const Recording& recording, const Recovered& recovered, const Catalogue* catalogue)
{
    std::vector<ShapedWork> all;
    const auto window = recovered.typicalStep();
    if (window.empty() || recording.shapes.empty())
        return all;
    std::vector<std::optional<ShapedWork>> known;
    for (const RecordedShape& shape : recording.shapes) {
        ShapedWork work;
        known.push_back(describe(shape, work) ? std::optional(work) : std::nullopt);
    }
    std::map<std::string, std::string> gpus; // of devices' names
    std::map<std::tuple<std::string, std::string, std::string, std::string>, Counted> counted;
    const RankNumbers numbers = numbersOf(recording);
    for (std::size_t place = 0; place < recording.ranks.size(); ++place) {
        checkCancelled();
        const RankRecording& rank = recording.ranks[place];
        const auto at = std::find_if(recovered.evidence.ranks.begin(), recovered.evidence.ranks.end(),
                                     [&](const RankEvidence& of) { return of.rank == numbers.ofRank[place]; });
        if (at == recovered.evidence.ranks.end() || rank.shapeOf.empty())
            continue;
        const auto r = static_cast<std::size_t>(at - recovered.evidence.ranks.begin());
        const auto operators = operatorsOfLaunches(rank);
        std::string gpu;
        if (catalogue != nullptr && !rank.deviceName.empty()) {
            const auto [name, isNew] = gpus.try_emplace(rank.deviceName);
            if (isNew)
                name->second = gpuOfDeviceName(*catalogue, rank.deviceName);
            gpu = name->second;
        }
        for (const RecordedLink& link : rank.links) {
            if (link.kind != RecordedLink::Kind::launch || rank.spans.kind[link.to] != RecordedKind::kernel)
                continue;
            const auto of = operators.find(link.from);
            if (of == operators.end())
                continue;
            const auto& [span, shape] = rank.shapeOf[of->second];
            const std::int64_t raw = rank.spans.startNs[link.to];
            const std::int64_t start = recovered.clock.isAligned ? recovered.clock.aligned(r, raw) : raw;
            if (!known[shape] || start < window[r].first || start >= window[r].second)
                continue;
            Counted& one = counted[{known[shape]->op, known[shape]->dtype, known[shape]->shape, gpu}];
            if (one.work.op.empty())
                one.work = *known[shape];
            one.work.gpu = gpu;
            const std::int64_t ns = rank.spans.durationNs[link.to];
            one.work.totalNs += ns;
            ++one.work.kernels;
            one.nsOfName[rank.spans.name[link.to]] += ns;
            one.calls.insert((static_cast<std::uint64_t>(r) << 32U) | span);
        }
    }
    for (auto& [key, one] : counted) {
        ShapedWork& work = one.work;
        work.calls = one.calls.size();
        std::vector<std::pair<std::int64_t, std::uint32_t>> names;
        bool isTf32 = false;
        for (const auto& [name, ns] : one.nsOfName) {
            names.emplace_back(-ns, name);
            for (const char* word : {"tf32", "tensorop_s1688"}) // CUTLASS's name of the instruction that takes floats as TF32
                isTf32 = isTf32 || recording.names[name].find(word) != std::string::npos;
        }
        std::sort(names.begin(), names.end());
        constexpr std::size_t kMostNames = 3;
        for (std::size_t i = 0; i < std::min(kMostNames, names.size()); ++i)
            work.kernelNames.push_back(recording.names[names[i].second]);
        const char* precision = precisionOf(work.dtype, isTf32);
        if (!work.gpu.empty() && precision != nullptr)
            if (const nlohmann::ordered_json* gpu = catalogue->gpuJson(work.gpu))
                if (const auto peaks = gpu->find("peak_tflops"); peaks != gpu->end() && peaks->contains(precision)) {
                    constexpr double kTera = 1e12;
                    work.peakFlops = (*peaks)[precision].get<double>() * kTera;
                    if (work.flopsPerSecond() > *work.peakFlops) // then it ran in another precision, which no name told
                        work.peakFlops.reset();
                }
        all.push_back(std::move(work));
    }
    std::sort(all.begin(), all.end(), [](const ShapedWork& a, const ShapedWork& b) {
        return a.totalNs != b.totalNs ? a.totalNs > b.totalNs : std::tie(a.op, a.shape) < std::tie(b.op, b.shape);
    });
    return all;
}

} // namespace sim
