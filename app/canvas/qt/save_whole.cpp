#include "app/canvas/qt/save_whole.h"

#include "sim/error.h"

#include <QSaveFile>

namespace app {

void saveWhole(const QString& path, const QByteArray& bytes)
{
    QSaveFile file(path);
    const auto fail = [&] { throw sim::Error(path.toStdString() + ": cannot be written: " + file.errorString().toStdString()); };
    // What a buffer still holds is lost without a word where the disk is full when the file is closed.
    if (!file.open(QIODevice::WriteOnly | QIODevice::Unbuffered))
        fail();
    // What is taken in part says why not all when it is asked again.
    for (qint64 done = 0, written = 0; done < bytes.size(); done += written)
        if (written = file.write(bytes.constData() + done, bytes.size() - done); written <= 0)
            fail();
    if (!file.commit())
        fail();
}

} // namespace app
