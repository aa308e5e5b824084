#include "app/step/grid_arrangement.h"

#include <algorithm>

namespace app {
namespace {

auto seatOf(AxisSeats& seats, const std::string& axis)
{
    return std::find_if(seats.begin(), seats.end(), [&](const AxisSeat& s) { return s.axis == axis; });
}

} // namespace

const char* axisPlaceName(AxisPlace place)
{
    switch (place) {
    case AxisPlace::columns:
        return "columns";
    case AxisPlace::rows:
        return "rows";
    case AxisPlace::boxes:
        return "boxes";
    }
    return "";
}

AxisSeats inNextPlace(AxisSeats seats, const std::string& axis)
{
    const auto seat = seatOf(seats, axis);
    if (seat == seats.end())
        return seats;
    AxisSeat moved = *seat;
    seats.erase(seat);
    moved.place = moved.place == AxisPlace::columns ? AxisPlace::rows
                  : moved.place == AxisPlace::rows  ? AxisPlace::boxes
                                                    : AxisPlace::columns;
    seats.push_back(std::move(moved));
    return seats;
}

AxisSeats oneOutwards(AxisSeats seats, const std::string& axis)
{
    const auto seat = seatOf(seats, axis);
    if (seat == seats.end())
        return seats;
    const AxisPlace place = seat->place;
    const auto next = std::find_if(seat + 1, seats.end(), [&](const AxisSeat& s) { return s.place == place; });
    if (next != seats.end()) {
        std::iter_swap(seat, next);
        return seats;
    }
    std::rotate(seats.begin(), seat, seat + 1); // before all others is inside all others
    return seats;
}

AxisSeats movedTo(AxisSeats seats, const std::string& axis, AxisPlace place, int inside)
{
    const auto seat = seatOf(seats, axis);
    if (seat == seats.end())
        return seats;
    seats.erase(seat);
    auto at = seats.begin();
    for (; at != seats.end() && inside > 0; ++at)
        inside -= at->place == place ? 1 : 0;
    seats.insert(at, {axis, place});
    return seats;
}

AxisSeats fitted(AxisSeats seats, const sim::Mesh& mesh)
{
    if (seats.empty())
        return seats; // automatic stays automatic
    const sim::RankGrid& grid = mesh.dense();
    const auto isGone = [&](const AxisSeat& seat) {
        const int axis = grid.axisIndex(seat.axis);
        return axis < 0 || grid.axis(axis).size == 1;
    };
    seats.erase(std::remove_if(seats.begin(), seats.end(), isGone), seats.end());
    for (int a = 0; a < grid.axisCount(); ++a)
        if (grid.axis(a).size > 1 && seatOf(seats, grid.axis(a).name) == seats.end())
            seats.push_back({grid.axis(a).name, AxisPlace::boxes});
    return seats;
}

} // namespace app
