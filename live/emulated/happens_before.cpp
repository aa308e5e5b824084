#include "live/emulated/happens_before.h"

#include <algorithm>

namespace live::emulated {

void Clock::set(std::uint32_t timeline, std::uint32_t tick)
{
    if (timeline >= m_ticks.size())
        m_ticks.resize(timeline + 1, 0);
    m_ticks[timeline] = tick;
}

bool Clock::join(const Clock& other)
{
    if (m_ticks.size() < other.m_ticks.size())
        m_ticks.resize(other.m_ticks.size(), 0);
    bool learnt = false;
    for (std::size_t i = 0; i < other.m_ticks.size(); ++i) {
        learnt = learnt || other.m_ticks[i] > m_ticks[i];
        m_ticks[i] = std::max(m_ticks[i], other.m_ticks[i]);
    }
    return learnt;
}

/// The first cell at or after `at`, with none reaching over it.
Shadow::Cells::iterator Shadow::cut(std::size_t at)
{
    auto next = m_cells.lower_bound(at);
    if (next == m_cells.begin() || (next != m_cells.end() && next->first == at))
        return next;
    const auto before = std::prev(next);
    if (before->second.end <= at)
        return next;
    Cell rest = before->second;
    before->second.end = at;
    return m_cells.emplace_hint(next, at, std::move(rest));
}

std::optional<Shadow::Conflict> Shadow::touch(std::size_t first, std::size_t end, bool writes, const Epoch& self,
                                              const Clock& clock)
{
    if (first >= end)
        return {};
    cut(end);
    auto cell = cut(first);
    std::size_t place = first; // up to here all bytes have cells
    while (cell != m_cells.end() && cell->first < end) {
        Cell& known = cell->second;
        const auto conflict = [&](const Epoch& other, bool otherWrites) {
            return Conflict{other, otherWrites, cell->first, known.end - 1};
        };
        if (!known.write.isBefore(clock))
            return conflict(known.write, true);
        if (writes) {
            for (const Epoch& read : known.reads)
                if (!read.isBefore(clock))
                    return conflict(read, false);
            cell = m_cells.erase(cell);
            continue;
        }
        if (place < cell->first)
            m_cells.emplace_hint(cell, place, Cell{cell->first, {}, {self}});
        place = known.end;
        const auto mine = std::find_if(known.reads.begin(), known.reads.end(),
                                       [&](const Epoch& read) { return read.timeline == self.timeline; });
        if (mine == known.reads.end())
            known.reads.push_back(self);
        else
            *mine = self;
        ++cell;
    }
    if (writes)
        m_cells.emplace_hint(cell, first, Cell{end, self, {}});
    else if (place < end)
        m_cells.emplace_hint(cell, place, Cell{end, {}, {self}});
    return {};
}

} // namespace live::emulated
