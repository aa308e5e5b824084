#include "sim/text/duration_text.h"

#include "sim/text/number_text.h"

#include <array>
#include <cmath>

namespace sim {

std::string durationText(double seconds)
{
    struct Span {
        double seconds;
        const char* name;
    };
    static constexpr std::array<Span, 3> kSpans{{{86400, " days"}, {3600, " h"}, {60, " min"}}};
    if (!std::isfinite(seconds))
        return "forever";
    for (const Span& span : kSpans)
        if (seconds >= 2 * span.seconds)
            return numberText(seconds / span.seconds, Unit::number) + span.name;
    return numberText(seconds, Unit::seconds);
}

} // namespace sim
