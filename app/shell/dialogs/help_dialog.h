// Terms and the manual in a window of their own, beside the work: found on the left, told on the right.
#pragma once

#include "app/session/help.h"
#include "app/views/common/theme.h"

#include <QDialog>

#include <functional>

class QLineEdit;
class QListWidget;
class QTextBrowser;

namespace app {

class HelpDialog : public QDialog {
    Q_OBJECT
public:
    /// `nameOf`: what the form calls a key; empty: it does not have it.
    HelpDialog(Help, const std::function<QString(const std::string& pointer)>& nameOf, const Theme&, QWidget* parent = nullptr);
    void setTheme(const Theme&);
    void showEntry(const QString& title);
    QStringList listed() const;
    QString told() const;
    bool showsPicture() const; ///< a drawing of the term
    /// No part of it beyond that: lines wrap, the drawing shrinks, what is longer scrolls.
    void fitInto(const QRect& room);

Q_SIGNALS:
    void settingRequested(const QString& pointer);

protected:
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void fill();
    void tell();

    Help m_help;
    const Theme* m_theme;
    std::function<QString(const std::string&)> m_nameOf;
    std::vector<const HelpEntry*> m_found;
    QWidget* m_side; ///< the line and the list
    QLineEdit* m_line;
    QListWidget* m_list;
    QTextBrowser* m_text;
};

} // namespace app
