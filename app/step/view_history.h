// Where a view has been: back and forward, as in a browser. Moves that follow each other without a break are one place.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace app {

template <typename Place>
class ViewHistory {
public:
    /// Call before a view leaves a place. `continued`: in the middle of a move whose beginning was told already.
    void leave(const Place& place, bool continued)
    {
        if (continued && m_moving)
            return;
        m_moving = continued;
        m_forward.clear();
        m_back.push_back(place);
        if (m_back.size() > kMost)
            m_back.erase(m_back.begin());
    }
    /// The move has ended: the next one is another.
    void rest() { m_moving = false; }
    std::optional<Place> back(const Place& now) { return go(now, m_back, m_forward); }
    std::optional<Place> forward(const Place& now) { return go(now, m_forward, m_back); }
    void forget()
    {
        m_back.clear();
        m_forward.clear();
        m_moving = false;
    }

private:
    std::optional<Place> go(const Place& now, std::vector<Place>& from, std::vector<Place>& to)
    {
        m_moving = false;
        while (!from.empty()) {
            Place place = std::move(from.back());
            from.pop_back();
            if (place == now)
                continue;
            to.push_back(now);
            return place;
        }
        return std::nullopt;
    }

    static constexpr std::size_t kMost = 100;
    std::vector<Place> m_back, m_forward;
    bool m_moving = false;
};

} // namespace app
