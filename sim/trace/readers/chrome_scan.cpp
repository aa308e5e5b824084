#include "sim/trace/readers/chrome_event.h"
#include "sim/trace/readers/chrome_members.h"

namespace sim {
namespace {

/// By length first: hardly a comparison is left, of millions of events.
std::string_view* memberOf(ChromeEvent& event, std::string_view key)
{
    switch (key.size()) {
    case 2:
        return is(key, "ph") ? &event.ph : is(key, "ts") ? &event.ts : is(key, "id") ? &event.id : nullptr;
    case 3:
        return is(key, "pid")   ? &event.pid
               : is(key, "tid") ? &event.tid
               : is(key, "dur") ? &event.dur
               : is(key, "cat") ? &event.cat
                                : nullptr;
    case 4:
        return is(key, "name") ? &event.name : is(key, "args") ? &event.args : nullptr;
    default:
        return nullptr;
    }
}

} // namespace

Scan scanEvent(const char*& at, const char* end, ChromeEvent& event, Quotes quotes)
{
    const char* place = at + 1;
    for (;;) {
        skipSpace(place, end);
        if (place >= end)
            return Scan::more;
        if (*place == '}') {
            at = place + 1;
            return Scan::done;
        }
        if (*place == ',') {
            ++place;
            continue;
        }
        if (*place != '"')
            return Scan::bad;
        ++place;
        std::string_view key, value;
        if (const Scan result = scanString(place, end, key, quotes); result != Scan::done)
            return result;
        skipSpace(place, end);
        if (place >= end)
            return Scan::more;
        if (*place != ':')
            return Scan::bad;
        ++place;
        skipSpace(place, end);
        if (const Scan result = scanValue(place, end, value, quotes); result != Scan::done)
            return result;
        const char* after = place;
        skipSpace(after, end);
        if (after >= end)
            return Scan::more;
        if (*after != ',' && *after != '}')
            return Scan::bad;
        if (std::string_view* const member = memberOf(event, key))
            *member = value;
    }
}

} // namespace sim
