// A part of a form that folds away; folded, its title line says in a few words what is in it.
#pragma once

#include <QAbstractButton>
#include <QStringList>
#include <QWidget>

#include <memory>

class QVBoxLayout;

namespace app {

/// The line with the arrow. As many parts of the summary as fit are drawn whole; the rest is in the tooltip.
class FoldHeader : public QAbstractButton {
    Q_OBJECT
public:
    explicit FoldHeader(const QString& title, QWidget* parent = nullptr);
    void setSummary(const QStringList& parts);
    /// A dot after the title: something in it is not as in the file.
    void setMarked(bool);
    void setOpen(bool);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {60, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    void describe();

    QStringList m_parts;
    bool m_isMarked = false, m_isOpen = true;
};

/// What is in it comes into the window when it is unfolded first: a style sheet costs half a millisecond for every widget of the
/// window, seen or not, at the start and with each change of theme.
class FoldSection : public QWidget {
    Q_OBJECT
public:
    FoldSection(const QString& title, bool isOpen, QWidget* parent = nullptr);
    FoldHeader* header() const { return m_header; }
    QVBoxLayout* body() const { return m_column; }
    bool holds(const QWidget* part) const { return m_content->isAncestorOf(part); }
    /// What the user chose; it may be open all the same.
    bool isOpen() const { return m_isOpen; }
    void setOpen(bool);
    /// Open as long as there is something in it to see: what was searched for, or an error.
    void setForcedOpen(bool);

Q_SIGNALS:
    void toggled();
    void placed(); ///< what is in it is in the window from now on

private:
    void refresh();

    FoldHeader* m_header;
    QWidget* m_content;
    std::unique_ptr<QWidget> m_unplaced; ///< the same, until it is unfolded
    QVBoxLayout* m_column;
    bool m_isOpen, m_isForced = false;
};

} // namespace app
