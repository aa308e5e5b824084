// Whether a cache is kept beside the files of a large run: asked once, and as it was answered from then on.
#pragma once

#include "app/session/settings.h"

#include <QFrame>
#include <QStringList>

class QLabel;

namespace app {

class CacheQuestion : public QFrame {
    Q_OBJECT
public:
    explicit CacheQuestion(QWidget* parent = nullptr);
    /// A run was read of these files: where a cache may be kept and is worth it, what was chosen before is done, or the question
    /// is asked.
    void consider(const QStringList& paths, bool isWorthIt, CacheChoice choice);
    QString text() const;
    /// What the person wants, now and, but for `ask`, from now on.
    void answer(CacheChoice);

Q_SIGNALS:
    void agreed();
    void answered(app::CacheChoice choice); ///< to be remembered

private:
    QLabel* m_text;
};

} // namespace app
