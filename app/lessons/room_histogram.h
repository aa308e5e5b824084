// What a room answered, vote beside vote, as bars with words; with the engine's answer once it may be seen.
#pragma once

#include "sim/lesson/room.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace app {

class RoomHistogram : public QWidget {
public:
    RoomHistogram(const sim::AskedQuestion&, const sim::RoomVotes&, bool revealed, QWidget* parent = nullptr);
    void setTextPixels(int);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    struct Line {
        QString label;
        std::vector<int> counts;
        bool isRight = false;
    };
    std::vector<Line> m_lines;
    std::vector<int> m_totals;
    bool m_revealed;
    int m_text = 14;
};

/// "17 to 20 GiB", "B", "0, 4": whose bar it is.
QString barText(const sim::AskedQuestion&, const sim::RoomBar&);

} // namespace app
