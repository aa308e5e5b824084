// Plays the step: to the begin, play or pause, where the time cursor is, how fast, over and over. Shows a Playback and steers it.
#pragma once

#include "app/session/playback.h"
#include "app/views/common/theme.h"

#include <QFrame>
#include <QIcon>

class QComboBox;
class QLabel;
class QSlider;
class QToolButton;

namespace app {

class TransportBar : public QFrame {
    Q_OBJECT
public:
    explicit TransportBar(Playback&, QWidget* parent = nullptr);
    void setIcons(const QString& assets, const Theme&);
    void showPosition(); ///< the cursor has moved
    QToolButton* playButton() const { return m_play; }
    QSlider* slider() const { return m_slider; }
    QString timeText() const;
    void setMasked(bool);   ///< times are not told
    void setStepping(bool); ///< buttons to go from action to action, and to leave

Q_SIGNALS:
    void scrubbed(qint64 ns);
    void stepRequested(bool forward);
    void steppingLeft();

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void refresh();
    void fit();
    void tellLength(bool);
    QString clock(const QString& position) const;

    Playback& m_playback;
    QToolButton *m_begin, *m_play, *m_repeat, *m_previous, *m_next, *m_leave;
    QSlider* m_slider;
    QComboBox* m_speed;
    QLabel* m_time;
    QIcon m_playIcon, m_pauseIcon;
    bool m_isMasked = false;
    bool m_tellsLength = true;
};

} // namespace app
