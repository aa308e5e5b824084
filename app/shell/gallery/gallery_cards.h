// Scenarios as cards under the headings of their themes, in as many columns as fit. The card under the pointer, or the one that
// the keys have reached, plays its step in miniature and tells what the simulator says about it. One click or Enter chooses.
#pragma once

#include "app/session/gallery.h"
#include "app/session/make_step.h"
#include "app/session/worker.h"
#include "app/shell/widgets/thumbnail.h"
#include "app/views/common/theme.h"
#include "sim/simulate/simulation.h"

#include <QElapsedTimer>
#include <QListView>
#include <QTimer>

#include <map>
#include <optional>
#include <vector>

class QStandardItemModel;

namespace app {

class CardList : public QListView {
    Q_OBJECT
public:
    explicit CardList(QWidget* parent = nullptr);
    ~CardList() override;
    /// The entries must stay where they are until the next call.
    void setSections(const std::vector<GalleryEntry>&, const std::vector<GallerySection>&);
    void setTheme(const Theme&);
    void setReducedMotion(bool);
    std::vector<std::size_t> shownEntries() const;
    /// Of the card that plays; empty until the simulator has answered.
    QString keyNumbers() const;
    void chooseFirst();
    /// The heading at the top, its first card reached.
    void goTo(const QString& heading);

Q_SIGNALS:
    void chosen(std::size_t entry);
    void headingSeen(const QString&); ///< under which one is what is looked at; empty: none

protected:
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;
    void hideEvent(QHideEvent*) override;
    bool viewportEvent(QEvent*) override;
    void currentChanged(const QModelIndex&, const QModelIndex&) override;

private:
    class Delegate;
    void setPointed(const QModelIndex&);
    void updatePlaying();
    void updateHeading();
    std::optional<double> moment() const;
    const Thumbnail& thumbnailOf(const GalleryEntry&);

    const std::vector<GalleryEntry>* m_entries = nullptr;
    QStandardItemModel* m_model;
    const Theme* m_theme;
    QPersistentModelIndex m_pointed, m_playing;
    QElapsedTimer m_sincePlaying;
    QTimer m_frame; ///< runs only while a card plays
    QTimer m_dwell; ///< until then a card that is passed over asks nobody
    bool m_reducedMotion = false;
    std::map<QString, sim::Metrics> m_metrics; ///< by file
    std::map<QString, Thumbnail> m_thumbnails; ///< made when first seen
    Worker m_worker;                           ///< last: ends before what it uses
};

} // namespace app
