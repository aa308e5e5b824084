#include "app/session/view_state.h"

#include "sim/scenario/problem_list.h"
#include "sim/text/quoted.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kViewKeys{"pictures", "lens",        "axes",          "physical",  "ranks",   "rank",
                               "range_ns", "window_ns",   "marks",         "rows",      "sort",    "groups",
                               "pinned",   "turned_over", "critical_path", "cursor_ns", "classes", "detail"};
constexpr std::array<const char*, 2> kFilters{"all", "selected"};
constexpr std::array<const char*, 3> kSorts{"rank", "busy", "end"};
constexpr std::array<const char*, kRowGroupingCount> kGroupings{"automatic", "none",    "pipeline", "node",
                                                                "data",      "context", "tensor",   "blocks"};
constexpr std::array<AxisPlace, 3> kPlaces{AxisPlace::columns, AxisPlace::rows, AxisPlace::boxes};

Json rangeJson(TimeRange range)
{
    return Json::array({range.beginNs, range.endNs});
}

Json classesJson(ClassMask classes)
{
    Json out = Json::array();
    for (int c = 0; c < sim::kOpClassCount; ++c)
        if ((classes & maskOf(static_cast<sim::OpClass>(c))) != 0)
            out.push_back(sim::opClassName(static_cast<sim::OpClass>(c)));
    return out;
}

void writeTimeline(Json& out, const TimelineState& timeline)
{
    if (timeline.visible)
        out["window_ns"] = rangeJson(*timeline.visible);
    for (const TimelineMark& mark : timeline.marks) {
        Json entry{{"begin_ns", mark.range.beginNs}};
        if (!mark.isInstant())
            entry["end_ns"] = mark.range.endNs;
        if (!mark.label.empty())
            entry["label"] = mark.label;
        out["marks"].push_back(entry);
    }
    const RowWishes usual;
    if (timeline.rows.filter != usual.filter)
        out["rows"] = kFilters[static_cast<std::size_t>(timeline.rows.filter)];
    if (timeline.rows.sort != usual.sort)
        out["sort"] = kSorts[static_cast<std::size_t>(timeline.rows.sort)];
    if (timeline.rows.grouping != usual.grouping)
        out["groups"] = kGroupings[static_cast<std::size_t>(timeline.rows.grouping)];
    if (!timeline.rows.pinnedRanks.empty())
        out["pinned"] = timeline.rows.pinnedRanks;
    if (!timeline.rows.turnedOver.empty())
        out["turned_over"] = timeline.rows.turnedOver;
    if (timeline.criticalPath)
        out["critical_path"] = true;
}

/// Reads one key after the other; what is not as it should be becomes a warning.
class Reader {
public:
    Reader(const Json& view, int worldSize) : m_view(view), m_worldSize(worldSize) {}

    ReadViewState read()
    {
        ViewState& state = m_out.state;
        readNames("pictures", state.pictures);
        if (const Json* lens = find("lens"); expect("lens", lens, lens && lens->is_string(), "a lens has a name"))
            state.lens = lens->get<std::string>();
        readRanks(state);
        readRange("range_ns", state.range);
        readRange("window_ns", state.timeline.visible);
        readMarks(state.timeline.marks);
        readChoice("rows", kFilters, state.timeline.rows.filter);
        readChoice("sort", kSorts, state.timeline.rows.sort);
        readChoice("groups", kGroupings, state.timeline.rows.grouping);
        readPinned(state.timeline.rows.pinnedRanks);
        std::vector<std::string> turned;
        readNames("turned_over", turned);
        state.timeline.rows.turnedOver = {turned.begin(), turned.end()};
        readSwitch("critical_path", state.timeline.criticalPath);
        readSwitch("physical", state.arrangement.physical);
        readAxes(state.arrangement.seats);
        if (const Json* cursor = find("cursor_ns");
            expect("cursor_ns", cursor, cursor && isTime(*cursor), "a time is a whole number of nanoseconds, 0 or more"))
            state.cursorNs = cursor->get<std::int64_t>();
        readClasses(state);
        const Json* detail = find("detail");
        const bool kernels = detail && *detail == "kernels";
        expect("detail", detail, kernels || (detail && *detail == "actions"), "it is \"actions\" or \"kernels\"");
        state.kernels = kernels;
        m_out.warnings = std::move(m_warnings).take({});
        return std::move(m_out);
    }

private:
    const Json* find(const char* key) const
    {
        const auto found = m_view.find(key);
        return found == m_view.end() ? nullptr : &*found;
    }
    void warn(const std::string& pointer, const Json& value, const std::string& why)
    {
        if (m_warnings.isFull())
            return m_warnings.countOneMore(sim::Severity::warning);
        m_warnings.add({{},
                        "/view/" + pointer,
                        sim::shownText(value.dump(-1, ' ', false, Json::error_handler_t::replace)) + " is left out: " + why,
                        sim::Severity::warning});
    }
    /// Whether a value is there and good; if it is there and is not, that is told.
    bool expect(const std::string& pointer, const Json* value, bool good, const std::string& why)
    {
        if (value && !good)
            warn(pointer, *value, why);
        return value && good;
    }
    /// Thirty years to either side: sums and differences of times stay far from the end of their type.
    static bool isSignedTime(const Json& value)
    {
        constexpr std::int64_t kFurthestNs = 1'000'000'000'000'000'000;
        if (value.is_number_unsigned()) // compared as such: beyond the signed ones it would be negative
            return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kFurthestNs);
        return value.is_number_integer() && value >= -kFurthestNs && value <= kFurthestNs;
    }
    static bool isTime(const Json& value) { return isSignedTime(value) && value >= 0; }
    bool isRank(const Json& value) const { return isTime(value) && value.get<std::int64_t>() < m_worldSize; }
    std::string ranksThere() const { return "there are ranks 0 to " + std::to_string(m_worldSize - 1); }

    void readNames(const char* key, std::vector<std::string>& out)
    {
        const Json* names = find(key);
        if (!expect(key, names, names && names->is_array(), "a list of names is needed"))
            return;
        for (std::size_t i = 0; i < names->size(); ++i) {
            const Json& name = (*names)[i];
            if (expect(std::string(key) + "/" + std::to_string(i), &name, name.is_string(), "a name is needed"))
                out.push_back(name.get<std::string>());
        }
    }
    void readRanks(ViewState& state)
    {
        if (const Json* ranks = find("ranks"); expect("ranks", ranks, ranks && ranks->is_array(), "a list of ranks is needed")) {
            for (std::size_t i = 0; i < ranks->size(); ++i) {
                const Json& rank = (*ranks)[i];
                if (expect("ranks/" + std::to_string(i), &rank, isRank(rank), ranksThere()))
                    state.ranks.push_back(rank.get<int>());
            }
            std::sort(state.ranks.begin(), state.ranks.end());
            state.ranks.erase(std::unique(state.ranks.begin(), state.ranks.end()), state.ranks.end());
        }
        if (const Json* rank = find("rank"); expect("rank", rank, rank && isRank(*rank), ranksThere())) {
            state.rank = rank->get<int>();
            const auto place = std::lower_bound(state.ranks.begin(), state.ranks.end(), *state.rank);
            if (place == state.ranks.end() || *place != *state.rank)
                state.ranks.insert(place, *state.rank);
        } else if (!state.ranks.empty()) {
            state.rank = state.ranks.front();
        }
    }
    void readRange(const char* key, std::optional<TimeRange>& out)
    {
        const Json* range = find(key);
        const bool good = range && range->is_array() && range->size() == 2 && isSignedTime((*range)[0]) &&
                          isSignedTime((*range)[1]) && (*range)[0].get<std::int64_t>() < (*range)[1].get<std::int64_t>();
        if (expect(key, range, good, "a range is [begin, end] in nanoseconds, begin before end"))
            out = TimeRange{(*range)[0].get<std::int64_t>(), (*range)[1].get<std::int64_t>()};
    }
    void readSwitch(const char* key, bool& out)
    {
        if (const Json* value = find(key); expect(key, value, value && value->is_boolean(), "it is true or false"))
            out = value->get<bool>();
    }
    template <std::size_t N, typename Choice>
    void readChoice(const char* key, const std::array<const char*, N>& names, Choice& out)
    {
        const Json* value = find(key);
        std::string why = "it is one of";
        for (std::size_t i = 0; i < N; ++i) {
            why += std::string(i == 0 ? " " : ", ") + names[i];
            if (value && *value == names[i])
                return void(out = static_cast<Choice>(i));
        }
        expect(key, value, false, why);
    }
    void readPinned(std::vector<int>& out)
    {
        const Json* ranks = find("pinned");
        if (!expect("pinned", ranks, ranks && ranks->is_array(), "a list of ranks is needed"))
            return;
        for (std::size_t i = 0; i < ranks->size(); ++i) {
            const Json& rank = (*ranks)[i];
            if (expect("pinned/" + std::to_string(i), &rank, isRank(rank), ranksThere()))
                out.push_back(rank.get<int>());
        }
    }
    void readMarks(std::vector<TimelineMark>& out)
    {
        const Json* marks = find("marks");
        if (!expect("marks", marks, marks && marks->is_array(), "a list of marks is needed"))
            return;
        constexpr std::size_t kMostMarks = 1000; // far more than can be told apart; each is drawn at every frame
        if (marks->size() > kMostMarks)
            m_warnings.add({{},
                            "/view/marks",
                            "has " + std::to_string(marks->size()) + " marks; those after the first " +
                                std::to_string(kMostMarks) + " are left out",
                            sim::Severity::warning});
        for (std::size_t i = 0; i < std::min(marks->size(), kMostMarks); ++i) {
            const Json& mark = (*marks)[i];
            const auto time = [&](const char* key) {
                const auto found = mark.is_object() ? mark.find(key) : mark.end();
                return found != mark.end() && isTime(*found) ? found->get<std::int64_t>() : std::int64_t{-1};
            };
            const std::int64_t begin = time("begin_ns"), end = time("end_ns");
            if (!expect("marks/" + std::to_string(i), &mark, begin >= 0 && (end < 0 || end >= begin),
                        "a mark has begin_ns, perhaps end_ns after it, and a label"))
                continue;
            const auto label = mark.find("label");
            out.push_back({static_cast<int>(out.size()) + 1,
                           {begin, std::max(begin, end)},
                           label != mark.end() && label->is_string() ? label->get<std::string>() : std::string()});
        }
    }
    void readAxes(AxisSeats& out)
    {
        const Json* axes = find("axes");
        if (!expect("axes", axes, axes && axes->is_array(), "a list of [axis, place] is needed"))
            return;
        for (std::size_t i = 0; i < axes->size(); ++i) {
            const Json& seat = (*axes)[i];
            const bool isPair = seat.is_array() && seat.size() == 2 && seat[0].is_string();
            const auto place =
                std::find_if(kPlaces.begin(), kPlaces.end(), [&](AxisPlace p) { return isPair && seat[1] == axisPlaceName(p); });
            if (expect("axes/" + std::to_string(i), &seat, place != kPlaces.end(),
                       "an axis and its place: columns, rows or boxes"))
                out.push_back({seat[0].get<std::string>(), *place});
        }
    }
    void readClasses(ViewState& state)
    {
        std::vector<std::string> names;
        readNames("classes", names);
        if (!find("classes") || !find("classes")->is_array())
            return;
        ClassMask mask = 0;
        for (const std::string& name : names) {
            int c = 0;
            while (c < sim::kOpClassCount && name != sim::opClassName(static_cast<sim::OpClass>(c)))
                ++c;
            if (c < sim::kOpClassCount)
                mask = static_cast<ClassMask>(mask | maskOf(static_cast<sim::OpClass>(c)));
            else
                warn("classes", name, "there is no such class of ops");
        }
        if (mask != 0) // a picture of nothing was never meant
            state.classes = mask;
    }

    const Json& m_view;
    int m_worldSize;
    ReadViewState m_out;
    sim::ProblemList m_warnings;
};

} // namespace

std::string viewStateJson(const ViewState& state, std::string_view before)
{
    Json out = Json::object();
    if (!state.pictures.empty())
        out["pictures"] = state.pictures;
    if (!state.lens.empty())
        out["lens"] = state.lens;
    if (!state.ranks.empty())
        out["ranks"] = state.ranks;
    if (state.rank)
        out["rank"] = *state.rank;
    if (state.range)
        out["range_ns"] = rangeJson(*state.range);
    if (state.arrangement.physical)
        out["physical"] = true;
    for (const AxisSeat& seat : state.arrangement.seats)
        out["axes"].push_back({seat.axis, axisPlaceName(seat.place)});
    writeTimeline(out, state.timeline);
    if (state.cursorNs != 0)
        out["cursor_ns"] = state.cursorNs;
    if (state.classes != kAllClasses)
        out["classes"] = classesJson(state.classes);
    if (state.kernels)
        out["detail"] = "kernels";
    const Json old = Json::parse(before.begin(), before.end(), nullptr, false);
    if (old.is_object()) {
        for (const auto& [key, value] : old.items())
            if (std::find(kViewKeys.begin(), kViewKeys.end(), key) == kViewKeys.end())
                out[key] = value;
    }
    return out.dump();
}

ReadViewState readViewState(std::string_view json, int worldSize)
{
    const Json view = Json::parse(json.begin(), json.end(), nullptr, false);
    if (!view.is_object())
        return {{}, {{{}, "/view", "is left out: it is an object of what was on screen", sim::Severity::warning}}};
    return Reader(view, worldSize).read();
}

} // namespace app
