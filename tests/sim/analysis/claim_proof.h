// What a finding claims, computed again by another way than its own: from ranks and links one by one, from the schedule alone, or
// by simulating the edit.
#pragma once

#include "sim/analysis/findings/findings.h"
#include "tests/support/gallery.h"

namespace test {

/// The value of one of a finding's claims; a claim that nobody can prove is a failure of the test.
double provenAgain(const Opened&, const sim::Finding&, const sim::Claim&);

} // namespace test
