// What is on screen, in the scenario's own words: its name, its layout, what to look at, and what keeps an edit from being drawn.
#pragma once

#include "app/session/session.h"

#include <QFrame>

class QLabel;
class QToolButton;

namespace app {

/// One line that ends in "…" where there is no room; the whole text is its tooltip.
class ElidedLabel : public QFrame {
public:
    explicit ElidedLabel(const char* role, QWidget* parent = nullptr);
    /// `shared`: of so many letters at its begin another name stands beside it that reads the same; where there is no room for
    /// all, these are left out first.
    void setText(const QString&, qsizetype shared = 0);
    /// Where there is no room, parts of a list between these are left out whole.
    void setParted(const QString& by);
    const QString& text() const { return m_text; } ///< all of it
    QSize minimumSizeHint() const override { return {40, sizeHint().height()}; }
    QSize sizeHint() const override;

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void elide();
    QString shownText() const;
    QString m_text, m_parted;
    qsizetype m_shared = 0;
    QLabel* m_label;
};

/// Why the session's scenario cannot be simulated, and that what is on screen is older; empty where it can.
QString firstProblemText(const Session&);

class ScenarioHeader : public QFrame {
    Q_OBJECT
public:
    explicit ScenarioHeader(Session&, QWidget* parent = nullptr);
    QString notice() const;
    /// Tells nothing of the scenario but why, and keeps its height; or tells what it is, but not its whole description.
    void setMasked(const QString& why, bool tellsMore = true);

Q_SIGNALS:
    void renameRequested();

protected:
    void resizeEvent(QResizeEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;

private:
    void refresh();
    void fitLayout();
    void showWholeText(bool);

    Session& m_session;
    ElidedLabel *m_name, *m_summary, *m_layout;
    QLabel *m_notice, *m_text; ///< whole, in as many lines as they take: a notice ends in what would work
    QToolButton* m_more;
    QString m_noticeText;
    bool m_isLow = false; ///< the window
    QString m_whyMasked;  ///< empty: it tells
    bool m_tellsMore = true;
};

} // namespace app
