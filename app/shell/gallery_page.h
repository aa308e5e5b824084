// The first screen: scenarios to open with one click, recent files, and work that a crash left behind.
#pragma once

#include "app/session/autosave.h"
#include "app/session/gallery.h"
#include "app/views/theme.h"

#include <QFrame>
#include <QListView>
#include <QStringList>

#include <vector>

class QLabel;
class QLineEdit;
class QListWidget;
class QStandardItemModel;
class QVBoxLayout;

namespace app {

class GalleryDelegate;

/// Cards in as many columns as fit; one click or Enter chooses.
class CardList : public QListView {
    Q_OBJECT
public:
    explicit CardList(QWidget* parent = nullptr);

signals:
    void chosen(const QModelIndex&);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;
};

class GalleryPage : public QFrame {
    Q_OBJECT
public:
    explicit GalleryPage(QWidget* parent = nullptr);
    void setEntries(std::vector<GalleryEntry>);
    bool isEmpty() const { return m_entries.empty(); }
    void setRecentFiles(const QStringList&);
    void setRecoveries(const std::vector<Recovery>&);
    void setTheme(const Theme&);
    void focusSearch();
    void search(const QString&);
    QStringList shownFiles() const;

signals:
    void openRequested(const QString& path);
    void demoRequested(const QString& path);
    void openOtherRequested();
    void recoverRequested(int index);
    void discardRequested(int index);

private:
    QFrame* makeDemo();
    void filter();

    std::vector<GalleryEntry> m_entries;
    QLineEdit* m_search;
    CardList* m_cards;
    QStandardItemModel* m_model;
    GalleryDelegate* m_delegate;
    QListWidget* m_recent;
    QLabel *m_recentTitle, *m_nothing;
    QVBoxLayout* m_recoveries;
    QFrame* m_demo;     ///< of a live training
    QString m_demoPath; ///< empty: the gallery has none
};

} // namespace app
