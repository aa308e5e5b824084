// What a smallest change is, as a person is told it.
#include "sim/planner/least_change.h"

#include "sim/memory_limit.h"
#include "sim/text/beside_limit.h"
#include "sim/text/number_text.h"

#include <cmath>

namespace sim {
namespace {

BesideLimit gibBeside(double needGib, double limitGib)
{
    return {needGib * kBytesPerGib, limitGib * kBytesPerGib, Unit::bytes};
}

} // namespace

std::string LeastChange::text() const
{
    const BesideLimit gpu = gibBeside(peakBeforeGib, capacityGib), host = gibBeside(hostBeforeGib, hostCapacityGib);
    if (fitsAlready)
        return "It fits as it is: the fullest GPU holds " + gpu.need() + " of " + gpu.limit();
    if (!found())
        return (overfillsHost ? "What is offloaded would take " + host.need() + " of the " + host.limit() + " of a node's host"
                              : "The fullest GPU would hold " + gpu.need() + " of " + gpu.limit()) +
               ", and no change of " + searched +
               (proved ? " or of the number of GPUs that was tried makes it fit" : " that was tried makes it fit");
    const double more = stepSeconds / stepBeforeSeconds - 1;
    const std::string tight = tightText(peakGib, capacityGib - peakGib);
    std::string text = edit.text + ": then the fullest GPU holds " + gpu.text(peakGib * kBytesPerGib) + " of " + gpu.limit() +
                       " instead of " + gpu.need() + (tight.empty() ? "" : " (" + tight + ")") +
                       (overfillsHost ? ", what is offloaded takes " + host.text(hostGib * kBytesPerGib) + " of the " +
                                            host.limit() + " of a node's host instead of " + host.need()
                                      : std::string()) +
                       ", and a step takes " + numberText(stepSeconds, Unit::seconds) + ", " +
                       (std::abs(more) < 0.0005 ? std::string("as long as")
                                                : percentText(std::abs(more)) + (more > 0 ? " more than" : " less than")) +
                       " the " + numberText(stepBeforeSeconds, Unit::seconds) + " it would take if it fitted";
    if (!keepsGpus())
        text += "; on " + countedText(gpusBefore, "GPU") + " nothing of " + searched + " is enough";
    return text;
}

std::string LeastChange::proofText() const
{
    const std::string beside =
        "beside no other setting" + (triesBesideOffload ? " than " + besideOffload + ", one at a time" : "");
    return std::string(!proved      ? "Not proved"
                       : keepsSplit ? "No fewer settings are enough, and of as many that leave the split as it is none are faster"
                                    : "No fewer settings are enough, and of as many none are faster") +
           ", of " + searched + " (" + countedText(setsTried, "set") + " of them tried" +
           (triesModules ? "; of recomputation none, full, or its usual modules, and alone each one or two modules" : "") +
           (!triesOffload   ? std::string()
            : offloadsParts ? "; the optimizer's share on the host in twentieths, " + beside
                            : "; all of the optimizer on the host, " + beside) +
           "). Types of gradients and moments, which change the arithmetic, and all else were not tried";
}

} // namespace sim
