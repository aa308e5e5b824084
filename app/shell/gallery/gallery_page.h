// The first screen: scenarios to open with one click, recent files, and work that a crash left behind.
#pragma once

#include "app/session/autosave.h"
#include "app/session/gallery.h"
#include "app/views/common/theme.h"

#include <QFrame>
#include <QStringList>

#include <vector>

class QBoxLayout;
class QLabel;
class QLineEdit;
class QListWidget;
class QScrollArea;
class QVBoxLayout;

namespace app {

class CardList;

class GalleryPage : public QFrame {
    Q_OBJECT
public:
    explicit GalleryPage(QWidget* parent = nullptr);
    void setEntries(std::vector<GalleryEntry>, std::vector<GallerySection>);
    const std::vector<GalleryEntry>& entries() const { return m_entries; }
    bool isEmpty() const { return m_entries.empty(); }
    void setRecentFiles(const QStringList&);
    void setRecoveries(const std::vector<Recovery>&);
    void setTheme(const Theme&);
    void setReducedMotion(bool);
    void focusSearch();
    void search(const QString&);
    QStringList shownFiles() const;

Q_SIGNALS:
    void openRequested(const QString& path);
    void demoRequested(const QString& path);
    void openOtherRequested();
    void recoverRequested(int index);
    void discardRequested(int index);

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    QFrame* makeDemo();
    void filter();
    int heightInSight() const;
    bool isLow() const;
    void showDemo();
    void shareSide();
    void arrange();
    void arrangeRecoveries();
    bool event(QEvent*) override;
    void listContents();
    void markInContents(const QString& heading);

    std::vector<GalleryEntry> m_entries;
    std::vector<GallerySection> m_sections;
    QLineEdit* m_search;
    CardList* m_cards;
    QListWidget *m_contents, *m_recent; ///< m_contents: the headings, since a screen shows only the first
    QLabel *m_contentsTitle, *m_recentTitle, *m_nothing, *m_drop = nullptr, *m_subtitle = nullptr;
    QVBoxLayout* m_recoveries;
    QScrollArea* m_recoveryArea; ///< round them: much unsaved work leaves room for what else is there
    QFrame* m_side = nullptr;
    QBoxLayout *m_demoRow = nullptr, *m_main = nullptr;
    QFrame* m_demo;     ///< of a live training
    QString m_demoPath; ///< empty: the gallery has none
};

} // namespace app
