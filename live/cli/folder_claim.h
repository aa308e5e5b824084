// A folder that one run writes to and no other meanwhile, on this machine and, where its file system has locks, on others. The
// claim ends with the process, however that ends.
#pragma once

#include <filesystem>
#include <string>

namespace live::cli {

/// Whether only this machine writes to what lies there: of a file system that is not known to be so, it is not.
bool isOfThisMachine(const std::filesystem::path& folder);

class FolderClaim {
public:
    /// topic: what its error begins with. Makes the folder where it is missing. Throws sim::Error while another run has it. Where
    /// it cannot be made or read there is no claim: who writes to it will say what is wrong.
    FolderClaim(const std::filesystem::path& folder, const char* topic);
    /// withFile: other machines may write to it, too. They see no lock of a folder, but that of a file that is open for writing.
    FolderClaim(const std::filesystem::path& folder, const char* topic, bool withFile);
    ~FolderClaim();
    FolderClaim(const FolderClaim&) = delete;
    FolderClaim& operator=(const FolderClaim&) = delete;

    /// Why runs of other machines are not kept away; "" where they are.
    const std::string& problem() const { return m_problem; }

private:
    void lockFile(const std::filesystem::path& folder, const char* topic);

    std::filesystem::path m_file;
    int m_folderDescriptor = -1, m_fileDescriptor = -1;
    std::string m_problem;
};

} // namespace live::cli
