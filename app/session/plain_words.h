// What a check says of a file's keys, in the words of the form.
#pragma once

#include <QString>

namespace app {

/// "global_batch_size 60" as the form says it: "global batch 60"; keys that the form does not have lose their underscores.
QString plainWords(QString text);

} // namespace app
